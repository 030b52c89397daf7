"""The batch of a step as a pure function of (seed, step): the data cursor of a run is its step."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import torch
from torch import Tensor

from lmcourse.packing import (
    PADDING,
    Batch,
    consecutive_rows,
    document_batch,
    document_rows,
    plain_batch,
    sample_places,
    take_rows,
)

BatchAt = Callable[[int], Batch]


def generator_for(*key: int) -> torch.Generator:
    """A generator for one purpose, well apart from those of other keys, such as (seed, step)."""
    return torch.Generator().manual_seed(int(np.random.SeedSequence(key).generate_state(1)[0]))


def window_batches(tokens: np.ndarray, B: int, T: int, seed: int, eos: int | None) -> BatchAt:
    """Random windows. Where `eos` is given, the documents in a window do not see each other.

    Raises:
        CourseError: when asked for a batch, if the stream is shorter than a window and its target.
    """

    def batch_at(step: int) -> Batch:
        rows = take_rows(tokens, sample_places(len(tokens), B, T, generator_for(seed, step)))
        return plain_batch(rows) if eos is None else document_batch(rows, eos)

    return batch_at


def document_batches(tokens: np.ndarray, B: int, T: int, seed: int, eos: int) -> BatchAt:
    """Rows of whole documents, in a new order in each epoch.

    A step takes the next B rows of the endless sequence of shuffled epochs; a step may lie in two epochs.
    """
    rows = document_rows(tokens, eos, T)  # (R, T+1) places
    R = len(rows)

    def order(epoch: int) -> Tensor:
        return torch.randperm(R, generator=generator_for(seed, epoch))

    def batch_at(step: int) -> Batch:
        first, last = step * B, (step + 1) * B
        epochs = range(first // R, (last - 1) // R + 1)
        shuffled = torch.cat([order(epoch) for epoch in epochs])
        start = first - epochs[0] * R
        return document_batch(take_rows(tokens, rows[shuffled[start : start + B]], eos), eos)

    return batch_at


class ValidationSet:
    """Every target of the validation stream once, in order, in batches of B rows.

    Attributes:
        places: (R, T+1) int64 places in the stream.
        counted: (R, T) bool, which targets count.
    """

    def __init__(self, tokens: np.ndarray, B: int, T: int, eos: int | None, whole_documents: bool) -> None:
        """
        Args:
            tokens: (N,) integer stream.
            eos: id of the end-of-document token; None trains and measures without document mask.
            whole_documents: rows as in `document_batches`, else windows that follow each other.
        """
        self._tokens, self._eos, self._B = tokens, eos, B
        if whole_documents:
            self.places = document_rows(tokens, eos, T)
            fresh = self.places[:, 1:] != PADDING
        else:
            self.places, fresh = consecutive_rows(len(tokens), T)
        self.counted = torch.cat([fresh[:0], *(self._keep(rows) & new for rows, new in self._chunks(fresh))])

    def __iter__(self) -> Iterator[Batch]:
        for rows, counted in self._chunks(self.counted):
            batch = self._batch(rows)
            yield Batch(batch.inputs, batch.targets, counted, batch.positions, batch.doc_id)

    def mean_over_targets(self, values: np.ndarray) -> float:
        """Mean of a quantity per token of the stream, (N,), over the targets that count."""
        return float(values[self.places[:, 1:][self.counted].numpy()].mean())

    def _chunks(self, flags: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
        return zip(self.places.split(self._B), flags.split(self._B), strict=True)

    def _batch(self, rows: Tensor) -> Batch:
        tokens = take_rows(self._tokens, rows, self._eos or 0)
        return plain_batch(tokens) if self._eos is None else document_batch(tokens, self._eos)

    def _keep(self, rows: Tensor) -> Tensor:
        keep = self._batch(rows).keep
        return torch.ones_like(rows[:, 1:], dtype=torch.bool) if keep is None else keep
