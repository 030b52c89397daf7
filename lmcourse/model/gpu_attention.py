"""Document attention by the kernels of a GPU. Written from their documentation; no test here reaches them."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from lmcourse.errors import CourseError


def varlen_plan(doc_id: Tensor) -> Callable[[Tensor, Tensor, Tensor, float], Tensor]:
    """All documents of the batch end to end, and where each begins; bfloat16 and float16.

    The offsets are padded to a constant length with the end of the batch, so that a compiled model sees one
    shape. Equal ids must stand next to each other.
    """
    from torch.nn.attention.varlen import varlen_attn

    B, T = doc_id.shape
    new = torch.ones(B, T, dtype=torch.bool, device=doc_id.device)
    new[:, 1:] = doc_id[:, 1:] != doc_id[:, :-1]
    starts = new.flatten().nonzero()[:, 0]
    offsets = torch.full((B * T + 1,), B * T, dtype=torch.int32, device=doc_id.device)
    offsets[: len(starts)] = starts.int()

    def attend(q: Tensor, k: Tensor, v: Tensor, dropout: float) -> Tensor:
        if dropout:
            raise CourseError("dropout: the GPU's document attention has none; take attention 'mask'")
        H, D = q.shape[2:]
        q, k, v = (x.reshape(B * T, H, D) for x in (q, k, v))
        mixed = varlen_attn(q, k, v, offsets, offsets, T, T, window_size=(-1, 0))
        return mixed.view(B, T, H, D)

    return attend


def flex_plan(doc_id: Tensor) -> Callable[[Tensor, Tensor, Tensor, float], Tensor]:
    """A sparse table of the blocks in which any pair may attend, made anew for each batch; any type."""
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    B, T = doc_id.shape

    def may_attend(b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
        return (j <= i) & (doc_id[b, i] == doc_id[b, j])

    blocks = create_block_mask(may_attend, B, None, T, T, device=str(doc_id.device))
    compiled = torch.compile(flex_attention)

    def attend(q: Tensor, k: Tensor, v: Tensor, dropout: float) -> Tensor:
        if dropout:
            raise CourseError("dropout: the GPU's document attention has none; take attention 'mask'")
        q, k, v = (x.transpose(1, 2) for x in (q, k, v))
        return compiled(q, k, v, block_mask=blocks).transpose(1, 2)

    return attend
