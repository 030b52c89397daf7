"""Rows as places in a stream: which token of the stream stands where, without copying any token."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from lmcourse.errors import CourseError
from lmcourse.packing.bins import Packer, ffd_pack

PADDING = -1


def document_rows(tokens: np.ndarray, eos: int, T: int, packer: Packer = ffd_pack) -> Tensor:
    """Rows of whole documents, packed each with the eos that closes it.

    Every token but the first of each document is a target exactly once. A document of more than T+1 tokens is
    cut into pieces; each begins with the last token of the one before, so that no target is lost, and the
    model sees nothing of the earlier piece. A stretch after the last eos counts as a document.

    Args:
        tokens: (N,) integer stream.
        eos: id of the end-of-document token.
        T: tokens per row that the model sees.
        packer: puts documents into rows, by their lengths.

    Returns:
        (R, T+1) int64 places in the stream; PADDING where a row has room left.
    """
    ends = np.flatnonzero(np.asarray(tokens) == eos) + 1
    if len(tokens) and (not len(ends) or ends[-1] < len(tokens)):
        ends = np.append(ends, len(tokens))
    starts = np.append(0, ends)[: len(ends)].astype(np.int64)
    pieces = [
        (place, min(end, place + T + 1))
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True)
        for place in range(start, end - 1, T)  # a piece of one token predicts nothing
    ]
    # A piece without eos at its end fills its row alone: what came next would be taken for its continuation.
    room = [end - start if tokens[end - 1] == eos else T + 1 for start, end in pieces]
    bins = packer(room, T + 1)
    rows = np.full((len(bins), T + 1), PADDING, dtype=np.int64)
    for row, members in zip(rows, bins, strict=True):
        column = 0
        for start, end in (pieces[member] for member in members):
            row[column : column + end - start] = np.arange(start, end)
            column += end - start
    return torch.from_numpy(rows)


def consecutive_rows(N: int, T: int) -> tuple[Tensor, Tensor]:
    """Windows that follow each other, so that every token but the stream's first is a target exactly once.

    The last window ends with the stream; it overlaps the one before, and only its new targets count.

    Args:
        N: tokens of the stream.
        T: tokens per window that the model sees.

    Returns:
        rows: (R, T+1) int64 places in the stream.
        counted: (R, T) bool, false for targets that the row before has counted.

    Raises:
        CourseError: the stream is shorter than one window and its target.
    """
    if N <= T:
        raise CourseError(
            f"tokens: a window of T={T} tokens needs a stream of at least {T + 1}, got {N}; "
            "take a smaller T or a longer text"
        )
    R = -(-(N - 1) // T)
    starts = (torch.arange(R) * T).clamp(max=N - 1 - T)
    rows = starts[:, None] + torch.arange(T + 1)
    counted = rows[:, 1:] > torch.arange(R)[:, None] * T
    return rows, counted
