"""Three functions whose gradients are written by hand, because each pass over memory counts.

Put together from the library's operations they give the same values and gradients, with about twice as many
passes over the activations. On two cores those passes take as long as the matrix products.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

EPSILON = 1e-6  # added to the mean square, so that a vector of zeros stays one


def rms_normalize(x: Tensor, dtype: torch.dtype) -> Tensor:
    """x / sqrt(mean(x**2)) over the last dimension (Zhang and Sennrich 2019, arXiv:1910.07467).

    Args:
        x: (..., D), a floating type.
        dtype: of the result; the mean square is computed in float32, or float64 for float64.
    """
    return _Normalize.apply(x, dtype)


def turn(x: Tensor, rotation: Tensor) -> Tensor:
    """Turn the pairs (x[i], x[i + D/2]) of the last dimension.

    Args:
        x: (..., D)
        rotation: (2, ..., D), as from `lmcourse.model.rope.rotation`.
    """
    return _Turn.apply(x, rotation)


def relu_squared(x: Tensor) -> Tensor:
    """max(x, 0)**2 (So et al. 2021, arXiv:2109.08668)."""
    return _ReLUSquared.apply(x)


class _Normalize(Function):
    """With y = x * r: the gradient is r * (g - y * mean(g * y)), g without its part along y."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, dtype: torch.dtype) -> Tensor:
        wide = torch.promote_types(x.dtype, torch.float32)
        norm = torch.linalg.vector_norm(x, dim=-1, keepdim=True, dtype=wide)
        r = norm.square_().div_(x.shape[-1]).add_(EPSILON).rsqrt_().to(x.dtype)  # (..., 1)
        y = (x * r).to(dtype)
        ctx.save_for_backward(y, r)
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor, None]:
        y, r = ctx.saved_tensors
        wide = torch.promote_types(g.dtype, torch.float32)
        along = (g * y).mean(-1, keepdim=True, dtype=wide).to(g.dtype)
        return torch.addcmul(g, y, along, value=-1) * r, None


class _Turn(Function):
    """The gradient of a rotation is the rotation back."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, rotation: Tensor) -> Tensor:
        ctx.save_for_backward(rotation)
        return torch.addcmul(x * rotation[0], _halves_swapped(x), rotation[1])

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor, None]:
        (rotation,) = ctx.saved_tensors
        return torch.addcmul(g * rotation[0], _halves_swapped(g), rotation[1], value=-1), None


class _ReLUSquared(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        positive = x.relu()
        ctx.save_for_backward(positive)
        return positive * positive

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, g: Tensor) -> Tensor:
        (positive,) = ctx.saved_tensors
        return (g * positive).mul_(2)


def _halves_swapped(x: Tensor) -> Tensor:
    first, second = x.chunk(2, dim=-1)
    return torch.cat((second, first), dim=-1)
