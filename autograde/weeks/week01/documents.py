"""Irregular inputs for the exercises of week 1: documents and rows of document ids."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor


def rows_of_ids(
    rng: np.random.Generator, B: int, T: int, mean_length: float = 4.0, consecutive: bool = False
) -> Tensor:
    """Long[B, T]: rows of runs of random length, two or more where T > 1; an id has one run in its row.

    The ids are unsorted, or `consecutive` as packing makes them.
    """
    rows = np.empty((B, T), dtype=np.int64)
    for row in rows:
        starts = rng.random(T) < 1 / mean_length
        starts[-1:] |= not starts[1:].any()
        starts[0] = False
        labels = rng.integers(90) + np.arange(T) if consecutive else rng.permutation(97)[:T]
        row[:] = labels[np.cumsum(starts)]
    return torch.from_numpy(rows)
