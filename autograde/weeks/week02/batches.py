"""Micro-batches of uneven counts for a small model, and the float64 oracle of the loss over all of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

V, D = 7, 5

Rows = tuple[Tensor, Tensor, Tensor]


def weights(rng: np.random.Generator) -> tuple[Tensor, Tensor]:
    """(V, D) embedding and (D, V) head, float64."""
    return torch.from_numpy(rng.normal(size=(V, D))), torch.from_numpy(rng.normal(size=(D, V)))


def rows(rng: np.random.Generator, B: int, T: int, kept: int) -> Rows:
    """inputs, targets and keep with exactly `kept` true places."""
    inputs, targets = torch.from_numpy(rng.integers(0, V, size=(2, B, T)))
    keep = torch.zeros(B * T, dtype=torch.bool)
    keep[torch.from_numpy(rng.permutation(B * T)[:kept])] = True
    return inputs, targets, keep.view(B, T)


def uneven(rng: np.random.Generator, *kept: int, T: int = 6) -> list[Rows]:
    """A micro-batch for each count, of one to three rows."""
    return [rows(rng, int(rng.integers(-(-max(n, 1) // T), 4)), T, n) for n in kept]


def count(micro_batches: Sequence[Rows]) -> int:
    return sum(int(keep.sum()) for _, _, keep in micro_batches)


def oracle(
    weights: tuple[Tensor, Tensor], micro_batches: Sequence[Rows], total: int | None = None
) -> tuple[float, list[Tensor]]:
    """Loss and gradients of one pass over everything: the sum over kept tokens divided by `total`."""
    embedding, head = (w.clone().double().requires_grad_() for w in weights)
    loss = torch.zeros((), dtype=torch.float64)
    for inputs, targets, keep in micro_batches:
        logits = torch.tanh(embedding[inputs]) @ head
        nll = logits.logsumexp(-1) - logits.gather(-1, targets[..., None]).squeeze(-1)
        loss = loss + nll[keep].sum()
    loss = loss / max(1, count(micro_batches) if total is None else total)
    gradients = torch.autograd.grad(loss, (embedding, head), allow_unused=True)
    filled = [
        torch.zeros_like(w) if g is None else g for g, w in zip(gradients, (embedding, head), strict=True)
    ]
    return loss.item(), filled
