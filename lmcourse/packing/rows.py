"""Packing: documents end to end in one stream, the stream cut into rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from lmcourse.errors import CourseError


def join_documents(docs: Sequence[Sequence[int]], eos: int) -> tuple[Tensor, Tensor]:
    """All documents in order, each closed by `eos`, which belongs to its own document.

    Args:
        docs: token ids of each document, without eos; an empty document gives a lone eos.
        eos: id of the end-of-document token.

    Returns:
        tokens, doc_id: (N,) int64 with N = total tokens + documents; doc_id is the index in `docs`.
    """
    lengths = np.array([len(doc) + 1 for doc in docs], dtype=np.int64)
    stream = np.full(int(lengths.sum()), eos, dtype=np.int64)
    end = np.cumsum(lengths)
    for doc, stop, length in zip(docs, end, lengths, strict=True):
        stream[stop - length : stop - 1] = doc
    doc_id = np.repeat(np.arange(len(docs), dtype=np.int64), lengths)
    return torch.from_numpy(stream), torch.from_numpy(doc_id)


def pack(docs: Sequence[Sequence[int]], T: int, eos: int) -> tuple[Tensor, Tensor]:
    """Cut the joined documents into rows of T+1 tokens (T inputs and, one further on, T targets).

    Rows do not overlap; a remainder that does not fill a row is dropped. A document that continues on the
    next row keeps its id, and no id is ever used for two documents.

    Args:
        docs: token ids of each document, without eos.
        T: tokens per row that the model sees.
        eos: id of the end-of-document token.

    Returns:
        tokens, doc_id: (R, T+1) int64, R = N // (T+1); R = 0 where the stream is shorter than a row.

    Raises:
        CourseError: T < 1.
    """
    if T < 1:
        raise CourseError(f"T: a row needs at least one token, got {T}")
    stream, doc_id = join_documents(docs, eos)
    R = len(stream) // (T + 1)
    kept = R * (T + 1)
    return stream[:kept].view(R, T + 1), doc_id[:kept].view(R, T + 1)
