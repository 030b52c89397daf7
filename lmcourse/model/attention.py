"""Multi-head causal self-attention, with the one function that another back-end would replace."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn

from lmcourse.model.config import TransformerConfig
from lmcourse.model.linear import linear
from lmcourse.model.rope import rotate


def attend(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, dropout: float) -> Tensor:
    """Scaled dot-product attention.

    Args:
        q, k, v: (B, H, T, D).
        mask: (B, T, T) bool, true where query i may attend to key j; None means causal.
        dropout: share of attention weights dropped. The library's function knows nothing of `eval()`, so the
            caller passes 0 outside training.

    Returns:
        (B, H, T, D)
    """
    if mask is None:
        return F.scaled_dot_product_attention(q, k, v, dropout_p=dropout, is_causal=True)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask[:, None], dropout_p=dropout)


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

    def forward(self, x: Tensor, angles: Tensor | None, mask: Tensor | None) -> Tensor:
        """x: (B, T, width) -> (B, T, width); `angles` as in `rotate`, None without rotary positions."""
        B, T, width = x.shape
        q = self.query(x).view(B, T, self.heads, -1).transpose(1, 2)  # (B, H, T, D)
        k = self.key(x).view(B, T, self.heads, -1).transpose(1, 2)
        v = self.value(x).view(B, T, self.heads, -1).transpose(1, 2)
        q, k = self.query_norm(q), self.key_norm(k)
        if angles is not None:
            q, k = rotate(q, angles), rotate(k, angles)
        mixed = attend(q, k, v, mask, self.dropout if self.training else 0.0)  # (B, H, T, D)
        return self.residual(mixed.transpose(1, 2).reshape(B, T, width))
