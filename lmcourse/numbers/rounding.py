"""Rounding by chance."""

from __future__ import annotations

import torch
from torch import Tensor

from lmcourse.errors import CourseError


def stochastic_round_bf16(x: Tensor, generator: torch.Generator) -> Tensor:
    """Round to one of the two bfloat16 neighbors, to the nearer one more often, so that the mean is x.

    A bfloat16 number is a float32 number whose last 16 bits are zero. Adding 16 random bits there carries
    into the bits that stay with just the probability that is wanted, for negative numbers too, since the sign
    is a bit of its own; cutting them off does the rest. Numbers that bfloat16 holds never change.

    Args:
        x: float32, any shape; infinities and NaN stay what they are.
        generator: source of the random bits, on the device of x. It belongs into a checkpoint.

    Returns:
        bfloat16, the shape of x.

    Raises:
        CourseError: another type than float32.
    """
    if x.dtype != torch.float32:
        raise CourseError(f"x: expected float32 to round to bfloat16, got {x.dtype}")
    noise = torch.randint(2**16, x.shape, generator=generator, device=x.device, dtype=torch.int32)
    cut = ((x.view(torch.int32) + noise) & -(2**16)).view(torch.float32)
    return torch.where(x.isfinite(), cut, x).to(torch.bfloat16)
