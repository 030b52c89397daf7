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


def rotation(angles: Tensor, heads: int, dtype: torch.dtype) -> Tensor:
    """The table laid out as the queries are, once per batch for all layers: long rows of memory are quick.

    Args:
        angles: cosines and sines, (2, ..., T, D/2).
        heads: H.
        dtype: of queries and keys.

    Returns:
        (2, ..., T, H, D)
    """
    cos, sin = angles.to(dtype)
    table = torch.stack((torch.cat((cos, cos), -1), torch.cat((-sin, sin), -1))).unsqueeze(-2)
    return table.expand(*table.shape[:-2], heads, -1).contiguous()
