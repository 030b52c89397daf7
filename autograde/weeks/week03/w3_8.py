"""W3.8, write the test for a loss scaler: right and wrong scalers, given to the student's test as a class."""

from __future__ import annotations

import torch
from torch import nn

from autograde.exercise import HiddenExercise
from autograde.weeks.week03.scalers import FAULTS, Scaler, as_functions, with_faults

EXERCISE = HiddenExercise("W3.8", test_driver="week03.try_scaler_test")

EXERCISE.accepts("the plain one", "")(as_functions(Scaler))


class _NewTensors(Scaler):
    def unscale_(self, params):
        params = list(params)
        self.found = not all(bool(p.grad.isfinite().all()) for p in params if p.grad is not None)
        for p in params:
            if p.grad is not None:
                p.grad = p.grad * (1.0 / self.scale)
        return self.found


class _ForgetsFound(Scaler):
    def update(self):
        super().update()
        self.found = False


class _SavesMore(Scaler):
    def state_dict(self):
        return {**super().state_dict(), "growth": self.growth, "version": 2}


EXERCISE.accepts(
    "one over the scale",
    "gradients may be multiplied by 1 / scale, which differs in the last digit if the scale is no power of "
    "two.",
)(as_functions(_NewTensors))
EXERCISE.accepts("forgets after update", "what was found may be forgotten after update.")(
    as_functions(_ForgetsFound)
)
EXERCISE.accepts("a larger state", "the state may hold more than scale and counter, under other names.")(
    as_functions(_SavesMore)
)

for _name, (_, _kind, _faults) in FAULTS.items():
    EXERCISE.rejects(_name, _kind)(as_functions(with_faults(**_faults)))


# Tests that a student could hand in.


def _parameters(*gradients: list[float]) -> list[nn.Parameter]:
    parameters = [nn.Parameter(torch.ones(len(g))) for g in gradients]
    for p, g in zip(parameters, gradients, strict=True):
        p.grad = torch.tensor(g)
    return parameters


def _play(scaler, overflows: str) -> list[float]:
    """The scale after each step; `overflows` has a letter a step: . clean, i infinity, n NaN."""
    scales = []
    for letter in overflows:
        bad = {".": 1.0, "i": float("inf"), "n": float("nan")}[letter]
        parameters = _parameters([scaler.scale], [scaler.scale * bad])
        scaler.unscale_(parameters)
        scaler.step(torch.optim.SGD(parameters, lr=0.1))
        scaler.update()
        scales.append(scaler.scale)
    return scales


def _scales(make) -> None:
    assert _play(make(8.0, 2.0, 0.5, 3), ".......") == [8, 8, 16, 16, 16, 32, 32]
    assert _play(make(8.0, 2.0, 0.5, 3), "..i..n...") == [8, 8, 4, 4, 4, 2, 2, 2, 4]
    assert _play(make(2.0, 2.0, 0.5, 3), "inin") == [1, 1, 1, 1]


def _gradients(make) -> None:
    scaler = make(1024.0, 2.0, 0.5, 10)
    assert float(scaler.scale_loss(torch.tensor(3.0))) == 3072
    parameters = _parameters([1024.0, -512.0], [256.0])
    assert not scaler.unscale_(parameters)
    assert torch.allclose(parameters[0].grad, torch.tensor([1.0, -0.5]), rtol=1e-6)
    scaler.step(torch.optim.SGD(parameters, lr=0.5))
    assert torch.allclose(parameters[0], torch.tensor([0.5, 1.25]), rtol=1e-6)
    assert torch.allclose(parameters[1], torch.tensor([0.875]), rtol=1e-6)


def _skips(make, values=("inf", "nan")) -> None:
    for value in map(float, values):
        scaler = make(16.0, 2.0, 0.5, 10)
        parameters = _parameters([1.0], [2.0])
        optimizer = torch.optim.Adam(parameters, lr=0.1)
        for bad in (1.0, value):
            parameters[0].grad, parameters[1].grad = torch.tensor([16.0]), torch.tensor([16.0 * bad])
            before = [p.detach().clone() for p in parameters]
            found = scaler.unscale_(parameters)
            assert bool(found) == (bad != 1.0)
            scaler.step(optimizer)
            scaler.update()
        assert all(torch.equal(p, b) for p, b in zip(parameters, before, strict=True))
        assert all(float(optimizer.state[p]["step"]) == 1 for p in parameters)


def _resumes(make) -> None:
    first = make(8.0, 2.0, 0.5, 3)
    _play(first, "i..")
    second = make(8.0, 2.0, 0.5, 3)
    second.load_state_dict(first.state_dict())
    assert _play(second, ".") == [8]


def test_scaler(make) -> None:
    for part in (_scales, _gradients, _skips, _resumes):
        part(make)


EXERCISE.set_reference(test_scaler)


@EXERCISE.variant("one long run", "everything in one run of twenty steps, compared with a list")
def _(make):
    scaler = make(8.0, 2.0, 0.5, 3)
    assert float(scaler.scale_loss(torch.ones(()))) == 8
    weight, other = nn.Parameter(torch.zeros(2)), nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.Adam([weight, other], lr=0.01)
    told, expected = [], [8, 8, 4, 4, 4, 8, 4, 4, 2, 1, 1, 1, 1, 1, 1, 2, 2, 2, 4]
    for k, letter in enumerate("..i...n.iiiin......"):
        if k == 5:
            state = scaler.state_dict()
            scaler = make(32.0, 2.0, 0.5, 3)
            scaler.load_state_dict(state)
        weight.grad = torch.tensor([3.0, -2.0]) * scaler.scale
        other.grad = torch.tensor([{".": 1.0, "i": float("inf"), "n": float("nan")}[letter] * scaler.scale])
        assert bool(scaler.unscale_([weight, other])) == (letter != ".")
        assert torch.allclose(weight.grad, torch.tensor([3.0, -2.0]), rtol=1e-6)
        steps = float(optimizer.state[weight]["step"]) if optimizer.state[weight] else 0.0
        scaler.step(optimizer)
        assert torch.allclose(weight.grad, torch.tensor([3.0, -2.0]), rtol=1e-6)
        now = float(optimizer.state[weight]["step"]) if optimizer.state[weight] else 0.0
        assert now == steps + (letter == "."), k
        scaler.update()
        told.append(scaler.scale)
    assert told == expected, told


@EXERCISE.variant(
    "parts in another order", "resume first, then the rest; plain SGD for the skipped step as well"
)
def _(make):
    for part in (_resumes, _skips, _gradients, _scales):
        part(make)
    _skips(make, ("-inf",))


def _without(*left_out) -> object:
    parts = [p for p in (_scales, _gradients, _skips, _resumes) if p not in left_out]

    def test(make):
        for part in parts:
            part(make)

    return test


EXERCISE.mutant("no growth and backing off", "Your test never looks at how the scale changes.")(
    _without(_scales)
)
EXERCISE.mutant("no gradients", "Your test never looks at the gradients or at what the optimizer gets.")(
    _without(_gradients)
)
EXERCISE.mutant("no skipped step", "Your test never looks at a step that is skipped.")(_without(_skips))
EXERCISE.mutant("no resume", "Your test never saves and loads.")(_without(_resumes))


@EXERCISE.mutant("infinities only", "Your test has infinities, but no NaN.")
def _(make):
    assert _play(make(8.0, 2.0, 0.5, 3), ".......") == [8, 8, 16, 16, 16, 32, 32]
    assert _play(make(8.0, 2.0, 0.5, 3), "..i..i...") == [8, 8, 4, 4, 4, 2, 2, 2, 4]
    assert _play(make(2.0, 2.0, 0.5, 3), "ii") == [1, 1]
    _gradients(make)
    _skips(make, ("inf",))
    _resumes(make)


@EXERCISE.mutant(
    "weights only", "Your test looks at the weights of a skipped step, not at the optimizer's state."
)
def _(make):
    _scales(make)
    _gradients(make)
    _resumes(make)
    scaler = make(16.0, 2.0, 0.5, 10)
    parameters = _parameters([16.0], [float("nan")])
    assert scaler.unscale_(parameters)
    scaler.step(torch.optim.SGD(parameters, lr=0.1))
    assert all(torch.equal(p, torch.ones(1)) for p in parameters)


@EXERCISE.mutant("always passes", "Your test passes every scaler: nothing in it can fail.")
def _(make):
    _play(make(8.0, 2.0, 0.5, 3), "...")


@EXERCISE.mutant("always fails", "Your test fails every scaler, also the right ones.")
def _(make):
    raise AssertionError("no")


@EXERCISE.mutant("default scale", "Your test expects the first scale to be 2^16, whatever it asked for.")
def _(make):
    assert make(8.0, 2.0, 0.5, 3).scale == 2**16


@EXERCISE.mutant(
    "names in the state", "Your test expects certain names in the state; only loading it is promised."
)
def _(make):
    _scales(make)
    assert set(make(8.0, 2.0, 0.5, 3).state_dict()) == {"scale", "clean"}
