"""One optimizer step, in the order in which it happens."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn.utils import clip_grads_with_norm_, get_total_norm

from lmcourse.distributed import Ranks, single
from lmcourse.errors import CourseError
from lmcourse.model import Transformer
from lmcourse.numbers import LossScaler
from lmcourse.objective import denominators, masked_cross_entropy, z_loss
from lmcourse.optimizers import set_learning_rate
from lmcourse.packing import Batch

# What became of a step. Only the first touches weights, moments, counters or the schedule.
STEPPED, OVERFLOW, SKIP, ROLL_BACK = "stepped", "overflow", "skip", "roll_back"
NOT_FINITE = "not finite"  # and nobody watches: an error

ALONE = single()


@dataclass(frozen=True)
class StepResult:
    """
    Attributes:
        outcome: STEPPED; OVERFLOW (the scaled gradients of float16 were not finite: repeat at a smaller
            scale); SKIP or ROLL_BACK, as the watch judged.
        loss: nats per counted token of all ranks, before the update, whatever the objective averages.
        z_loss: what the z-loss added to the objective; None where it is off.
        tokens: that counted, over all ranks.
        gradient_norm: global, before clipping.
        loss_scale: of float16 in this step; None where nothing is scaled.
        figures: of the watch, where it measured.
    """

    outcome: str
    loss: float
    z_loss: float | None
    tokens: int
    gradient_norm: float
    loss_scale: float | None = None
    figures: dict[str, Any] | None = None


def training_step(
    model: Transformer,
    optimizer: torch.optim.Optimizer,
    micro_batches: Sequence[Batch],
    factor: float,
    clip: float,
    *,
    ranks: Ranks = ALONE,
    scaler: LossScaler | None = None,
    watch: Any = None,
    z_weight: float = 0.0,
    average: str = "tokens",
    trace: Callable[[str], object] = lambda event: None,
) -> StepResult:
    """Update the model once, from all micro-batches of all ranks, as if they were one batch.

    Args:
        model: in training mode, without gradients.
        micro_batches: of this rank; of any sizes, and some, but not all, may have no token that counts.
        factor: share of each group's base learning rate in this step.
        clip: largest global norm of the gradient.
        ranks: the processes that train together.
        scaler: of float16 losses.
        watch: looks at gradients, judges the step and measures the update.
        z_weight: of the z-loss; 0 leaves it out.
        average: a key of `lmcourse.averages.AVERAGES`; all but "tokens" are for lessons.
        trace: is told the name of each event as it happens.

    Raises:
        CourseError: no token counts on any rank; or loss or gradient is not finite and nobody watches.
            Nothing is updated then.
    """
    trace("lr")
    set_learning_rate(optimizer, factor)

    trace("count")  # over the whole step, before any backward
    tokens = ranks.sum(sum(batch.count for batch in micro_batches))
    if tokens == 0:
        raise CourseError("micro_batches: no token of this step counts in the loss, so there is no gradient")
    counts = denominators(micro_batches, tokens, average, ranks.sum)

    loss = penalty = 0.0
    for batch, count in zip(micro_batches, counts, strict=True):
        trace("forward")
        logits = model(batch.inputs, batch.positions, batch.doc_id)  # (B, T, V)
        part = masked_cross_entropy(logits, batch.targets, batch.keep, count)
        loss = loss + _nats_per_token(part, logits, batch, tokens, average)
        if z_weight:
            part_z = z_weight * z_loss(logits, batch.keep, count)
            part, penalty = part + part_z, penalty + part_z.detach()
        trace("backward")
        (scaler.scale(part) if scaler else part).backward()

    trace("synchronize")
    loss, penalty = ranks.sum_gradients(model, float(loss), float(penalty))
    if scaler:
        trace("unscale")
        scaler.unscale(optimizer)

    parameters = list(model.parameters())
    norm = get_total_norm([p.grad for p in parameters if p.grad is not None])
    outcome, figures = _judged(loss, norm.item(), scaler, watch), None
    if outcome == STEPPED:
        if watch:
            watch.after_backward(model)
        trace("clip")
        clip_grads_with_norm_(parameters, clip, norm)
        trace("step")
        optimizer.step()
        figures = watch.after_step(model) if watch else None
    trace("zero")
    optimizer.zero_grad()
    if outcome == NOT_FINITE:
        at = f"{factor:g} of the learning rate"
        raise CourseError(f"loss {loss} with gradient norm {norm.item()} at {at}; try a smaller one")
    scale = scaler.value if scaler else None
    if scaler:
        trace("scale")
        if outcome in (STEPPED, OVERFLOW):
            scaler.update(outcome == OVERFLOW)
        else:
            scaler.discard()
    return StepResult(outcome, loss, penalty if z_weight else None, tokens, norm.item(), scale, figures)


def _nats_per_token(part: Tensor, logits: Tensor, batch: Batch, tokens: int, average: str) -> Tensor:
    """This micro-batch's share of the loss per token: `part`, unless the objective is another average."""
    if average == "tokens":
        return part.detach()
    return masked_cross_entropy(logits.detach(), batch.targets, batch.keep, tokens)


def _judged(loss: float, norm: float, scaler: LossScaler | None, watch: Any) -> str:
    """What is to become of the step. All ranks see the same two numbers and so decide the same."""
    finite = math.isfinite(loss) and math.isfinite(norm)
    if scaler and math.isfinite(loss) and not finite:
        return OVERFLOW
    if watch:
        return watch.judge(loss, norm)
    return STEPPED if finite else NOT_FINITE
