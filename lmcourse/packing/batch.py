"""A batch: the inputs of the model and of the loss, all derived from one table of tokens."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from torch import Tensor

from lmcourse.errors import CourseError
from lmcourse.packing.masks import document_ids, positions_and_loss_mask


@dataclass(frozen=True)
class Batch:
    """Rows of a step.

    Attributes:
        inputs, targets: (B, T) int64; `targets[b, i]` follows `inputs[b, i]` in its row.
        keep: (B, T) bool, whether the prediction of `targets[b, i]` counts; None counts all.
        positions: (B, T) int64; None means 0..T-1.
        doc_id: (B, T) int64, unique per document within a row: only tokens of one document see each other.
            None takes each row as one document.
    """

    inputs: Tensor
    targets: Tensor
    keep: Tensor | None = None
    positions: Tensor | None = None
    doc_id: Tensor | None = None

    @cached_property
    def count(self) -> int:
        """Tokens that count in the loss."""
        return self.targets.numel() if self.keep is None else int(self.keep.sum())

    def split(self, parts: int) -> Iterator[Batch]:
        """Micro-batches of whole rows, as equal as can be, none of them empty.

        Raises:
            CourseError: more parts than rows.
        """
        B = len(self.inputs)
        if not 1 <= parts <= B:
            raise CourseError(f"micro_batches: expected 1 to {B}, the rows of a step, got {parts}")
        columns = (self.inputs, self.targets, self.keep, self.positions, self.doc_id)
        pieces = [(None,) * parts if c is None else c.tensor_split(parts) for c in columns]
        for micro in zip(*pieces, strict=True):
            yield Batch(*micro)


def plain_batch(rows: Tensor) -> Batch:
    """A batch that takes a row as one text: its tokens see all earlier ones, every target counts.

    Args:
        rows: (B, T+1) int64.
    """
    return Batch(rows[:, :-1], rows[:, 1:])


def document_batch(rows: Tensor, eos: int) -> Batch:
    """A batch whose documents do not see each other; attention, positions and loss mask come from one id.

    Args:
        rows: (B, T+1) int64, documents closed by eos. Padding is more eos: each is a document of its own that
            sees itself and predicts nothing that counts.
        eos: id of the end-of-document token.
    """
    inputs = rows[:, :-1]
    doc_id = document_ids(inputs, eos)
    positions, keep = positions_and_loss_mask(doc_id, inputs == eos)
    return Batch(inputs, rows[:, 1:], keep, positions, doc_id)
