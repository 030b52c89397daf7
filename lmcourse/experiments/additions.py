"""A thousand small updates to the number 1, in four ways to keep it: week 3's first experiment."""

from __future__ import annotations

import torch
from torch import Tensor

from lmcourse.numbers import stochastic_round_bf16

START, UPDATE, STEPS = 1.0, 0.001, 1_000
WAYS = ("float32", "float16", "bfloat16", "bfloat16, stochastic")


def thousand_additions(seed: int = 0, update: float = UPDATE, steps: int = STEPS) -> dict[str, Tensor]:
    """The number after each addition, (steps + 1,) float64, by way of keeping it.

    Args:
        seed: of the rounding by chance.
        update: what is added each time; it is itself rounded to float32 first.
        steps: how many additions.
    """
    generator = torch.Generator().manual_seed(seed)
    paths = {}
    for way in WAYS:
        value = torch.tensor(START)
        path = [START]
        for _ in range(steps):
            value = _kept(value.float() + update, way, generator)
            path.append(float(value))
        paths[way] = torch.tensor(path, dtype=torch.float64)
    return paths


def _kept(value: Tensor, way: str, generator: torch.Generator) -> Tensor:
    """A float32 number as it is stored until the next addition."""
    if way == "bfloat16, stochastic":
        return stochastic_round_bf16(value, generator)
    return value.to(getattr(torch, way))
