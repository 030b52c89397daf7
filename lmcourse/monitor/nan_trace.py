"""Where a value that is not finite came from: rows, module, gradient, weights, moments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from lmcourse.objective import IGNORED, masked_cross_entropy
from lmcourse.packing import Batch


@dataclass(frozen=True)
class NanReport:
    """What was found, in the order in which one should look.

    Attributes:
        rows: of the step, counted over its micro-batches, whose own loss is not finite; row 0 is the first.
        module: the first place in the forward pass that made such a value from finite ones; "" for none.
        weights: parameters that hold such values themselves.
        gradient: the first parameter, in the order of the backward pass, whose gradient holds them; or "".
        moments: parameters whose optimizer state holds them.
        in_float32: whether the loss of the same rows is finite in float32; None where nothing was the matter
            with the forward pass.
    """

    rows: list[int] = field(default_factory=list)
    module: str = ""
    weights: list[str] = field(default_factory=list)
    gradient: str = ""
    moments: list[str] = field(default_factory=list)
    in_float32: bool | None = None

    def words(self) -> list[str]:
        """The findings, and what they speak for, a line each."""
        lines = [
            f"rows whose own loss is not finite: {_some(self.rows)}"
            if self.rows
            else "every row has a finite loss",
            f"first in the forward pass: {self.module}" if self.module else "the forward pass is finite",
            f"first in the backward pass: the gradient of {self.gradient}"
            if self.gradient
            else "the gradients are finite",
        ]
        if self.weights:
            lines.append(f"weights that are not finite: {_some(self.weights)}")
        if self.moments:
            lines.append(f"optimizer state that is not finite: {_some(self.moments)}")
        return [*lines, f"this speaks for {self.verdict()}"]

    def verdict(self) -> str:
        if self.weights or self.moments:
            return "an earlier update: the weights or moments were broken before; go back to a checkpoint"
        if self.in_float32:
            return "the number format: the same rows are finite in float32; compute this module in float32"
        if self.rows:
            return (
                "the model on these rows: look at them, and at the size of the activations before the module"
            )
        if self.gradient:
            return "the backward pass: gradients grew out of range; look at the attention logits and the rate"
        return "nothing lasting: it did not happen again"


def find_non_finite(
    model: nn.Module,
    optimizer: torch.optim.Optimizer | None,
    batches: Sequence[Batch],
    forward: Callable[[], AbstractContextManager[Any]] = nullcontext,
) -> NanReport:
    """Look again at a step that failed; gradients are read as they are, and nothing is changed.

    Args:
        model: the uncompiled transformer, with the gradients of the failed step where there are any.
        optimizer: None where there is none.
        batches: the micro-batches of the step.
        forward: the context of the run's precision.
    """
    names = {id(p): name for name, p in model.named_parameters()}
    rows: list[int] = []
    places: list[str] = []
    in_float32: bool | None = None
    devices = {p.device for p in model.parameters() if p.device.type == "cuda"}
    with torch.no_grad(), torch.random.fork_rng(devices=list(devices)):
        first_row = 0
        for batch in batches:
            with forward():
                bad = _bad_rows(model, batch, places)
            rows += [first_row + row for row in bad]
            if bad and in_float32 is not False:
                in_float32 = not _bad_rows(model, batch, [])
            first_row += len(batch.inputs)
    backward = [name for name, p in model.named_parameters() if p.grad is not None and not _finite(p.grad)]
    return NanReport(
        rows=rows,
        module=places[0] if places else "",
        weights=[name for name, p in model.named_parameters() if not _finite(p)],
        gradient=backward[-1] if backward else "",
        moments=[
            names[id(p)] for p, state in optimizer.state.items() if not all(map(_finite, state.values()))
        ]
        if optimizer
        else [],
        in_float32=in_float32,
    )


def _bad_rows(model: nn.Module, batch: Batch, places: list[str]) -> list[int]:
    """Rows of a batch whose loss is not finite; adds the first place where that began to `places`."""
    with ExitStack() as hooks:
        for name, module in model.named_modules():
            before, after = _hooks(name, places)
            hooks.callback(module.register_forward_pre_hook(before).remove)
            hooks.callback(module.register_forward_hook(after).remove)
        logits = model(batch.inputs, batch.positions, batch.doc_id)  # (B, T, V)
    keep = torch.ones_like(batch.targets, dtype=torch.bool) if batch.keep is None else batch.keep
    targets = batch.targets.masked_fill(~keep, IGNORED)
    losses = [
        masked_cross_entropy(row, target, kept)
        for row, target, kept in zip(logits, targets, keep, strict=True)
    ]
    return [row for row, loss in enumerate(losses) if not _finite(loss)]


def _hooks(name: str, places: list[str]) -> tuple[Callable[..., None], Callable[..., None]]:
    """Children report before parents; what reaches a child broken came from its parent's arithmetic."""

    def before(module: nn.Module, args: tuple[Any, ...]) -> None:
        if not places and not all(map(_finite, args)):
            parent = name.rpartition(".")[0] or "the model"
            places.append(f"{parent}, on the way into {name}")

    def after(module: nn.Module, args: tuple[Any, ...], output: Any) -> None:
        if not places and not _finite(output):
            places.append(name or "the model, after its last module")

    return before, after


def _finite(value: Any) -> bool:
    """Whether a tensor of floating type has only finite entries; anything else is."""
    return not (isinstance(value, Tensor) and value.is_floating_point()) or bool(value.isfinite().all())


def _some(items: Sequence[Any], most: int = 6) -> str:
    shown = ", ".join(map(str, items[:most]))
    return shown + (f" and {len(items) - most} more" if len(items) > most else "")
