"""The loss over a whole set: every counted target once, no chance involved."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

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
    with evaluating(model):
        for batch in batches:
            logits = model(batch.inputs, batch.positions, batch.doc_id)  # (B, T, V)
            total += masked_cross_entropy(logits, batch.targets, batch.keep, count=1).item()
            tokens += batch.count
    if tokens == 0:
        raise CourseError("batches: no token counts, so there is no loss; give a longer validation set")
    return Evaluation(total / tokens, tokens)


def target_nats(model: Transformer, batches: Iterable[Batch]) -> np.ndarray:
    """(M,) float64 loss of each counted target, in the order of the batches and of their rows.

    As `evaluate`, whose loss is the mean of these.
    """
    parts = [np.empty(0)]
    with evaluating(model):
        for batch in batches:
            logits = model(batch.inputs, batch.positions, batch.doc_id)  # (B, T, V)
            kept = slice(None) if batch.keep is None else batch.keep.flatten()
            nats = F.cross_entropy(
                logits.float().flatten(0, 1)[kept], batch.targets.flatten()[kept], reduction="none"
            )
            parts.append(nats.double().cpu().numpy())
    return np.concatenate(parts)


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Without dropout and gradients inside; the model's mode is as before behind it."""
    training = model.training
    model.eval()
    try:
        with torch.inference_mode():
            yield
    finally:
        model.train(training)
