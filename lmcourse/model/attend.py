"""Who looks at whom: attention over the documents of a batch, by several back-ends with equal results.

A plan is made once per batch, from the document ids, and serves all layers. It is a function of queries, keys
and values, (B, T, H, D) each, and of the share of attention weights to drop. It gives (B, T, H, D).

mask        one boolean (B, T, T) for the library's attention: short to read, and the reference of the tests.
            Time and memory grow with the square of T.
documents   each document by itself, in batches of like length. Linear in T, however long the rows are.
plain       two matrix products and a softmax: for short rows in 16 bits, where the library's backward pass is
            slow on a CPU.
causal      the library's causal attention, for rows that are one text.
varlen,     kernels of a GPU: the first takes 16-bit types only, the second any.
flex
"""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from lmcourse.errors import CourseError
from lmcourse.model.by_document import ByDocument
from lmcourse.model.gpu_attention import flex_plan, varlen_plan
from lmcourse.packing.masks import document_mask

Attend = Callable[[Tensor, Tensor, Tensor, float], Tensor]

BACKENDS = ("auto", "mask", "documents", "plain", "causal", "varlen", "flex")
LONG_ROWS = 512  # tokens; below, a mask costs no more than going document by document
SHORT_ROWS = 256  # tokens; up to here two products in 16 bits beat the library's kernel on a CPU


def plan_attention(
    doc_id: Tensor | None, tokens: Tensor, dtype: torch.dtype, backend: str = "auto"
) -> Attend:
    """Choose a back-end and prepare what it needs of this batch.

    Args:
        doc_id: (B, T) integer ids, unique per document within a row; None takes each row as one document.
        tokens: (B, T), for shape and device.
        dtype: of the queries, keys and values to come.
        backend: one of BACKENDS.

    Raises:
        CourseError: an unknown back-end, "causal" for several documents a row, or a GPU's back-end elsewhere.
    """
    if backend not in BACKENDS:
        raise CourseError(f"attention: expected one of {', '.join(BACKENDS)}, got {backend!r}")
    if backend == "causal" and doc_id is not None:
        raise CourseError("attention: 'causal' knows no documents; take 'mask', 'documents' or 'auto'")
    if backend in ("varlen", "flex") and tokens.device.type != "cuda":
        raise CourseError(f"attention: {backend!r} needs a GPU, and the batch is on {tokens.device.type}")
    if backend == "auto":
        backend = _choose(doc_id, tokens, dtype)
    if backend == "causal":
        return causal
    if backend == "plain":
        return plain_plan(doc_id, tokens, dtype)
    if doc_id is None:
        doc_id = torch.zeros_like(tokens)
    if backend == "mask":
        return masked(document_mask(doc_id))
    return {"documents": ByDocument, "varlen": varlen_plan, "flex": flex_plan}[backend](doc_id)


def _choose(doc_id: Tensor | None, tokens: Tensor, dtype: torch.dtype) -> str:
    half = dtype in (torch.bfloat16, torch.float16)
    if tokens.device.type == "cuda":
        return "causal" if doc_id is None else "varlen" if half else "flex"
    T = tokens.shape[1]
    if half and T <= SHORT_ROWS:
        return "plain"
    if doc_id is None:
        return "causal"
    return "documents" if T >= LONG_ROWS else "mask"


def causal(q: Tensor, k: Tensor, v: Tensor, dropout: float) -> Tensor:
    """Every earlier token of the row, and the token itself."""
    heads = (x.transpose(1, 2) for x in (q, k, v))  # (B, H, T, D)
    return F.scaled_dot_product_attention(*heads, dropout_p=dropout, is_causal=True).transpose(1, 2)


def masked(mask: Tensor) -> Attend:
    """The library's attention with a boolean mask, (B, T, keys): true where a query may look at a key."""

    def attend(q: Tensor, k: Tensor, v: Tensor, dropout: float) -> Tensor:
        heads = (x.transpose(1, 2) for x in (q, k, v))  # (B, H, T, D)
        mixed = F.scaled_dot_product_attention(*heads, attn_mask=mask[:, None], dropout_p=dropout)
        return mixed.transpose(1, 2)

    return attend


def plain_plan(doc_id: Tensor | None, tokens: Tensor, dtype: torch.dtype) -> Attend:
    """Attention as its formula says; inside, the softmax computes in float32 whatever comes in."""
    T = tokens.shape[1]
    if doc_id is None:
        seen = torch.ones(T, T, dtype=torch.bool, device=tokens.device).tril()
    else:
        seen = document_mask(doc_id)[:, None]  # (B, 1, T, T)
    bias = torch.zeros(seen.shape, dtype=dtype, device=tokens.device).masked_fill_(~seen, float("-inf"))

    def attend(q: Tensor, k: Tensor, v: Tensor, dropout: float) -> Tensor:
        q, k, v = (x.transpose(1, 2) for x in (q, k, v))  # (B, H, T, D)
        scores = (q * q.shape[-1] ** -0.5) @ k.transpose(2, 3) + bias  # (B, H, T, T)
        return (F.dropout(scores.softmax(-1), dropout) @ v).transpose(1, 2)

    return attend
