"""Small transformers for W1.7, right ones and leaking ones: what differs is who may look at whom.

All share one set of weights, drawn from a fixed seed when first needed. V = 32, 2 layers, 2 heads, width 32,
RMSNorm, RoPE; logits are of the order of 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import torch
import torch.nn.functional as F
from torch import Tensor

V, T_MAX = 32, 64
LAYERS, HEADS, WIDTH = 2, 2, 32

Attention = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]  # q, k, v (B, H, T, D), visible (B, T, T)


def forward(
    tokens: Tensor,
    visible: Tensor | tuple[Tensor, ...],
    positions: Tensor | None,
    attention: Attention | None = None,
    dtype: torch.dtype = torch.float32,
    norm_over: tuple[int, ...] = (-1,),
) -> Tensor:
    """Logits (B, T, V).

    Args:
        tokens: (B, T) ids 0..31.
        visible: (B, T, T) bool, [b, i, j] true where i looks at j; one for all layers or one a layer.
        positions: (B, T) for RoPE, or None for no positions at all.
        attention: how the masked average is computed.
        norm_over: dimensions that the norm averages over.
    """
    weights = _weights(dtype)
    layers = visible if isinstance(visible, tuple) else (visible,) * LAYERS
    attend = attention or attend_bool
    turn = None if positions is None else _rotation(positions, dtype)
    x = weights["embedding"][tokens]  # (B, T, width)
    B, T, _width = x.shape
    for layer, seen in enumerate(layers):
        h = _norm(x, norm_over)
        q, k, v = (
            (h @ weights[f"{name}{layer}"]).view(B, T, HEADS, -1).transpose(1, 2) for name in ("q", "k", "v")
        )
        if turn is not None:
            q, k = _rotate(q, *turn), _rotate(k, *turn)
        mixed = attend(q, k, v, seen).transpose(1, 2).reshape(B, T, WIDTH)
        x = x + mixed @ weights[f"o{layer}"]
        x = x + (_norm(x, norm_over) @ weights[f"up{layer}"]).relu() @ weights[f"down{layer}"]
    return _norm(x, (-1,)) @ weights["head"]


def attend_bool(q: Tensor, k: Tensor, v: Tensor, visible: Tensor) -> Tensor:
    """The library's attention with a mask of booleans."""
    return F.scaled_dot_product_attention(q, k, v, attn_mask=visible[:, None])


def attend_additive(q: Tensor, k: Tensor, v: Tensor, visible: Tensor) -> Tensor:
    """The library's attention with a mask that is added to the scores."""
    bias = torch.zeros(visible.shape, dtype=q.dtype).masked_fill(~visible, -torch.inf)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=bias[:, None])


def attend_by_hand(q: Tensor, k: Tensor, v: Tensor, visible: Tensor) -> Tensor:
    """Scores, a large negative number where nothing may be seen, softmax, average."""
    scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    return scores.masked_fill(~visible[:, None], -1e9).softmax(-1) @ v


def check_inputs(tokens: Tensor, doc_id: Tensor) -> None:
    """Complain in words about inputs that the contract of `model_fn` does not allow.

    Raises:
        ValueError: shape, dtype, ids out of range, or rows that are too long.
    """
    for name, value in (("tokens", tokens), ("doc_id", doc_id)):
        if not isinstance(value, Tensor) or value.ndim != 2 or value.is_floating_point():
            raise ValueError(f"model_fn: {name} should be a tensor of whole numbers of shape (B, T)")
    if tokens.shape != doc_id.shape:
        shapes = f"{tuple(tokens.shape)} and {tuple(doc_id.shape)}"
        raise ValueError(f"model_fn: tokens and doc_id should have the same shape, got {shapes}")
    if tokens.numel() == 0 or tokens.shape[1] > T_MAX:
        raise ValueError(f"model_fn: rows of 1 to {T_MAX} tokens, got shape {tuple(tokens.shape)}")
    if tokens.min() < 0 or tokens.max() >= V:
        raise ValueError(f"model_fn: token ids run from 0 to {V - 1}, got {tokens.min()} to {tokens.max()}")


def causal(doc_id: Tensor) -> Tensor:
    """Bool (B, T, T): j <= i."""
    B, T = doc_id.shape
    return torch.ones(T, T, dtype=torch.bool).tril().expand(B, T, T)


def same_document(doc_id: Tensor) -> Tensor:
    """Bool (B, T, T)."""
    return doc_id[:, :, None] == doc_id[:, None, :]


def starts(doc_id: Tensor) -> Tensor:
    """Bool (B, T): the first token of each document in its row."""
    first = torch.ones_like(doc_id, dtype=torch.bool)
    first[:, 1:] = doc_id[:, 1:] != doc_id[:, :-1]
    return first


def ends(doc_id: Tensor) -> Tensor:
    """Bool (B, T): the last token of each document in its row."""
    return starts(doc_id.flip(1)).flip(1)


def ordinal(doc_id: Tensor) -> Tensor:
    """Long (B, T): the number of the document in its row, from 0."""
    return starts(doc_id).long().cumsum(1) - 1


def restarting(doc_id: Tensor) -> Tensor:
    """Long (B, T): positions that start from 0 in each document."""
    index = running(doc_id)
    return index - torch.where(starts(doc_id), index, 0).cummax(1).values


def running(doc_id: Tensor) -> Tensor:
    """Long (B, T): positions that run through the row."""
    return torch.arange(doc_id.shape[1]).expand(doc_id.shape)


@cache
def _weights(dtype: torch.dtype) -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(20_240_131)

    def normal(*shape: int, scale: float = 1.0) -> Tensor:
        drawn = torch.randn(*shape, generator=generator, dtype=torch.float64)
        return (drawn * scale / math.sqrt(shape[0])).to(dtype)

    weights = {"embedding": normal(V, WIDTH, scale=math.sqrt(V)), "head": normal(WIDTH, V)}
    for layer in range(LAYERS):
        for name in ("q", "k", "v", "o"):
            weights[f"{name}{layer}"] = normal(WIDTH, WIDTH)
        weights[f"up{layer}"] = normal(WIDTH, 2 * WIDTH)
        weights[f"down{layer}"] = normal(2 * WIDTH, WIDTH)
    return weights


def _norm(x: Tensor, over: tuple[int, ...]) -> Tensor:
    return x * (x.square().mean(over, keepdim=True) + 1e-6).rsqrt()


def _rotation(positions: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Cosine and sine (B, 1, T, D/2) of position times frequency (RoPE, Su et al., arXiv:2104.09864)."""
    half = WIDTH // HEADS // 2
    frequency = 100.0 ** (-torch.arange(half, dtype=torch.float64) / half)
    angle = (positions[:, None, :, None] * frequency).to(dtype)
    return angle.cos(), angle.sin()


def _rotate(x: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
    """Turn the pairs of halves of (B, H, T, D)."""
    a, b = x.chunk(2, dim=-1)
    return torch.cat([a * cosine - b * sine, a * sine + b * cosine], dim=-1)
