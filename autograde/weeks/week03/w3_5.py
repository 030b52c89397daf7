"""W3.5, a dynamic loss scaler: scale, unscale once, look for infinities, skip, back off, grow."""

from __future__ import annotations

import torch
from torch import Tensor

from autograde import expect
from autograde.exercise import Answer, Draw, HiddenExercise
from autograde.weeks.week03.scalers import FAULTS, Scaler, with_faults
from lmcourse.checks.drivers import week03 as drivers

EXERCISE = HiddenExercise("W3.5")

EXERCISE.set_reference(DynamicScaler=Scaler)


class _ByNorm:
    """Looks at one sum instead of at every number, keeps exponents instead of scales."""

    def __init__(self, scale=65_536.0, growth=2.0, backoff=0.5, interval=200):
        self._scale = torch.tensor(float(scale), dtype=torch.float64)
        self.rules = (growth, backoff, interval)
        self.run = 0
        self.bad = None

    @property
    def scale(self):
        return self._scale.item()

    def scale_loss(self, loss):
        return self._scale.to(loss.dtype) * loss

    def unscale_(self, params):
        total = torch.zeros(())
        for p in params:
            if p.grad is not None:
                p.grad = p.grad / self.scale
                total = total + (p.grad * 0).sum()
        self.bad = not bool(total == 0)
        return self.bad

    def step(self, optimizer):
        if not self.bad:
            optimizer.step()

    def update(self):
        growth, backoff, interval = self.rules
        self.run = 0 if self.bad else self.run + 1
        if self.bad:
            self._scale = torch.clamp(self._scale * backoff, min=1.0)
        elif self.run == interval:
            self._scale, self.run = self._scale * growth, 0

    def state_dict(self):
        return {"s": self.scale, "n": self.run}

    def load_state_dict(self, state):
        self._scale, self.run = torch.tensor(state["s"], dtype=torch.float64), state["n"]


EXERCISE.variant("one sum", "finds what is not finite by a sum of zeros; new gradient tensors")(_ByNorm)


class _Reciprocal(Scaler):
    def unscale_(self, params):
        params = list(params)
        self.found = not all(bool(torch.isfinite(p.grad).all()) for p in params if p.grad is not None)
        for p in params:
            if p.grad is not None:
                p.grad.mul_(1.0 / self.scale)
        return torch.tensor(self.found)

    def update(self):
        super().update()
        self.found = False


EXERCISE.variant("reciprocal", "multiplies by one over the scale, reports a tensor")(_Reciprocal)

for _name, (_note, _, _faults) in FAULTS.items():
    EXERCISE.mutant(_name, _note)(with_faults(**_faults))


# Properties. What an honest scaler does is computed here, step by step.


def _weights(draw: Draw) -> list[Tensor]:
    return [torch.randn(shape, generator=draw.generator()) for shape in ((3,), (2, 4))]


def _steps(draw: Draw, overflows: set[int], n: int) -> list[tuple[list[Tensor], bool]]:
    generator = draw.generator(1)
    shapes = [w.shape for w in _weights(draw)]
    return [([0.1 * torch.randn(s, generator=generator) for s in shapes], k in overflows) for k in range(n)]


def _scales(
    start: float, overflows: set[int], n: int, interval: int, growth: float, backoff: float
) -> list[float]:
    """The scale after each of n steps."""
    scale, clean, path = start, 0, []
    for k in range(n):
        clean = 0 if k in overflows else clean + 1
        if k in overflows:
            scale = max(1.0, scale * backoff)
        elif clean == interval:
            scale, clean = scale * growth, 0
        path.append(scale)
    return path


def _run(answer: Answer, draw: Draw, overflows: set[int], n: int, settings: dict, **more) -> list[dict]:
    arguments = (_weights(draw), _steps(draw, overflows, n), settings)
    return answer.drive("week03.scaler_run", *arguments, *more.values())


def _compare_scales(
    answer: Answer, draw: Draw, overflows: set[int], n: int, settings: dict, words: str
) -> None:
    case = expect.case(draw, words, **settings)
    trace = _run(answer, draw, overflows, n, settings)
    right = _scales(
        settings["scale"], overflows, n, settings["interval"], settings["growth"], settings["backoff"]
    )
    for number, (told, wanted) in enumerate(zip(trace, right, strict=True)):
        before = settings["scale"] if number == 0 else right[number - 1]
        if told["factor"] != before:
            reason = f"scale_loss multiplied by {told['factor']:g} in step {number + 1} instead of {before:g}"
            raise expect.wrong(reason, case)
        if told["scale"] != wanted:
            raise expect.wrong(
                f"the scale after step {number + 1} is {told['scale']:g} instead of {wanted:g}", case
            )


SETTINGS = {"scale": 1024.0, "growth": 2.0, "backoff": 0.5, "interval": 4}


@EXERCISE.property("the scale grows after `interval` clean steps in a row", 4)
def _(answer: Answer, draw: Draw) -> None:
    _compare_scales(answer, draw, set(), 13, SETTINGS, "no overflow")
    _compare_scales(answer, draw, {2, 6}, 14, SETTINGS, "overflows in steps 3 and 7")
    other = {"scale": 8.0, "growth": 3.0, "backoff": 0.25, "interval": 1}
    _compare_scales(answer, draw, {1}, 5, other, "overflow in step 2")


@EXERCISE.property("the scale backs off at an overflow, never below 1", 3)
def _(answer: Answer, draw: Draw) -> None:
    _compare_scales(answer, draw, {0, 1}, 3, SETTINGS, "overflows in steps 1 and 2")
    _compare_scales(answer, draw, set(range(6)), 7, {**SETTINGS, "scale": 4.0}, "six overflows from scale 4")


@EXERCISE.property("gradients are unscaled once", 3)
def _(answer: Answer, draw: Draw) -> None:
    case = expect.case(draw, **SETTINGS)
    steps = _steps(draw, set(), 3)
    trace = _run(answer, draw, set(), 3, SETTINGS)
    for number, ((gradients, _), told) in enumerate(zip(steps, trace, strict=True)):
        for got, right in zip(told["gradients"], gradients, strict=True):
            hint = "unscale_ divides by the scale, and nothing else does."
            expect.close(
                got,
                right.double(),
                what=f"a gradient after unscale_, step {number + 1},",
                case=case,
                hint=hint,
            )
    right = _honest(draw, set(), 3, SETTINGS)
    for got, wanted in zip(trace[-1]["first"], right[-1]["first"], strict=True):
        expect.close(got, wanted.double(), terms=3, what="Adam's first moment", case=case,
                     hint="The optimizer must get the unscaled gradients.")  # fmt: skip


@EXERCISE.property("a step that overflows leaves weights and optimizer untouched", 4)
def _(answer: Answer, draw: Draw) -> None:
    case = expect.case(draw, "overflows in steps 3 and 4", **SETTINGS)
    trace = _run(answer, draw, {2, 3}, 6, SETTINGS)
    found = [told["found"] for told in trace]
    if found != [False, False, True, True, False, False]:
        raise expect.wrong(f"unscale_ reported {found}; the overflows are an infinity and a NaN", case,
                           "It looks at every number of every gradient.")  # fmt: skip
    for number in (2, 3):
        for name in ("weights", "first"):
            for old, new in zip(trace[number - 1][name], trace[number][name], strict=True):
                if old.shape != new.shape or not torch.equal(old, new):
                    part = "the weights" if name == "weights" else "Adam's moments"
                    raise expect.wrong(f"{part} changed in step {number + 1}, which overflowed", case,
                                       "Do not call the optimizer in such a step.")  # fmt: skip
        if trace[number]["steps"] != trace[1]["steps"]:
            raise expect.wrong("the optimizer counted a step that was skipped", case)
    if trace[-1]["steps"] != [4.0, 4.0]:
        raise expect.wrong(f"{trace[-1]['steps'][0]:g} of 6 steps were taken instead of 4", case)


@EXERCISE.property("saved and loaded in the middle of an interval", 2)
def _(answer: Answer, draw: Draw) -> None:
    case = expect.case(draw, "saved after 7 of 12 steps, overflows in steps 1 and 2", **SETTINGS)
    trace = _run(answer, draw, {0, 1}, 12, SETTINGS, clip=1e9, interrupt_after=7)
    right = _scales(1024.0, {0, 1}, 12, 4, 2.0, 0.5)
    for number, (told, wanted) in enumerate(zip(trace, right, strict=True)):
        if told["scale"] != wanted:
            hint = "The state needs the scale and the number of clean steps so far."
            raise expect.wrong(
                f"the scale after step {number + 1} is {told['scale']:g} instead of {wanted:g}", case, hint
            )


def _honest(draw: Draw, overflows: set[int], n: int, settings: dict) -> list[dict]:
    return drivers.scaler_run({}, _weights(draw), _steps(draw, overflows, n), settings, scaler=Scaler)
