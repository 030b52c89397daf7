"""Rotary positions (Su et al. 2021, arXiv:2104.09864): queries and keys turned by an angle per position."""

from __future__ import annotations

import torch
from torch import Tensor


def rope_table(positions: int, head_width: int, base: float) -> Tensor:
    """Cosines and sines of every angle.

    Computed in float64 and kept in float32 whatever the model's type: bfloat16 cannot even hold the positions
    above 256, and angles computed in it are wrong by whole turns.

    Returns:
        (2, positions, head_width / 2) float32.
    """
    frequency = base ** (-torch.arange(0, head_width, 2, dtype=torch.float64) / head_width)
    angle = torch.arange(positions, dtype=torch.float64)[:, None] * frequency
    return torch.stack((angle.cos(), angle.sin())).float()


def rotate(x: Tensor, angles: Tensor) -> Tensor:
    """Turn the pairs (x[i], x[i + D/2]) of each head; the result has the type of `x`.

    Args:
        x: (B, T, H, D) queries or keys.
        angles: cosines and sines, float32; (2, T, 1, D/2), or (2, B, T, 1, D/2) if positions differ by row.
    """
    cos, sin = angles
    first, second = x.chunk(2, dim=-1)
    return torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1).to(x.dtype)
