"""What a packed row needs beside its tokens: document ids, attention mask, positions, loss mask."""

from __future__ import annotations

import torch
from torch import Tensor


def document_ids(tokens: Tensor, eos: int) -> Tensor:
    """Number the documents of each row, from the eos that closes them.

    Args:
        tokens: (B, T) inputs.
        eos: id of the end-of-document token, which belongs to the document that it closes.

    Returns:
        (B, T) int64, from 0 in each row; unique within a row, so not comparable between rows.
    """
    closed = (tokens == eos).long().cumsum(1)  # (B, T) documents closed up to and including here
    return closed - (tokens == eos).long()


def document_mask(doc_id: Tensor) -> Tensor:
    """Who may attend to whom: only backwards, and only inside the own document.

    The diagonal is always true, so that no query is left without a key.

    Args:
        doc_id: (B, T) integer ids, unique per document within a row.

    Returns:
        (B, T, T) bool; `[b, i, j]` is true where query i may attend to key j.
    """
    T = doc_id.shape[1]
    same = doc_id[:, :, None] == doc_id[:, None, :]  # (B, T, T)
    causal = torch.ones(T, T, dtype=torch.bool, device=doc_id.device).tril()
    return same & causal


def positions_and_loss_mask(doc_id: Tensor, eos_positions: Tensor) -> tuple[Tensor, Tensor]:
    """Positions that start again in each document, and the predictions that count in the loss.

    Args:
        doc_id: (B, T) integer ids of the inputs.
        eos_positions: (B, T) bool, true where the *input* is eos.

    Returns:
        pos: (B, T) int64; counts from 0 at the row's start and at each change of `doc_id`. A document that
            goes on in the next row counts from 0 again there.
        keep: (B, T) bool; whether the prediction made at i, of token i+1, counts. Not where the input is eos:
            its target is the first token of another document. Predicting the eos itself counts.
    """
    T = doc_id.shape[1]
    index = torch.arange(T, device=doc_id.device).expand_as(doc_id)  # (B, T)
    seam = doc_id[:, 1:] != doc_id[:, :-1]  # (B, T-1), true where a document starts at i+1
    start = torch.zeros_like(index)
    start[:, 1:] = torch.where(seam, index[:, 1:], 0)
    pos = index - start.cummax(1).values
    keep = ~eos_positions
    keep[:, :-1] &= ~seam
    return pos, keep
