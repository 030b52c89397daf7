"""What a step asks before it updates the model, and what a run keeps of the steps that went wrong."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import torch

from lmcourse.errors import CourseError
from lmcourse.monitor.monitor import Monitor, data_hash
from lmcourse.monitor.nan_trace import find_non_finite
from lmcourse.monitor.spikes import SpikeRule
from lmcourse.packing import Batch
from lmcourse.trainer.step import STEPPED
from lmcourse.trainer.traces import FOLDER, Trace, keep_trace, may_keep

EVENTS, FIGURES = "events.jsonl", "monitor.jsonl"  # in the folder of a run


class Watch:
    """Stands between the gradients and the update; `training_step` calls it as its `watch`."""

    def __init__(
        self,
        model: torch.nn.Module,
        optimizer: torch.optim.Optimizer,
        rule: SpikeRule,
        monitor: Monitor,
        folder: Path,
        clip: float,
        forward: Callable[[], AbstractContextManager[Any]] = nullcontext,
    ) -> None:
        """
        Args:
            model: the transformer itself, not a compiled wrapper.
            rule, monitor: parts of the training state.
            folder: of the run.
            clip: largest norm that the step lets through.
            forward: context of the run's precision.
        """
        self._model, self._optimizer, self._forward = model, optimizer, forward
        self._rule, self._monitor = rule, monitor
        self._folder, self._clip = folder, clip
        self._number, self._norm = 0, 0.0
        self._batches: Sequence[Batch] = ()

    def begin(self, step: int, number: int, micro_batches: Sequence[Batch]) -> None:
        """Before a step; `number` is that of its batch, from 1."""
        self._number, self._batches = number, micro_batches
        self._monitor.begin(step, micro_batches)

    def judge(self, loss: float, norm: float) -> str:
        """What is to become of the step: STEPPED, "skip" or "roll_back"; keeps the batch of a NaN."""
        self._norm = norm
        verdict = self._rule.judge(loss, norm)
        if not math.isfinite(loss) or not math.isfinite(norm):
            self._keep_trace(loss, norm)
        return STEPPED if verdict == "ok" else verdict

    def after_backward(self, model: torch.nn.Module) -> None:
        self._monitor.after_backward(self._norm, self._clip)

    def after_step(self, model: torch.nn.Module) -> dict[str, Any] | None:
        return self._monitor.after_step()

    def event(self, outcome: str, step: int, loss: float, norm: float) -> dict[str, Any]:
        """What events.jsonl says of a batch that was not trained on, or only as an exception."""
        return {
            "outcome": outcome,
            "step": step,
            "batch": self._number,
            "data_hash": data_hash(self._batches),
            "loss": loss,
            "gradient_norm": norm,
            "reason": self._rule.reason,
        }

    def _keep_trace(self, loss: float, norm: float) -> None:
        if not may_keep(self._folder):
            return
        report = find_non_finite(self._model, self._optimizer, self._batches, self._forward)
        keep_trace(self._folder, Trace(self._number, loss, norm, report, self._batches))


def described(event: dict[str, Any]) -> str:
    """An event for the person who watches."""
    line = f"step {event['step']}: batch {event['batch']} passed over, {event['reason']}"
    back = event.get("back_to_step")
    return line if back is None else f"{line}; back to step {back}, past everything since then"


def give_up(step: int, reason: str, folder: Path) -> CourseError:
    """The end of a run that cannot be mended by passing over data."""
    traces = f"; where it began: lmcourse trace {folder}" if (folder / FOLDER).is_dir() else ""
    return CourseError(
        f"step {step}: {reason}, and going back does not help or is not possible; try a smaller learning "
        f"rate or a longer warm-up{traces}"
    )
