"""Short documents, each from a hidden regime: what a document mask takes away is worth something here."""

from __future__ import annotations

from functools import cached_property
from itertools import combinations_with_replacement
from math import lgamma, log

import numpy as np

from lmcourse.corpora.arguments import positive_number, symbols, whole_number
from lmcourse.errors import CourseError

KINDS = ("unigram", "markov")
MAX_SUM = 2**30  # terms of the exact sums: the default markov corpus has 16 ** 7 = 2 ** 28


class RegimeDocs:
    """Documents of a few tokens whose distribution is fixed by a hidden regime.

    Each of `regimes` regimes has its own distribution over symbols (kind "unigram"), or its own first-token
    and transition distributions (kind "markov"): `softmax(sharpness * standard normal)`, drawn from `seed`.
    A document picks a regime (all equally likely) and a length (uniform in min_len..max_len, independent of
    the regime). With run = 12, groups of twelve neighbors share one regime, so whoever reads the neighbor
    knows more than the document itself tells; with run = 1 neighbors are independent.

    Every floor below is that of a document *seen alone*, and exact: a sum over all documents (for "unigram"
    over all symbol counts, each weighted by the number of its orders), no sampling. A model that falls below
    it reads other documents.

    Documents hold ids 0..vocab_size-1 and no end token; `eos_id` = vocab_size is free for it.

    Args:
        vocab_size: number of symbols V, at least 2.
        regimes: number of regimes.
        run: number of consecutive documents that share a regime.
        min_len, max_len: bounds of the length in tokens, both included.
        kind: "unigram" or "markov".
        sharpness: standard deviation of the logits.
        seed: fixes the regimes; sampling uses its own generator.

    Raises:
        CourseError: an argument out of range, or a sharpness that leaves a symbol no probability in float64.
    """

    def __init__(
        self,
        vocab_size: int = 16,
        regimes: int = 24,
        run: int = 1,
        min_len: int = 3,
        max_len: int = 7,
        kind: str = "unigram",
        sharpness: float = 2.0,
        seed: int = 0,
    ) -> None:
        self.vocab_size = whole_number("vocab_size", vocab_size, 2)
        self.regimes = whole_number("regimes", regimes, 1)
        self.run = whole_number("run", run, 1)
        self.min_len = whole_number("min_len", min_len, 1)
        self.max_len = whole_number("max_len", max_len, self.min_len)
        if kind not in KINDS:
            raise CourseError(f"kind must be 'unigram' or 'markov'; got {kind!r}")
        self.kind = kind
        self.sharpness = positive_number("sharpness", sharpness)
        self.seed = whole_number("seed", seed, 0)
        rng = np.random.default_rng(self.seed)
        rows = 1 if kind == "unigram" else self.vocab_size + 1
        logits = self.sharpness * rng.standard_normal((self.regimes, rows, self.vocab_size))
        weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
        table = weights / weights.sum(axis=-1, keepdims=True)
        if table.min() == 0.0:
            raise CourseError(
                f"sharpness must leave every symbol a probability that float64 can hold; {sharpness:g} makes "
                "one of them 0, so take a smaller value"
            )
        self.first = table[:, 0]  # (K, V): law of the first token
        if kind == "unigram":  # (K, V, V): law of the next token given the last one
            self.following = np.repeat(table, self.vocab_size, axis=1)
        else:
            self.following = table[:, 1:]

    @property
    def eos_id(self) -> int:
        """The id that documents leave free for the end of a document: vocab_size."""
        return self.vocab_size

    @property
    def mean_length(self) -> float:
        """Expected tokens per document, without the end token; also the counted targets per document."""
        return (self.min_len + self.max_len) / 2

    def sample_documents(self, n: int, rng: np.random.Generator) -> list[np.ndarray]:
        """`n` documents, int64 arrays without end token; documents 0..run-1 share a regime, and so on."""
        return self.sample_with_regimes(n, rng)[0]

    def sample_with_regimes(self, n: int, rng: np.random.Generator) -> tuple[list[np.ndarray], np.ndarray]:
        """As `sample_documents`, and the hidden regime of each document, int64 of shape (n,)."""
        n = whole_number("n", n, 0)
        groups = -(-n // self.run)
        regime = np.repeat(rng.integers(self.regimes, size=groups), self.run)[:n]
        lengths = rng.integers(self.min_len, self.max_len + 1, size=n)
        tokens = np.zeros((n, self.max_len), dtype=np.int64)
        for position in range(self.max_len):
            law = self.first[regime] if position == 0 else self.following[regime, tokens[:, position - 1]]
            above = np.cumsum(law, axis=1)[:, :-1] <= rng.random(n)[:, None]
            tokens[:, position] = above.sum(axis=1)
        return [row[:length].copy() for row, length in zip(tokens, lengths, strict=True)], regime

    def oracle_nll(self, document: np.ndarray) -> np.ndarray:
        """Nats of each token given the earlier ones of its document, float64 of shape (len(document),).

        A Bayes filter: the posterior over regimes after each token weighs their predictions of the next.

        Raises:
            CourseError: an id outside the vocabulary.
        """
        document = symbols("document", document, self.vocab_size)
        nll = np.zeros(len(document))
        posterior = np.full(self.regimes, 1.0 / self.regimes)
        last = None
        for position, token in enumerate(document):
            law = self.first[:, token] if last is None else self.following[:, last, token]
            joint = posterior * law
            evidence = joint.sum()
            nll[position] = -log(evidence)
            posterior = joint / evidence
            last = token
        return nll

    def oracle_nll_targets(self, document: np.ndarray) -> np.ndarray:
        """Nats of the predictions that a packed stream counts, float64 of shape (len(document),).

        These are tokens 2..n of the document and then its end token. The first token is no target: its input
        would be the end token of another document. Each prediction also says whether the document goes on:
        after t tokens it ends with probability 1 / (max_len - t + 1) from t = min_len on, never before.
        A document of impossible length gets an infinite entry.

        Raises:
            CourseError: an id outside the vocabulary, or an empty document.
        """
        nll = self.oracle_nll(document)
        if len(nll) == 0:
            raise CourseError("document must hold at least one token; got none")
        ends = self._end_probability(len(nll))
        with np.errstate(divide="ignore"):
            return np.append(nll[1:] - np.log1p(-ends[:-1]), -np.log(ends[-1]))

    @cached_property
    def floor_by_position(self) -> np.ndarray:
        """Exact expected nats of token 1, 2, ..., max_len given the earlier ones, float64 (max_len,)."""
        return np.diff(self._prefix_entropies(), prepend=0.0)

    @property
    def floor(self) -> float:
        """Exact expected nats per document token: first tokens count, end tokens do not."""
        return float(self._share_reaching() @ self.floor_by_position / self.mean_length)

    @property
    def target_floor(self) -> float:
        """Exact expected nats per counted target of a packed stream (see `oracle_nll_targets`)."""
        later = self._share_reaching()[1:] @ self.floor_by_position[1:]
        return float((later + log(self.max_len - self.min_len + 1)) / self.mean_length)

    @property
    def unigram_entropy(self) -> float:
        """Nats per document token of a model that knows only how frequent each symbol is."""
        return _entropy(self._share_reaching() @ self._marginals() / self.mean_length)

    @property
    def target_unigram_entropy(self) -> float:
        """As `unigram_entropy`, over the counted targets: tokens 2..n and the end token."""
        later = self._share_reaching()[1:] @ self._marginals()[1:]
        return _entropy(np.append(later, 1.0) / self.mean_length)

    def _share_reaching(self) -> np.ndarray:
        """P(length >= t) for t = 1..max_len."""
        lengths = np.arange(1, self.max_len + 1)
        return np.minimum(1.0, (self.max_len - lengths + 1) / (self.max_len - self.min_len + 1))

    def _end_probability(self, length: int) -> np.ndarray:
        """P(the document ends after t tokens | it has at least t) for t = 1..length."""
        t = np.arange(1, length + 1)
        left = np.maximum(self.max_len - t + 1, 1)
        return np.where(t < self.min_len, 0.0, np.where(t > self.max_len, 0.0, 1.0 / left))

    def _marginals(self) -> np.ndarray:
        """Law of the token at each position over all regimes, (max_len, V)."""
        law = self.first
        rows = []
        for _ in range(self.max_len):
            rows.append(law.mean(axis=0))
            law = np.einsum("kv,kvw->kw", law, self.following)
        return np.array(rows)

    def _prefix_entropies(self) -> np.ndarray:
        """Entropy in nats of the first 1, 2, ..., max_len tokens of a document that long."""
        if self.kind == "unigram":
            return np.array([self._count_entropy(length) for length in range(1, self.max_len + 1)])
        return self._sequence_entropies()

    def _count_entropy(self, length: int) -> float:
        """Entropy of `length` exchangeable tokens: every order of the same symbols is equally likely."""
        terms = round(np.exp(_log_binomial(self.vocab_size + length - 1, length)))
        self._refuse_too_large(terms)
        log_first = np.log(self.first)  # (K, V)
        total = 0.0
        for block in _blocks(combinations_with_replacement(range(self.vocab_size), length), 1 << 16):
            log_each = np.zeros((len(block), self.regimes))
            for column in block.T:
                log_each += log_first[:, column].T
            top = log_each.max(axis=1)
            log_one = top + np.log(np.exp(log_each - top[:, None]).mean(axis=1))
            total -= float(np.sum(np.exp(log_one + _log_orders(block)) * log_one))
        return total

    def _sequence_entropies(self) -> np.ndarray:
        """Entropies of all prefixes: every sequence is visited, with its joint law with the regimes."""
        self._refuse_too_large(self.vocab_size**self.max_len)
        totals = np.zeros(self.max_len)

        def descend(joint: np.ndarray, last: np.ndarray, depth: int) -> None:
            probability = joint.sum(axis=1)
            totals[depth - 1] -= float(np.sum(probability * _safe_log(probability)))
            if depth == self.max_len:
                return
            if depth == self.max_len - 1:  # the widest level: probabilities alone, by matrix products
                for symbol in range(self.vocab_size):
                    children = joint[last == symbol] @ self.following[:, symbol]
                    totals[depth] -= float(np.sum(children * _safe_log(children)))
                return
            step = max(1, (1 << 18) // (self.vocab_size * self.regimes))
            for start in range(0, len(joint), step):
                part, ends = joint[start : start + step], last[start : start + step]
                children = part[:, :, None] * self.following[:, ends].transpose(1, 0, 2)
                children = children.transpose(0, 2, 1).reshape(-1, self.regimes)
                descend(children, np.tile(np.arange(self.vocab_size), len(part)), depth + 1)

        descend(self.first.T / self.regimes, np.arange(self.vocab_size), 1)
        return totals

    def _refuse_too_large(self, terms: int) -> None:
        if terms > MAX_SUM:
            raise CourseError(
                f"the exact floor of {self.kind} documents with vocab_size {self.vocab_size} and max_len "
                f"{self.max_len} is a sum of {terms:,} terms, more than {MAX_SUM:,}; make one of them smaller"
            )


def _safe_log(values: np.ndarray) -> np.ndarray:
    return np.log(values, out=np.zeros_like(values), where=values > 0)


def _entropy(law: np.ndarray) -> float:
    return float(-(law * _safe_log(law)).sum())


def _log_binomial(n: int, k: int) -> float:
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)


def _blocks(rows, size: int):
    """The tuples in `rows` as int arrays of at most `size` rows."""
    block = []
    for row in rows:
        block.append(row)
        if len(block) == size:
            yield np.array(block)
            block = []
    if block:
        yield np.array(block)


def _log_orders(sorted_rows: np.ndarray) -> np.ndarray:
    """Log of the number of distinct orders of each row, whose entries are sorted: n! / prod(count!)."""
    length = sorted_rows.shape[1]
    result = np.full(len(sorted_rows), lgamma(length + 1))
    streak = np.ones(len(sorted_rows))
    for left, right in zip(sorted_rows.T[:-1], sorted_rows.T[1:], strict=True):
        streak = np.where(left == right, streak + 1, 1.0)
        result -= np.log(streak)  # 1 * 2 * ... * count, one factor a step
    return result
