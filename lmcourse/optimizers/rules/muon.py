"""Muon: a step of equal size in every direction of a matrix."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import Any

import torch
from torch import Tensor

from lmcourse.errors import CourseError
from lmcourse.optimizers.rules.newton_schulz import newton_schulz

# Below this root mean square an averaged gradient is taken for nothing: orthogonalization has no eps that
# would make its step small, so a block that is not used would walk about at full speed on rounding noise.
# AdamW's eps has this size, where its steps begin to shrink.
FLOOR = 1e-8

DTYPES = {"bf16": torch.bfloat16, "fp32": None}  # None: as the gradient


def muon_rule(
    weights: list[Tensor], gradients: list[Tensor], states: list[dict[str, Any]], group: dict[str, Any]
) -> None:
    """One step of Muon (Jordan et al. 2024, https://kellerjordan.github.io/posts/muon), in place.

    m is a running mean of raw gradients; Nesterov's look-ahead blends the newest gradient in once more; the
    blend, not the gradients, is orthogonalized. Then w <- w (1 - lr decay) - lr scale O. Decay goes by the
    unscaled rate, so that it is the same for matrices of all shapes.

    Args:
        weights, gradients: matrices (r, c).
        group: with lr, weight_decay, momentum, scale, newton_schulz ("bf16" or "fp32") and split, the number
            of matrices that each weight holds, one below the other.
    """
    blends = []
    for g, state in zip(gradients, states, strict=True):
        if not state:
            state["momentum"] = torch.zeros_like(g)
        state["momentum"].lerp_(g, 1 - group["momentum"])
        blends.append(g.lerp(state["momentum"], group["momentum"]))
    parts = [part for blend in blends for part in split_rows(blend, group["split"])]
    updates = iter(orthogonalize(parts, DTYPES[group["newton_schulz"]]))
    for w in weights:
        w.mul_(1 - group["lr"] * group["weight_decay"])
        for part in split_rows(w, group["split"]):
            part.add_(next(updates), alpha=-group["lr"] * update_scale(group["scale"], *part.shape))


def split_rows(matrix: Tensor, parts: int) -> tuple[Tensor, ...]:
    """Views of the `parts` matrices that stand one below the other, as fused queries, keys and values do.

    Orthogonalized together, the largest of them would set the size of all.

    Raises:
        CourseError: the rows cannot be divided.
    """
    if matrix.shape[0] % parts:
        raise CourseError(f"split: {matrix.shape[0]} rows cannot be divided into {parts} matrices")
    return matrix.tensor_split(parts)


def orthogonalize(matrices: list[Tensor], dtype: torch.dtype | None = None) -> list[Tensor]:
    """`newton_schulz` of each, computed together for all that have the same shape or its transpose.

    Args:
        matrices: (r, c) each.
        dtype: of the products; None keeps that of each matrix.

    Returns:
        The results in the same order; zero where the root mean square is below `FLOOR`.
    """
    stacks: dict[tuple[int, ...], list[int]] = defaultdict(list)
    for index, matrix in enumerate(matrices):
        stacks[tuple(sorted(matrix.shape))].append(index)
    results: list[Tensor] = [None] * len(matrices)
    for indices in stacks.values():
        stack = torch.stack([_short_first(matrices[i]) for i in indices])  # (K, short, long)
        floor = FLOOR * math.sqrt(stack[0].numel())
        unused = torch.linalg.matrix_norm(stack, keepdim=True) < floor  # false for NaN, which stays seen
        orthogonal = newton_schulz(stack, dtype=dtype).masked_fill_(unused, 0.0)
        for i, result in zip(indices, orthogonal, strict=True):
            results[i] = result if matrices[i].shape == result.shape else result.mT
    return results


def _short_first(matrix: Tensor) -> Tensor:
    return matrix.mT if matrix.shape[0] > matrix.shape[1] else matrix


def update_scale(convention: str, rows: int, columns: int) -> float:
    """What an orthogonal update is multiplied by.

    - match_adamw: 0.2 sqrt(max(r, c)). Entries then have a root mean square near 0.2 whatever the shape, as
      AdamW's steps have, so learning rate and decay carry over (Liu et al. 2025, arXiv:2502.16982).
    - original: sqrt(max(1, r/c)), with a learning rate of its own.
    - spectral: sqrt(r/c), the size that keeps the outputs' root mean square (Bernstein and Newhouse 2024,
      arXiv:2409.20325), with a learning rate of its own.
    """
    if convention == "match_adamw":
        return 0.2 * math.sqrt(max(rows, columns))
    return math.sqrt(rows / columns if convention == "spectral" else max(1.0, rows / columns))
