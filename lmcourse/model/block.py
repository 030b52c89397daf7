"""One layer: attention and a feed-forward part, each on a normalized copy of the residual stream."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from lmcourse.model.attend import Attend
from lmcourse.model.attention import Attention
from lmcourse.model.by_hand import relu_squared
from lmcourse.model.config import TransformerConfig
from lmcourse.model.linear import linear
from lmcourse.model.norm import RMSNorm


class SwiGLU(nn.Module):
    """A gated feed-forward part (Shazeer 2020, arXiv:2002.05202); its width keeps 8 * width**2 parameters."""

    def __init__(self, width: int) -> None:
        super().__init__()
        hidden = -(-8 * width // 3 // 16) * 16  # 8/3 of the width, rounded up to a multiple of 16
        self.gate = linear(width, hidden)
        self.up = linear(width, hidden)
        self.residual = linear(hidden, width)

    def forward(self, x: Tensor) -> Tensor:
        return self.residual(F.silu(self.gate(x)) * self.up(x))


class ReLU2(nn.Module):
    """A feed-forward part with a squared ReLU (So et al. 2021, arXiv:2109.08668)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.up = linear(width, 4 * width)
        self.residual = linear(4 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        return self.residual(relu_squared(self.up(x)))


class Block(nn.Module):
    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.attention_norm = RMSNorm(config.width, config.gains)
        self.attention = Attention(config)
        self.mlp_norm = RMSNorm(config.width, config.gains)
        self.mlp = SwiGLU(config.width) if config.mlp == "swiglu" else ReLU2(config.width)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x: Tensor, rotation: Tensor | None, attend: Attend, dtype: torch.dtype) -> Tensor:
        """One step of the residual stream, which keeps its type.

        Args:
            x: (B, T, width)
            rotation, attend: as in `Attention.forward`.
            dtype: of the products.

        Returns:
            (B, T, width)
        """
        x = x + self.dropout(self.attention(self.attention_norm(x, dtype), rotation, attend))
        return x + self.dropout(self.mlp(self.mlp_norm(x, dtype)))
