"""Is it chance? Chi-square tests for random answers, strict enough that a right one is never refused."""

from __future__ import annotations

import torch
from torch import Tensor

# Properties refuse after two independent draws beyond this limit: for a right answer a chance below 1e-11.
P_LIMIT = 1e-6


def looks_uniform(counts: Tensor) -> bool:
    """Whether counts fit equally likely cells: neither too uneven nor too even (p within 1e-6 and 1 - 1e-6).

    Args:
        counts: how often each cell was drawn, any shape; 5 expected draws per cell at least.
    """
    observed = counts.double().flatten()
    expected = observed.sum() / observed.numel()
    statistic = ((observed - expected) ** 2 / expected).sum()
    freedom = torch.tensor((observed.numel() - 1) / 2, dtype=torch.float64)
    p = torch.special.gammaincc(freedom, statistic / 2).item()
    return P_LIMIT <= p <= 1 - P_LIMIT


def pair_counts(values: Tensor, K: int) -> Tensor:
    """Counts of neighboring pairs in a sequence of numbers 0..K-1, without overlap: (K, K)."""
    pairs = values[: len(values) // 2 * 2].view(-1, 2)
    return torch.bincount(pairs[:, 0] * K + pairs[:, 1], minlength=K * K).view(K, K)
