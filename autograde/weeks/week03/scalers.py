"""Loss scalers with faults that can be switched on, as a class and as plain functions of a state."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

SMALLEST = 1.0


class Scaler:
    """The right one where no fault is set. Class attributes are the faults."""

    grows_always = False  # at every clean step
    never_grows = False
    never_backs_off = False
    below_one = False
    keeps_counter = False  # an overflow does not reset it
    counter_left_over = False  # growing does not reset it
    late_by_one = False  # grows after interval + 1 clean steps
    misses_nan = False
    first_only = False
    steps_anyway = False
    steps_with_zeros = False
    divides_again = False  # in step
    divides_never = False
    multiplies = False  # instead of dividing
    saves_counter = True
    saves_scale = True
    finds_nothing = False
    scale_factor = 1.0  # on what `scale_loss` multiplies by

    def __init__(self, scale=65_536.0, growth=2.0, backoff=0.5, interval=200):
        self.scale, self.growth, self.backoff, self.interval = float(scale), growth, backoff, interval
        self.clean = 0
        self.found = False

    def scale_loss(self, loss: Tensor) -> Tensor:
        return loss * (self.scale * self.scale_factor)

    def unscale_(self, params: Sequence[Tensor]) -> bool:
        gradients = [p.grad for p in params if p.grad is not None]
        looked_at = gradients[:1] if self.first_only else gradients
        self.found = any(self._bad(g) for g in looked_at) and not self.finds_nothing
        if not self.divides_never:
            for gradient in gradients:
                gradient.mul_(self.scale) if self.multiplies else gradient.div_(self.scale)
        return self.found

    def _bad(self, gradient: Tensor) -> bool:
        bad = gradient.isinf() if self.misses_nan else ~gradient.isfinite()
        return bool(bad.any())

    def step(self, optimizer: torch.optim.Optimizer) -> None:
        gradients = [
            p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None
        ]
        if self.divides_again:
            for gradient in gradients:
                gradient.div_(self.scale)
        if self.found and self.steps_with_zeros:
            for gradient in gradients:
                gradient.zero_()
        if not self.found or self.steps_anyway or self.steps_with_zeros:
            optimizer.step()

    def update(self) -> None:
        if self.found:
            if not self.never_backs_off:
                lower = self.scale * self.backoff
                self.scale = lower if self.below_one else max(SMALLEST, lower)
            if not self.keeps_counter:
                self.clean = 0
            return
        self.clean += 1
        wanted = 1 if self.grows_always else self.interval + self.late_by_one
        if self.clean >= wanted and not self.never_grows:
            self.scale *= self.growth
            if not self.counter_left_over:
                self.clean = 0

    def state_dict(self) -> dict[str, float]:
        return {"scale": self.scale, "clean": self.clean}

    def load_state_dict(self, state: dict[str, float]) -> None:
        if self.saves_scale:
            self.scale = float(state["scale"])
        if self.saves_counter:
            self.clean = int(state["clean"])


def with_faults(**faults: Any) -> type[Scaler]:
    return type("DynamicScaler", (Scaler,), faults)


FAULTS: dict[str, tuple[str, str, dict[str, Any]]] = {
    # name: note for W3.5, kind for W3.8, faults
    "grows at every step": (
        "Your scale grows at every clean step; it should after `interval` of them in a row.",
        "when the scale grows, and when it must not yet.",
        {"grows_always": True},
    ),
    "never grows": ("Your scale never grows.", "whether the scale grows at all.", {"never_grows": True}),
    "never backs off": (
        "Your scale stays where it is after an overflow, so the next step overflows as well.",
        "what an overflow does to the scale.",
        {"never_backs_off": True},
    ),
    "below one": (
        "Your scale falls below 1, where it shrinks gradients instead of helping them.",
        "many overflows in a row.",
        {"below_one": True},
    ),
    "counter kept at an overflow": (
        "Your counter of clean steps is not reset by an overflow: `interval` means steps in a row.",
        "clean steps before and after an overflow.",
        {"keeps_counter": True},
    ),
    "counter kept after growing": (
        "Your counter is not reset after growing, so the scale grows again at the very next step.",
        "more clean steps than one interval.",
        {"counter_left_over": True},
    ),
    "one step late": (
        "Your scale grows one step late: after exactly `interval` clean steps in a row.",
        "the exact step at which the scale grows.",
        {"late_by_one": True},
    ),
    "NaN not seen": (
        "Your unscale_ looks for infinities only; a NaN is an overflow too.",
        "the other value that is not finite.",
        {"misses_nan": True},
    ),
    "first parameter only": (
        "Your unscale_ looks at the first parameter only.",
        "several parameters, of which a later one overflows.",
        {"first_only": True},
    ),
    "steps anyway": (
        "Your step calls the optimizer although an overflow was found: infinities go into the weights.",
        "what an overflow does to the weights.",
        {"steps_anyway": True},
    ),
    "steps with zeros": (
        "Your step calls the optimizer with zeroed gradients: Adam's moments decay and its step counts on. A "
        "skipped step leaves the optimizer's state untouched.",
        "the state of the optimizer, not only the weights, after an overflow.",
        {"steps_with_zeros": True},
    ),
    "divides twice": (
        "Your gradients are divided twice, in unscale_ and again in step.",
        "the gradients that the optimizer gets: an optimizer like Adam hides their size.",
        {"divides_again": True},
    ),
    "never divides": (
        "Your unscale_ does not divide, so clipping and the optimizer see scaled gradients.",
        "the size of the gradients after unscale_.",
        {"divides_never": True},
    ),
    "multiplies": (
        "Your unscale_ multiplies by the scale instead of dividing.",
        "the gradients after unscale_, with a scale other than 1.",
        {"multiplies": True},
    ),
    "counter not saved": (
        "Your state lacks the counter of clean steps, so a resumed run grows its scale at another step.",
        "saving in the middle of an interval.",
        {"saves_counter": False},
    ),
    "scale not saved": (
        "Your state does not bring the scale back: a resumed run begins with the first scale again.",
        "saving after the scale has changed.",
        {"saves_scale": False},
    ),
    "finds nothing": (
        "Your unscale_ never reports an overflow.",
        "what unscale_ returns.",
        {"finds_nothing": True},
    ),
    "loss scaled by half": (
        "Your scale_loss multiplies by something other than the scale.",
        "what scale_loss multiplies by.",
        {"scale_factor": 0.5},
    ),
}


def as_functions(make: type[Scaler]) -> Callable:
    """The same scaler as `(method, state, *args) -> (state, answer)`, so that it can stay on this side."""

    def run(method: str, state: dict, *args: Any) -> tuple[dict, Any]:
        if method == "new":
            scaler = make(*args)
            return _state(scaler), None
        scaler = make(1.0, float(state["growth"]), float(state["backoff"]), int(state["interval"]))
        scaler.scale, scaler.clean = float(state["scale"]), int(state["clean"])
        scaler.found = bool(state["found"])
        answer = _METHODS[method](scaler, *args)
        return _state(scaler), answer

    return run


def _state(scaler: Scaler) -> dict[str, Any]:
    names = ("scale", "growth", "backoff", "interval", "clean", "found")
    return {name: getattr(scaler, name) for name in names}


class _Holder:
    """Stands for a parameter with this gradient, and for an optimizer with these."""

    def __init__(self, grad: Tensor) -> None:
        self.grad = grad


class _Remembers:
    def __init__(self, params: list[_Holder]) -> None:
        self.param_groups = [{"params": params}]
        self.stepped = False

    def step(self) -> None:
        self.stepped = True


def _unscale(scaler: Scaler, gradients: list[Tensor]) -> tuple[list[Tensor], bool]:
    holders = [_Holder(g.clone()) for g in gradients]
    found = scaler.unscale_(holders)
    return [h.grad for h in holders], bool(found)


def _step(scaler: Scaler, gradients: list[Tensor]) -> tuple[bool, list[Tensor]]:
    holders = [_Holder(g.clone()) for g in gradients]
    optimizer = _Remembers(holders)
    scaler.step(optimizer)
    return optimizer.stepped, [h.grad for h in holders]


def _load(scaler: Scaler, state: dict) -> None:
    scaler.load_state_dict(dict(state))


_METHODS: dict[str, Callable] = {
    "scale": lambda scaler: scaler.scale,
    "scale_loss": lambda scaler: float(scaler.scale_loss(torch.ones((), dtype=torch.float64))),
    "unscale_": _unscale,
    "step": _step,
    "update": lambda scaler: scaler.update(),
    "state_dict": lambda scaler: scaler.state_dict(),
    "load_state_dict": _load,
}
