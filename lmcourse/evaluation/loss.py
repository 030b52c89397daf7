"""The loss over a whole set: every counted target once, no chance involved."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import torch

from lmcourse.errors import CourseError
from lmcourse.model import Transformer
from lmcourse.objective import masked_cross_entropy
from lmcourse.packing.batch import Batch


@dataclass(frozen=True)
class Evaluation:
    """`loss` in nats per counted token, over `tokens` counted tokens."""

    loss: float
    tokens: int

    @property
    def perplexity(self) -> float:
        """The number of equally likely choices that would be as hard to guess."""
        return math.exp(min(self.loss, 700.0))  # exp overflows float64 above 709


def evaluate(model: Transformer, batches: Iterable[Batch]) -> Evaluation:
    """Sum of the losses over all batches by the number of counted tokens.

    Dropout is off meanwhile; the model's training mode is restored afterwards, and no generator moves.

    Args:
        model: in any mode.
        batches: the whole set; batches may be of unequal size.

    Raises:
        CourseError: no token counts.
    """
    total, tokens = 0.0, 0
    training = model.training
    model.eval()
    try:
        with torch.inference_mode():
            for batch in batches:
                logits = model(batch.inputs, batch.positions, batch.doc_id)  # (B, T, V)
                total += masked_cross_entropy(logits, batch.targets, batch.keep, count=1).item()
                tokens += batch.count
    finally:
        model.train(training)
    if tokens == 0:
        raise CourseError("batches: no token counts, so there is no loss; give a longer validation set")
    return Evaluation(total / tokens, tokens)
