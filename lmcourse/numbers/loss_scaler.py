"""Dynamic loss scaling, so that small gradients survive float16."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from lmcourse.errors import CourseError

SMALLEST = 1.0


class LossScaler:
    """Multiplies the loss so that gradients lie within float16's range, and divides them again (Micikevicius
    et al. 2018, arXiv:1710.03740).

    A step: `scale` each micro-batch's loss before its backward; with several ranks, sum the gradients;
    `unscale` once; clip; step, unless `unscale` found something that is not finite; `update`. A step that
    overflowed is not taken and halves the scale; `interval` steps without overflow in a row double it.

    Args:
        initial: the first scale.
        growth, backoff: factors on the scale.
        interval: steps without overflow before it grows.
    """

    def __init__(
        self, initial: float = 2.0**16, growth: float = 2.0, backoff: float = 0.5, interval: int = 2000
    ) -> None:
        if not (initial >= SMALLEST and growth > 1 and 0 < backoff < 1 and interval >= 1):
            raise CourseError(
                "loss scaler: expected initial >= 1, growth > 1, 0 < backoff < 1 and interval >= 1, got "
                f"{initial}, {growth}, {backoff} and {interval}"
            )
        self.value = initial
        self.clean = 0  # steps since the last overflow or growth
        self.overflows = 0  # in the whole run
        self._growth, self._backoff, self._interval = growth, backoff, interval
        self._unscaled: bool | None = None  # what `unscale` found in this step

    def scale(self, loss: Tensor) -> Tensor:
        """The loss to call backward on."""
        return loss * self.value

    @torch.no_grad()
    def unscale(self, optimizer: torch.optim.Optimizer) -> bool:
        """Divide the gradients of the optimizer's parameters by the scale, in place.

        Returns:
            Whether an infinity or NaN is among them.

        Raises:
            CourseError: called twice in a step; the second division would leave the gradients far too small.
        """
        if self._unscaled is not None:
            raise CourseError("loss scaler: unscale was called twice in this step; call update in between")
        finite = []
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    parameter.grad.mul_(1 / self.value)
                    finite.append(parameter.grad.isfinite().all())
        self._unscaled = bool(finite) and not bool(torch.stack(finite).all())
        return self._unscaled

    def update(self, overflow: bool | None = None) -> None:
        """End the step and adjust the scale.

        Args:
            overflow: whether the step was left out because of its scaled gradients; None takes what `unscale`
                found.

        Raises:
            CourseError: gradients that are not finite at the smallest scale, 1: scaling is not the cause.
        """
        if overflow is None:
            if self._unscaled is None:
                raise CourseError("loss scaler: update without unscale; nobody looked for infinities")
            overflow = self._unscaled
        self._unscaled = None
        if not overflow:
            self.clean += 1
            if self.clean == self._interval:
                self.value, self.clean = self.value * self._growth, 0
            return
        if self.value <= SMALLEST:
            raise CourseError(
                "loss scaler: the gradient is not finite even at scale 1, so the model has diverged; "
                "try a smaller learning rate, or bf16"
            )
        self.value = max(SMALLEST, self.value * self._backoff)
        self.clean, self.overflows = 0, self.overflows + 1

    def discard(self) -> None:
        """End a step that is left out for another reason: as if it had not been tried."""
        self._unscaled = None

    def state_dict(self) -> dict[str, Any]:
        """At a step boundary."""
        return {"value": self.value, "clean": self.clean, "overflows": self.overflows}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue as if never stopped."""
        self.value, self.clean, self.overflows = state["value"], state["clean"], state["overflows"]
