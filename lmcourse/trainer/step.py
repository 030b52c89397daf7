"""One optimizer step, in the order in which it happens."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from lmcourse.errors import CourseError
from lmcourse.model import Transformer
from lmcourse.objective import masked_cross_entropy
from lmcourse.packing import Batch


@dataclass(frozen=True)
class StepResult:
    loss: float  # nats per counted token, before the update
    tokens: int  # that counted
    gradient_norm: float  # before clipping


def training_step(
    model: Transformer,
    optimizer: torch.optim.Optimizer,
    micro_batches: Sequence[Batch],
    lr: float,
    clip: float,
) -> StepResult:
    """Update the model once, from all micro-batches, as if they were one batch.

    Args:
        model: in training mode, without gradients.
        micro_batches: of any sizes; some, but not all, may have no token that counts.
        lr: learning rate of this step, for all groups.
        clip: largest global norm of the gradient.

    Raises:
        CourseError: no token counts, or the loss or the gradient is not finite; nothing is updated then.
    """
    for group in optimizer.param_groups:
        group["lr"] = lr

    total_tokens = sum(batch.count for batch in micro_batches)  # of the whole step, before any backward
    if total_tokens == 0:
        raise CourseError("micro_batches: no token of this step counts in the loss, so there is no gradient")

    loss = 0.0
    for batch in micro_batches:
        logits = model(batch.inputs, batch.positions, batch.mask)  # (B, T, V)
        part = masked_cross_entropy(logits, batch.targets, batch.keep, count=total_tokens)
        part.backward()
        loss += part.item()

    norm = float(torch.nn.utils.clip_grad_norm_(model.parameters(), clip))
    if not math.isfinite(loss) or not math.isfinite(norm):
        optimizer.zero_grad()
        raise CourseError(f"loss {loss} with gradient norm {norm} at learning rate {lr:g}; try a smaller one")

    optimizer.step()
    optimizer.zero_grad()
    return StepResult(loss, total_tokens, norm)
