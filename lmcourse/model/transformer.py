"""The decoder-only transformer."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from lmcourse.errors import CourseError
from lmcourse.model.attend import Attend, plan_attention
from lmcourse.model.block import Block
from lmcourse.model.config import TransformerConfig
from lmcourse.model.linear import embedding, linear
from lmcourse.model.rope import rope_table

INIT_STD = 0.02
FIRST_LOGIT_STD = 0.2  # adds about 0.2**2 / 2 = 0.02 nat to ln V


class Transformer(nn.Module):
    """Pre-norm transformer: RMSNorm (Zhang and Sennrich 2019), rotary positions, gated or squared-ReLU MLP.

    Args:
        config: the shape.
        seed: of the initial weights. They come from an own generator in the order of the parameters' names,
            so they depend neither on the global generator nor on the order in which modules were made.
        attention: back-end of `lmcourse.model.attend`; all of them give the same logits.
    """

    def __init__(self, config: TransformerConfig, seed: int = 0, attention: str = "auto") -> None:
        super().__init__()
        self.config = config
        self.attention = attention
        self.embedding = embedding(config.vocab_size, config.width)
        self.dropout = nn.Dropout(config.dropout)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.layers))
        self.final_norm = nn.RMSNorm(config.width)
        self.head = linear(config.width, config.vocab_size)
        if config.tied:
            self.head.weight = self.embedding.weight  # before the weights are drawn: they are one matrix
        self.position = embedding(config.context, config.width) if config.positions != "rotary" else None
        table = rope_table(config.context, config.head_width, config.rope_base)
        self.register_buffer("rope", table if config.positions != "learned" else None, persistent=False)
        self.reset_parameters(seed)

    def reset_parameters(self, seed: int) -> None:
        """Draw every weight: gains 1, matrices N(0, 0.02), less where many of them add up.

        The last matrix of each residual branch is scaled by 1/sqrt(2 * layers), so that the stream does not
        grow with depth (Radford et al. 2019). The head sees inputs of unit size; its std is kept small enough
        that the first loss is ln V within 0.05 nat at any width.
        """
        generator = torch.Generator().manual_seed(seed)
        head_std = min(INIT_STD, FIRST_LOGIT_STD / math.sqrt(self.config.width))
        with torch.no_grad():
            for name, parameter in sorted(self.named_parameters()):
                if parameter.dim() < 2:
                    parameter.fill_(1.0)
                    continue
                std = INIT_STD
                if name.endswith("residual.weight"):
                    std /= math.sqrt(2 * self.config.layers)
                elif parameter is self.head.weight:
                    std = head_std
                parameter.copy_(torch.normal(0.0, std, parameter.shape, generator=generator))

    def plan(self, tokens: Tensor, doc_id: Tensor | None) -> Attend:
        """Who looks at whom in this batch, for all layers."""
        return plan_attention(doc_id, tokens, self.embedding.weight.dtype, self.attention)

    def forward(
        self, tokens: Tensor, positions: Tensor | None = None, doc_id: Tensor | None = None
    ) -> Tensor:
        """Logits of the next token at every place.

        Args:
            tokens: (B, T) int64, T <= config.context.
            positions: (B, T) int64, each below config.context; None means 0..T-1 in every row.
            doc_id: (B, T) integer ids, unique per document within a row: a token sees itself and the earlier
                ones of its document. None takes each row as one document.

        Returns:
            (B, T, V) logits.

        Raises:
            CourseError: the sequence is longer than the context.
        """
        T = tokens.shape[1]
        if self.config.context < T:
            raise CourseError(f"tokens: {T} a row, but the model's context is {self.config.context} tokens")
        x = self.embedding(tokens)  # (B, T, width)
        if self.position is not None:
            x = x + (self.position.weight[:T] if positions is None else self.position(positions))
        angles = None
        if self.rope is not None:
            # (2, T, 1, D/2), or (2, B, T, 1, D/2)
            angles = (self.rope[:, :T] if positions is None else self.rope[:, positions]).unsqueeze(-2)
        x = self.dropout(x)
        attend = self.plan(tokens, doc_id)
        for block in self.blocks:
            x = block(x, angles, attend)
        return self.head(self.final_norm(x))  # (B, T, V)
