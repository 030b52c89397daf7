"""The decoder-only transformer."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from lmcourse.errors import CourseError
from lmcourse.model.attend import Attend, plan_attention
from lmcourse.model.block import Block
from lmcourse.model.cache import KeyValueCache
from lmcourse.model.compiling import compiled
from lmcourse.model.config import TransformerConfig
from lmcourse.model.linear import embedding, linear
from lmcourse.model.norm import RMSNorm
from lmcourse.model.rope import rope_table, rotation

INIT_STD = 0.02
ZERO_HEAD_STD = 1e-3
FIRST_LOGIT_STD = 0.2  # adds about 0.2**2 / 2 = 0.02 nat to ln V


class Transformer(nn.Module):
    """Pre-norm transformer: RMSNorm (Zhang and Sennrich 2019), rotary positions, gated or squared-ReLU MLP.

    Args:
        config: the shape.
        seed: of the initial weights. They come from an own generator in the order of the parameters' names,
            so they depend neither on the global generator nor on the order in which modules were made.
        attention: back-end of `lmcourse.model.attend`; all of them give the same logits.

    Attributes:
        compute_dtype: of the products; None takes that of the weights. The weights, the residual stream, the
            head and everything outside the forward pass keep the type of the weights.
    """

    def __init__(self, config: TransformerConfig, seed: int = 0, attention: str = "auto") -> None:
        super().__init__()
        self.config = config
        self.attention = attention
        self.compute_dtype: torch.dtype | None = None
        self._fast_trunk: Callable[..., Tensor] | None = None
        self.embedding = embedding(config.vocab_size, config.width)
        self.dropout = nn.Dropout(config.dropout)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.layers))
        self.final_norm = RMSNorm(config.width, config.gains)
        self.head = linear(config.width, config.vocab_size)
        if config.tied:
            self.head.weight = self.embedding.weight  # before the weights are drawn: they are one matrix
        self.position = embedding(config.context, config.width) if config.positions != "rotary" else None
        table = rope_table(config.context, config.head_width, config.rope_base)
        self.register_buffer("rope", table if config.positions != "learned" else None, persistent=False)
        self.reset_parameters(seed)

    def reset_parameters(self, seed: int) -> None:
        """Draw every weight; gains are 1.

        "small": matrices N(0, 0.02). The last matrix of each residual branch is scaled by 1/sqrt(2 * layers),
        so that the stream does not grow with depth (Radford et al. 2019). The head sees inputs of unit size;
        its std is kept small enough that the first loss is ln V within 0.05 nat at any width.

        "zero": the embedding N(0, 1), so that the stream has unit size; the last matrix of each branch 0, so
        that each block begins as the identity; the others N(0, 1/inputs); the head N(0, 0.001).
        """
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for name, parameter in sorted(self.named_parameters()):
                if parameter.dim() < 2:
                    parameter.fill_(1.0)
                    continue
                std = self._std(name, parameter)
                parameter.copy_(torch.normal(0.0, std, parameter.shape, generator=generator))

    def _std(self, name: str, parameter: Tensor) -> float:
        head = parameter is self.head.weight
        if self.config.init == "zero":
            if name.endswith("residual.weight"):
                return 0.0
            if parameter is self.embedding.weight:
                return 1.0
            return ZERO_HEAD_STD if head else parameter.shape[1] ** -0.5
        if name.endswith("residual.weight"):
            return INIT_STD / math.sqrt(2 * self.config.layers)
        return min(INIT_STD, FIRST_LOGIT_STD / math.sqrt(self.config.width)) if head else INIT_STD

    def plan(self, tokens: Tensor, doc_id: Tensor | None) -> Attend:
        """Who looks at whom in this batch, for all layers."""
        return plan_attention(doc_id, tokens, self._dtype(), self.attention)

    def forward(
        self,
        tokens: Tensor,
        positions: Tensor | None = None,
        doc_id: Tensor | None = None,
        cache: KeyValueCache | None = None,
    ) -> Tensor:
        """Logits of the next token at every place.

        Args:
            tokens: (B, T) int64, T <= config.context.
            positions: (B, T) int64, each below config.context; None counts on from the cache, or from 0.
            doc_id: (B, T) integer ids, unique per document within a row: a token sees itself and the earlier
                ones of its document. None takes each row as one document.
            cache: what came before in these rows; the tokens are added to it.

        Returns:
            (B, T, V) logits.

        Raises:
            CourseError: the sequence is longer than the context.
        """
        past = 0 if cache is None else len(cache)
        T = tokens.shape[1]
        if self.config.context < past + T:
            raise CourseError(
                f"tokens: {past + T} a row, but the model's context is {self.config.context} tokens"
            )
        x = self.embedding(tokens)  # (B, T, width)
        if self.position is not None:
            learned = self.position.weight[past : past + T] if positions is None else self.position(positions)
            x = x + learned
        turning = None
        if self.rope is not None:
            angles = self.rope[:, past : past + T] if positions is None else self.rope[:, positions]
            turning = rotation(angles, 2 * self.config.heads, self._dtype())  # (2, [B,] T, 2H, D)
        if cache is None:
            attends = [self.plan(tokens, doc_id)] * len(self.blocks)
        else:
            cache.extend(torch.zeros_like(tokens) if doc_id is None else doc_id)
            attends = [cache.layer(number) for number in range(len(self.blocks))]
        training = self.training and torch.is_grad_enabled()
        trunk = self._fast_trunk if self._fast_trunk is not None and training else self._trunk
        return trunk(x, turning, attends)

    def compile_training(self) -> None:
        """Compile what the forward pass computes while training; evaluation has too many shapes."""
        self._fast_trunk = compiled(self._trunk)

    def _trunk(self, x: Tensor, turning: Tensor | None, attends: Sequence[Attend]) -> Tensor:
        """All that a compiler can take as one piece: (B, T, width) to (B, T, V)."""
        x = self.dropout(x)
        for block, attend in zip(self.blocks, attends, strict=True):
            x = block(x, turning, attend, self._dtype())
        return self.head(self.final_norm(x, x.dtype))  # (B, T, V)

    def _dtype(self) -> torch.dtype:
        return self.compute_dtype or self.embedding.weight.dtype
