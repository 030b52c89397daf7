"""Root-mean-square normalization as a layer."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from lmcourse.model.by_hand import rms_normalize


class RMSNorm(nn.Module):
    """Vectors of unit mean square, then a learned factor for each place.

    Args:
        width: size of the last dimension.
        gain: learn the factors; where a matrix follows, it can learn them as well.
    """

    def __init__(self, width: int, gain: bool) -> None:
        super().__init__()
        self.register_parameter("weight", nn.Parameter(torch.empty(width)) if gain else None)

    def forward(self, x: Tensor, dtype: torch.dtype) -> Tensor:
        """(..., width) -> (..., width) of the given type."""
        y = rms_normalize(x, dtype)
        return y if self.weight is None else y * self.weight.to(dtype)
