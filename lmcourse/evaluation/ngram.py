"""N-gram models as yardsticks: interpolated Kneser-Ney smoothing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lmcourse.errors import CourseError


@dataclass(frozen=True)
class _Order:
    """What one order knows: contexts of n-1 tokens, and the grams they make with a token behind them.

    Attributes:
        contexts: sorted keys (number of the shorter context, token before it), (C,); empty for no context.
        grams: sorted keys (number of the context, token), (G,).
        counts: (G,) float64, of each gram.
        totals, kinds: (C,) float64, the sum of the counts behind a context, and how many tokens stand there.
        discount: what is taken from each count and given to the shorter context.
    """

    contexts: np.ndarray
    grams: np.ndarray
    counts: np.ndarray
    totals: np.ndarray
    kinds: np.ndarray
    discount: float


class NGram:
    """An n-gram model that knows 0 to n-1 tokens of context, interpolated with all shorter ones.

    P_k(w | c) = max(count(c w) - d, 0) / total(c) + d * kinds(c) / total(c) * P_{k-1}(w | c'), where c' is c
    without its first token, and P_0 = 1/V; a context that was never seen takes P_{k-1}. Counts of the longest
    grams are how often they occur, those of shorter ones before how many different tokens they occur (Kneser
    and Ney 1995; the interpolated form of Chen and Goodman 1999, one discount n1 / (n1 + 2 n2) an order).
    All probabilities of a context add up to 1 by construction.

    Documents do not see each other: before the first token of each stands nothing but the end of another.
    """

    def __init__(self, tokens: np.ndarray, vocab_size: int, n: int, eos: int | None = None) -> None:
        """
        Args:
            tokens: (N,) integer stream to count, N >= 1.
            vocab_size: ids are 0..vocab_size-1.
            n: longest gram, at least 1.
            eos: id that closes a document; None for one endless text.

        Raises:
            CourseError: no tokens, or n below 1.
        """
        if n < 1:
            raise CourseError(f"n: expected at least 1, got {n}")
        if not len(tokens):
            raise CourseError("tokens: expected a stream to count, got none")
        self.n = n
        self._V, self._eos = vocab_size, eos
        last, before = self._columns(np.asarray(tokens, dtype=np.int64))
        numbers = np.zeros(len(last), dtype=np.int64)
        tables = []
        for k in range(n):
            contexts = np.zeros(1, dtype=np.int64)
            if k:
                contexts, numbers = np.unique(numbers * (self._V + 1) + before[k - 1], return_inverse=True)
            grams, where, counts = np.unique(
                numbers * self._V + last, return_inverse=True, return_counts=True
            )
            tables.append((contexts, grams, where, counts))
        self._orders = [_order(tables, k, self._V) for k in range(n)]

    def nats(self, tokens: np.ndarray) -> np.ndarray:
        """(N,) float64, the nats that the model gives each token of a stream after what stands before it."""
        last, before = self._columns(np.asarray(tokens, dtype=np.int64))
        return -np.log(self._probability(last, before))

    def distribution(self, context: list[int]) -> np.ndarray:
        """(V,) probabilities of the next token of a document after `context`, of any length."""
        stream = np.array([*([] if self._eos is None else [self._eos]), *context, 0], dtype=np.int64)
        before = [np.repeat(column[-1:], self._V) for column in self._columns(stream)[1]]
        return self._probability(np.arange(self._V), before)

    def _columns(self, tokens: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
        """The tokens, and the tokens 1, 2, ... n-1 places before them; V where there is none to see."""
        nothing = self._V
        before = []
        document = np.zeros(len(tokens), dtype=np.int64)
        if self._eos is not None:
            document[1:] = np.cumsum(tokens[:-1] == self._eos)
        for distance in range(1, self.n):
            column = np.full(len(tokens), nothing, dtype=np.int64)
            same = document[distance:] == document[:-distance]
            column[distance:] = np.where(same, tokens[:-distance], nothing)
            before.append(column)
        return tokens, before

    def _probability(self, last: np.ndarray, before: list[np.ndarray]) -> np.ndarray:
        probability = np.full(len(last), 1.0 / self._V)
        numbers = np.zeros(len(last), dtype=np.int64)
        for k, order in enumerate(self._orders):
            if k:
                keys = numbers * (self._V + 1) + before[k - 1]
                numbers = np.where(numbers < 0, -1, _find(order.contexts, keys))
            known = numbers >= 0  # the context; a longer one of an unknown one is unknown too
            gram = _find(order.grams, numbers * self._V + last)
            count = np.where(known & (gram >= 0), order.counts[gram], 0.0)
            total, kinds = order.totals[numbers], order.kinds[numbers]
            mixed = (np.maximum(count - order.discount, 0.0) + order.discount * kinds * probability) / total
            probability = np.where(known, mixed, probability)
        return probability


def _order(tables: list[tuple[np.ndarray, ...]], k: int, V: int) -> _Order:
    contexts, grams, where, counts = tables[k]
    if k + 1 < len(tables):
        # Each different gram of the next order counts once for the gram that is left without its first token.
        _, longer, longer_where, _ = tables[k + 1]
        shorter = np.empty(len(longer), dtype=np.int64)
        shorter[longer_where] = where
        counts = np.bincount(shorter, minlength=len(grams))
    context_of = grams // V
    ones, twos = (int((counts == c).sum()) for c in (1, 2))
    return _Order(
        contexts,
        grams,
        counts.astype(np.float64),
        np.bincount(context_of, weights=counts, minlength=len(contexts)),
        np.bincount(context_of, minlength=len(contexts)).astype(np.float64),
        ones / (ones + 2 * twos) if ones and twos else 0.5,
    )


def _find(sorted_keys: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """The place of each key, or -1."""
    places = np.minimum(np.searchsorted(sorted_keys, keys), len(sorted_keys) - 1)
    return np.where(sorted_keys[places] == keys, places, -1)
