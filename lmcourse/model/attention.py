"""Multi-head self-attention; who looks at whom is the batch's affair (`lmcourse.model.attend`)."""

from __future__ import annotations

from torch import Tensor, nn

from lmcourse.model.attend import Attend
from lmcourse.model.config import TransformerConfig
from lmcourse.model.linear import linear
from lmcourse.model.rope import rotate


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
        self.query_norm = nn.RMSNorm(config.head_width) if config.qk_norm else nn.Identity()
        self.key_norm = nn.RMSNorm(config.head_width) if config.qk_norm else nn.Identity()

    def forward(self, x: Tensor, angles: Tensor | None, attend: Attend) -> Tensor:
        """x: (B, T, width) -> (B, T, width); `angles` as in `rotate`, None without rotary positions."""
        B, T, width = x.shape
        q = self.query(x).view(B, T, self.heads, -1)  # (B, T, H, D)
        k = self.key(x).view(B, T, self.heads, -1)
        v = self.value(x).view(B, T, self.heads, -1)
        q, k = self.query_norm(q), self.key_norm(k)
        if angles is not None:
            q, k = rotate(q, angles), rotate(k, angles)
        mixed = attend(q, k, v, self.dropout if self.training else 0.0)  # (B, T, H, D)
        return self.residual(mixed.reshape(B, T, width))
