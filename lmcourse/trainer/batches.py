"""The batch of a step as a pure function of (seed, step): the data cursor of a run is its step."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from threading import Lock

import numpy as np
import torch
from torch import Tensor

from lmcourse.errors import CourseError
from lmcourse.packing import (
    PADDING,
    Batch,
    RowPages,
    consecutive_rows,
    document_batch,
    document_rows,
    plain_batch,
    sample_places,
    take_rows,
)

BatchAt = Callable[[int], Batch]
RowsAt = Callable[[int], range]  # which rows of the endless sequence of rows a step takes


def generator_for(*key: int) -> torch.Generator:
    """A generator for one purpose, well apart from those of other keys, such as (seed, step)."""
    return torch.Generator().manual_seed(int(np.random.SeedSequence(key).generate_state(1)[0]))


def same_rows(B: int) -> RowsAt:
    """B rows in each step."""
    return lambda step: range(step * B, (step + 1) * B)


def window_batches(tokens: np.ndarray, rows_at: RowsAt, T: int, seed: int, eos: int | None) -> BatchAt:
    """Random windows. Where `eos` is given, the documents in a window do not see each other.

    Raises:
        CourseError: when asked for a batch, if the stream is shorter than a window and its target.
    """

    def batch_at(step: int) -> Batch:
        B = len(rows_at(step))
        rows = take_rows(tokens, sample_places(len(tokens), B, T, generator_for(seed, step)))
        return _batch(rows, eos)

    return batch_at


def document_batches(tokens: np.ndarray, rows_at: RowsAt, T: int, seed: int, eos: int) -> BatchAt:
    """Rows of whole documents, in a new order in each epoch.

    A step takes its rows of the endless sequence of shuffled epochs; it may lie in two epochs. Of a
    stream of more than a page (two million tokens) the pages are shuffled, and the rows of each page.

    Raises:
        CourseError: when asked for a batch, if no document has two tokens.
    """
    pages = RowPages(tokens, eos, T)
    one_at_a_time = Lock()  # batches may be made ahead of time in threads; pages and ends are theirs together
    ends = [0]  # rows up to the end of each page visited, in the order of visits

    def page_of(visit: int) -> tuple[int, int]:
        epoch, turn = divmod(visit, len(pages))
        order = torch.randperm(len(pages), generator=generator_for(seed, epoch, 0, 1))
        return epoch, int(order[turn])

    def visit_of(row: int) -> int:
        while ends[-1] <= row:
            if len(ends) == len(pages) + 1 and ends[-1] == 0:
                raise CourseError("tokens: no document has two tokens, so there is nothing to predict")
            ends.append(ends[-1] + pages.count(page_of(len(ends) - 1)[1]))
        return bisect_right(ends, row) - 1

    def batch_at(step: int) -> Batch:
        rows = rows_at(step)
        parts, row, last = [], rows.start, rows.stop
        with one_at_a_time:
            while row < last:
                visit = visit_of(row)
                epoch, page = page_of(visit)
                order = torch.randperm(pages.count(page), generator=generator_for(seed, epoch, page))
                parts.append(pages.take(page, order[row - ends[visit] : last - ends[visit]]))
                row = min(last, ends[visit + 1])
        return document_batch(take_rows(tokens, torch.cat(parts), eos), eos)

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
        return _batch(tokens, self._eos)

    def _keep(self, rows: Tensor) -> Tensor:
        keep = self._batch(rows).keep
        return torch.ones_like(rows[:, 1:], dtype=torch.bool) if keep is None else keep


def _batch(rows: Tensor, eos: int | None) -> Batch:
    """Rows inside one document need no mask; that is most rows of a long text."""
    inside = eos is None or not (rows[:, :-1] == eos).any()
    return plain_batch(rows) if inside else document_batch(rows, eos)
