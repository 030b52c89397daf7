"""Week 3's own machinery: numbers that make rounding slip, the honest scaler against torch's, chance."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from autograde.exercise import Draw
from autograde.judge.local import LocalAnswer
from autograde.weeks import hidden
from autograde.weeks.week03 import floats
from autograde.weeks.week03.scalers import Scaler, as_functions
from lmcourse.checks.drivers import week03 as drivers


def test_neighbors_are_numbers_of_the_format_on_either_side() -> None:
    x = floats.random_bits(np.random.default_rng(0), 20_000)
    x = x[x.isfinite() & (x.abs() < 1e38) & (x.abs() > 1e-37)]
    toward, away = floats.neighbors(x)
    for n in (toward, away):
        assert torch.equal(n, n.bfloat16().float())
    assert bool((toward.abs() <= x.abs()).all()) and bool((away.abs() >= x.abs()).all())
    nearest = floats.nearest(x)
    assert bool(((nearest == toward) | (nearest == away)).all())


def test_ties_are_ties_and_exact_numbers_exact() -> None:
    rng = np.random.default_rng(1)
    x = floats.ties(rng, 2_000)
    x = x[(x.abs() < 1e38) & (x.abs() > 1e-37)]
    toward, away = floats.neighbors(x)
    assert torch.equal((x.double() - toward.double()).abs(), (away.double() - x.double()).abs())
    exact = floats.exact(rng, 2_000)
    assert torch.equal(exact, floats.nearest(exact))


def test_rounding_by_chance_never_fails_by_chance() -> None:
    exercise = hidden("W3.3")
    for seed in range(40):
        answer = LocalAnswer(exercise, exercise.reference.names)
        for prop in exercise.properties:
            prop.check(answer, Draw(seed))


@pytest.mark.parametrize("letters", [".......", "o..o.", "....o......", "ooo"])
def test_the_honest_scaler_is_torchs(letters: str) -> None:
    """On one parameter, with SGD, step by step: scale, weights, and what was found."""
    ours = drivers.scaler_run(
        {},
        [torch.tensor([1.0, -2.0])],
        [([torch.tensor([0.5, 0.25])], letter == "o") for letter in letters],
        {"scale": 1024.0, "growth": 2.0, "backoff": 0.5, "interval": 3},
        scaler=Scaler,
    )
    theirs = torch.amp.GradScaler("cpu", init_scale=1024.0, growth_interval=3)
    weight = torch.nn.Parameter(torch.tensor([1.0, -2.0]))
    optimizer = torch.optim.Adam([weight], lr=0.01)
    for letter, told in zip(letters, ours, strict=True):
        weight.grad = torch.tensor([0.5, 0.25]) * theirs.scale(torch.ones(())).item()
        if letter == "o":
            weight.grad[0] = float("inf")
        theirs.unscale_(optimizer)
        theirs.step(optimizer)
        theirs.update()
        assert told["scale"] == theirs.get_scale()
        assert torch.equal(told["weights"][0], weight.detach())


def test_a_scaler_of_functions_acts_as_the_class() -> None:
    """The wrapped one that a student's test gets, against the class itself."""
    seen = []
    drivers.try_scaler_test({"test_scaler": seen.append}, as_functions(Scaler))
    steps = [([torch.tensor([0.5]), torch.tensor([2.0, 1.0])], letter == "o") for letter in "..o...o....."]
    weights = [torch.ones(1), torch.zeros(2)]
    settings = {"scale": 64.0, "growth": 2.0, "backoff": 0.5, "interval": 2}
    runs = [
        drivers.scaler_run({}, weights, steps, settings, interrupt_after=5, scaler=make)
        for make in (Scaler, seen[0])
    ]
    for direct, wrapped in zip(*runs, strict=True):
        assert direct["scale"] == wrapped["scale"] and direct["found"] == wrapped["found"]
        assert all(torch.equal(a, b) for a, b in zip(direct["weights"], wrapped["weights"], strict=True))


def test_a_trace_of_types_sees_the_step_as_handed_out() -> None:
    exercise = hidden("W3.7")
    handed_out = next(m for m in exercise.mutants if m.name == "as handed out")
    generator = torch.Generator().manual_seed(0)
    weights = (torch.randn(5, 4, generator=generator), torch.randn(4, 5, generator=generator))
    batch = tuple(torch.randint(5, (2, 2, 3), generator=generator))
    told = LocalAnswer(exercise, handed_out.names).drive("week03.mixed_step", weights, [batch], 0.1)["told"]
    assert told["parameters"] == told["loss"] == told["gradients"] == "bfloat16"
    assert told["autocast in backward"] == told["autocast in step"] == "on"
