"""Rows cut into shorter ones, for a run that begins with a short context."""

from __future__ import annotations

from torch import Tensor

from lmcourse.errors import CourseError
from lmcourse.packing.batch import Batch


def cut_rows(batch: Batch, T: int) -> Batch:
    """The same tokens and targets in rows of T; a document that is cut starts again in its second row.

    Args:
        batch: (B, S) with S a multiple of T.

    Returns:
        (B * S / T, T). Positions count from 0 in each part of a document.

    Raises:
        CourseError: rows that cannot be cut into whole ones.
    """
    S = batch.inputs.shape[1]
    if T < 1 or S % T:
        raise CourseError(f"T: rows of {S} tokens cannot be cut into rows of {T}")
    if T == S:
        return batch

    def cut(column: Tensor | None) -> Tensor | None:
        return None if column is None else column.reshape(-1, T)

    positions, doc_id = cut(batch.positions), cut(batch.doc_id)
    if positions is not None:
        first = positions[:, :1]
        continued = True if doc_id is None else doc_id == doc_id[:, :1]
        positions = positions - first * continued
    return Batch(cut(batch.inputs), cut(batch.targets), cut(batch.keep), positions, doc_id)
