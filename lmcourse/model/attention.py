"""Multi-head self-attention; who looks at whom is the batch's affair (`lmcourse.model.attend`)."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from lmcourse.model.attend import Attend
from lmcourse.model.by_hand import rms_normalize, turn
from lmcourse.model.config import TransformerConfig
from lmcourse.model.linear import linear


class Attention(nn.Module):
    """Queries, keys and values are three matrices, not one, so that an optimizer can treat each by itself."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.heads = config.heads
        self.dropout = config.dropout
        self.query = linear(config.width, config.width)
        self.key = linear(config.width, config.width)
        self.value = linear(config.width, config.width)
        self.residual = linear(config.width, config.width)
        self.qk_norm = config.qk_norm
        gains = config.qk_norm and config.gains
        self.query_gain = nn.Parameter(torch.empty(config.head_width)) if gains else None
        self.key_gain = nn.Parameter(torch.empty(config.head_width)) if gains else None

    def forward(self, x: Tensor, rotation: Tensor | None, attend: Attend) -> Tensor:
        """
        Args:
            x: (B, T, width)
            rotation: (2, T, 2H, D) or (2, B, T, 2H, D), as from `rotation`; None without rotary positions.
            attend: who looks at whom.

        Returns:
            (B, T, width)
        """
        B, T, width = x.shape
        # queries and keys side by side: what follows is the same for both, in half as many passes
        both = torch.cat((self.query.weight, self.key.weight)).to(x.dtype)
        qk = F.linear(x, both).view(B, T, 2 * self.heads, -1)  # (B, T, 2H, D)
        v = self.value(x).view(B, T, self.heads, -1)  # (B, T, H, D)
        if self.qk_norm:
            qk = rms_normalize(qk, qk.dtype)
        if self.query_gain is not None:
            gains = torch.stack((self.query_gain, self.key_gain)).to(x.dtype)  # (2, D)
            qk = qk * gains.repeat_interleave(self.heads, dim=0)
        if rotation is not None:
            qk = turn(qk, rotation)
        q, k = qk.chunk(2, dim=2)  # (B, T, H, D)
        mixed = attend(q, k, v, self.dropout if self.training else 0.0)  # (B, T, H, D)
        return self.residual(mixed.reshape(B, T, width))
