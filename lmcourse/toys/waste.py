"""The waste slider's model: what padding wastes, and what packing costs instead, for lengths of a given
spread."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lmcourse.toys.hashing import normal

DOCUMENTS = 512  # lengths drawn for one picture
LONGEST = 8192  # tokens; longer draws are cut to this
ROW_LENGTHS = tuple(int(2.0 ** (k / 4) + 0.5) for k in range(16, 49))  # 16 to 4096, four to an octave
BIN_EDGES = 2.0 ** (np.arange(0, 27) / 2)  # tokens; two bins to an octave


@dataclass(frozen=True)
class Waste:
    """Counts for one row length. Integers, so that no rounding can differ between two languages."""

    row_length: int
    tokens: int  # of all documents
    padded_slots: int  # one document a row, filled up to the row length
    bucketed_slots: int  # batches of documents of similar length, filled up to the longest of each
    pairs: int  # packed rows, no document mask: query-key pairs that are allowed
    crossing: int  # of those, pairs across documents
    cut: int  # documents that lie in more than one packed row
    documents: int

    def shares(self) -> tuple[float, float, float, float]:
        """Padded, bucketed, crossing, cut: shares between 0 and 1."""
        return (
            1 - self.tokens / self.padded_slots,
            1 - self.tokens / self.bucketed_slots,
            self.crossing / self.pairs,
            self.cut / self.documents,
        )


def draw_lengths(mean: float, spread: float, seed: int, n: int = DOCUMENTS) -> NDArray[np.int64]:
    """(n,) document lengths in tokens, 1 to 8192: log-normal with this mean and this s.d. of the logarithm.

    Rounding to whole tokens and the two limits move the mean a little; spread 0 makes all lengths equal.
    """
    raw = np.exp(np.log(mean) - spread * spread / 2 + spread * normal(seed, n))
    return np.clip(np.floor(raw + 0.5), 1, LONGEST).astype(np.int64)


def measure(lengths: NDArray[np.int64], row_length: int, batch: int) -> Waste:
    """Lay out the documents in the three ways and count.

    Documents longer than a row are cut into whole rows and a rest before padding. *Bucketed* sorts the
    pieces by length and fills each batch of `batch` pieces up to its longest. *Packed* puts the documents
    end to end, in the order given, and cuts the stream every `row_length` tokens; the last row may be
    short.
    """
    whole, rest = np.divmod(lengths, row_length)
    pieces = np.sort(np.concatenate([np.full(int(whole.sum()), row_length), rest[rest > 0]]))[::-1]
    longest = pieces[::batch]
    sizes = np.diff(np.append(np.arange(0, len(pieces), batch), len(pieces)))

    stop = np.cumsum(lengths)
    start = stop - lengths
    tokens = int(stop[-1])
    rows, short = divmod(tokens, row_length)
    edges = np.unique(np.concatenate([[0], stop, np.arange(row_length, tokens, row_length)]))
    runs = np.diff(edges)  # stretches of one document in one row
    pairs = rows * triangle(row_length) + triangle(short)
    return Waste(
        row_length=row_length,
        tokens=tokens,
        padded_slots=len(pieces) * row_length,
        bucketed_slots=int((longest * sizes).sum()),
        pairs=pairs,
        crossing=pairs - int((runs * (runs + 1) // 2).sum()),
        cut=int((start // row_length != (stop - 1) // row_length).sum()),
        documents=len(lengths),
    )


def triangle(n: int) -> int:
    """Query-key pairs of n tokens that look backwards and at themselves."""
    return n * (n + 1) // 2


def sweep(lengths: NDArray[np.int64], batch: int) -> NDArray[np.float64]:
    """(4, 33) shares padded, bucketed, crossing and cut at each of `ROW_LENGTHS`."""
    return np.array([measure(lengths, row_length, batch).shares() for row_length in ROW_LENGTHS]).T


def histogram(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """(26,) documents in each of the bins between `BIN_EDGES`."""
    return np.histogram(lengths, bins=BIN_EDGES)[0]
