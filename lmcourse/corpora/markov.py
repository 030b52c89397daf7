"""A stationary Markov chain over a small alphabet, with its entropy rate in closed form."""

from __future__ import annotations

from bisect import bisect_right

import numpy as np

from lmcourse.corpora.arguments import positive_number, symbols, whole_number
from lmcourse.errors import CourseError

MAX_CONTEXTS = 4096  # the stationary law is solved densely: 4096 contexts are 128 MiB


class MarkovCorpus:
    """Tokens from an order-K Markov chain with random transition logits.

    Each of the `vocab_size ** order` contexts has its own next-token distribution,
    `softmax(logits / temperature)` with standard normal logits drawn from `seed`. The chain starts in its
    stationary law, so every stretch of the stream has the same distribution, and no model can have an
    expected loss below `entropy_rate` once it sees `order` tokens of context (Cover and Thomas, *Elements of
    Information Theory*, section 4.2).

    Args:
        vocab_size: number of symbols V, at least 2.
        order: number of earlier tokens that the next one depends on, at least 1.
        temperature: above 1 flattens the transitions, below 1 sharpens them.
        seed: fixes the transition table; sampling uses its own generator.

    Raises:
        CourseError: an argument out of range, more than 4,096 contexts, or a temperature so low that the
            chain falls apart into pieces that float64 cannot connect.
    """

    def __init__(self, vocab_size: int = 16, order: int = 1, temperature: float = 1.0, seed: int = 0) -> None:
        self.vocab_size = whole_number("vocab_size", vocab_size, 2)
        self.order = whole_number("order", order, 1)
        self.temperature = positive_number("temperature", temperature)
        self.seed = whole_number("seed", seed, 0)
        contexts = self.vocab_size**self.order
        if contexts > MAX_CONTEXTS:
            raise CourseError(
                f"vocab_size ** order must be at most {MAX_CONTEXTS} contexts; "
                f"got {self.vocab_size} ** {self.order} = {contexts}"
            )
        logits = np.random.default_rng(self.seed).standard_normal((contexts, self.vocab_size))
        self.transitions = _softmax(logits / self.temperature)  # (V ** order, V), rows sum to 1
        self.stationary = _stationary_law(self.transitions)  # (V ** order,), oldest token first
        self._cdf_rows: list[list[float]] | None = None

    @property
    def entropy_rate(self) -> float:
        """Nats per token that remain when the whole past is known: the floor."""
        return float(self.stationary @ _entropy(self.transitions))

    @property
    def unigram_entropy(self) -> float:
        """Nats per token of a model that knows only how frequent each symbol is."""
        return float(_entropy(self._start_law(1)))

    def sample(self, n_tokens: int, rng: np.random.Generator) -> np.ndarray:
        """A stationary stretch of the chain: int64 array of shape (n_tokens,)."""
        n_tokens = whole_number("n_tokens", n_tokens, 0)
        if self._cdf_rows is None:
            self._cdf_rows = np.cumsum(self.transitions, axis=1)[:, :-1].tolist()
        start = int(rng.choice(len(self.stationary), p=self.stationary))
        shape = (self.vocab_size,) * self.order
        tokens = [int(symbol) for symbol in np.unravel_index(start, shape)]
        oldest = self.vocab_size ** (self.order - 1)
        context = start
        for draw in rng.random(max(0, n_tokens - self.order)).tolist():
            symbol = bisect_right(self._cdf_rows[context], draw)
            tokens.append(symbol)
            context = context % oldest * self.vocab_size + symbol
        return np.array(tokens[:n_tokens], dtype=np.int64)

    def oracle_nll(self, tokens: np.ndarray) -> np.ndarray:
        """Negative log-probability in nats of each token given all before it, float64 (len(tokens),).

        The first `order` entries come from the stationary law, so that the sum is the exact negative
        log-probability of the sequence.

        Raises:
            CourseError: an id outside the vocabulary.
        """
        tokens = symbols("tokens", tokens, self.vocab_size)
        probability = np.ones(len(tokens))
        for position in range(min(self.order, len(tokens))):
            law = self._start_law(position + 1).reshape(-1, self.vocab_size)
            row = law[_base(tokens[:position], self.vocab_size)]
            probability[position] = row[tokens[position]] / row.sum()
        if len(tokens) > self.order:
            context = np.zeros(len(tokens) - self.order, dtype=np.int64)
            for lag in range(self.order):
                context = context * self.vocab_size + tokens[lag : lag + len(context)]
            probability[self.order :] = self.transitions[context, tokens[self.order :]]
        with np.errstate(divide="ignore"):
            return -np.log(probability)

    def _start_law(self, length: int) -> np.ndarray:
        """Probabilities of the first `length` <= order tokens, shape (V ** length,)."""
        return self.stationary.reshape(self.vocab_size**length, -1).sum(axis=1)


def _softmax(logits: np.ndarray) -> np.ndarray:
    weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def _entropy(probabilities: np.ndarray) -> np.ndarray:
    """Entropy in nats along the last axis; 0 log 0 is 0."""
    logs = np.log(probabilities, out=np.zeros_like(probabilities), where=probabilities > 0)
    return -(probabilities * logs).sum(axis=-1)


def _base(digits: np.ndarray, base: int) -> int:
    number = 0
    for digit in digits:
        number = number * base + int(digit)
    return number


def _stationary_law(transitions: np.ndarray) -> np.ndarray:
    """The law pi of contexts with pi = pi P, where P moves a context on by one token."""
    contexts, vocab_size = transitions.shape
    index = np.arange(contexts)
    follower = index[:, None] % (contexts // vocab_size) * vocab_size + np.arange(vocab_size)
    system = np.zeros((contexts, contexts))
    np.add.at(system, (follower, index[:, None]), transitions)  # P transposed
    system[index, index] -= 1.0
    system[-1] = 1.0  # one balance equation is redundant; the sum takes its place
    target = np.zeros(contexts)
    target[-1] = 1.0
    try:
        law = np.linalg.solve(system, target)
    except np.linalg.LinAlgError:
        law = np.full(contexts, np.nan)
    moved = np.bincount(follower.ravel(), (law[:, None] * transitions).ravel(), minlength=contexts)
    if not np.all(np.isfinite(law)) or law.min() < -1e-12 or np.abs(moved - law).max() > 1e-9:
        raise CourseError(
            "temperature is too low for this chain: it has no single stationary law in float64; raise it"
        )
    law = np.clip(law, 0.0, None)
    return law / law.sum()
