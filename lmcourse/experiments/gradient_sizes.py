"""How large the gradients of a small model are, number by number, and what of them float16 can hold."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from lmcourse.corpora import MarkovCorpus
from lmcourse.model import Transformer, TransformerConfig
from lmcourse.numbers import FORMATS
from lmcourse.objective import masked_cross_entropy
from lmcourse.packing import sample_windows
from lmcourse.threads import one_thread
from lmcourse.trainer.batches import generator_for

B, T, V = 8, 64, 64
WARM_STEPS = 60


@dataclass(frozen=True)
class GradientSizes:
    """
    Attributes:
        exponents: (n,) float64, log2 of the absolute value of each gradient that is not zero.
        zeros: share of gradients that are zero as they are.
    """

    exponents: np.ndarray
    zeros: float

    def lost(self, scale: float = 1.0) -> float:
        """Share of the nonzero gradients that become zero in float16, after a factor on the loss."""
        values = torch.from_numpy(np.exp2(self.exponents) * scale)
        return float((values.half() == 0).double().mean())

    def coarse(self, scale: float = 1.0) -> float:
        """Share that float16 holds with fewer digits than it has, as subnormal numbers."""
        size = np.exp2(self.exponents) * scale
        fp16 = FORMATS["fp16"]
        return float(((size < fp16.min_normal) & (size >= fp16.min_subnormal / 2)).mean())

    def overflow(self, scale: float = 1.0) -> float:
        """Share that is too large for float16."""
        return float((np.exp2(self.exponents) * scale > FORMATS["fp16"].max).mean())


def gradient_sizes(seed: int = 0) -> GradientSizes:
    """Gradients of one batch, after a few steps of training, all parameters together, in float32."""
    corpus = MarkovCorpus(vocab_size=V)
    stream = torch.from_numpy(corpus.sample(40_000, np.random.default_rng(seed)))
    model = Transformer(TransformerConfig(V, T, layers=2, heads=2, width=32), seed)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    with one_thread():
        for step in range(WARM_STEPS):
            _loss(model, stream, seed, step).backward()
            optimizer.step()
            optimizer.zero_grad()
        _loss(model, stream, seed, WARM_STEPS).backward()
    values = torch.cat([p.grad.flatten() for p in model.parameters()]).abs().double()
    nonzero = values[values > 0]
    return GradientSizes(nonzero.log2().numpy(), float((values == 0).double().mean()))


def _loss(model: Transformer, stream: Tensor, seed: int, step: int) -> Tensor:
    inputs, targets = sample_windows(stream, B, T, generator_for(seed, step))
    return masked_cross_entropy(model(inputs), targets)
