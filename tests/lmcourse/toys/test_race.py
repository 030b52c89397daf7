"""The race tells the story that the text tells, and each rule is the one it is called after."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from lmcourse.errors import CourseError
from lmcourse.optimizers.rules.newton_schulz import newton_schulz
from lmcourse.toys.race import (
    LANDSCAPES,
    OPTIMIZERS,
    RATES,
    STEPS,
    decay_factor,
    orthogonalized,
    race,
)

DECAY_STARTS = 140  # step; the last 30 % of 200


def story(landscape: str, **settings):
    return race(landscape, RATES[landscape], **settings)


def amplitude(run) -> float:
    """Largest distance from the goal between the first time inside and the decay."""
    return float(run.distances[run.first_inside : DECAY_STARTS + 1].max())


@pytest.mark.parametrize("name", LANDSCAPES)
def test_gradients_are_those_of_the_losses(name: str) -> None:
    land = LANDSCAPES[name]
    rng = np.random.default_rng(1)
    for _ in range(5):
        w = land.lift(np.array(land.start)) + rng.normal(size=land.lift(np.array(land.start)).shape)
        step = 1e-6 * rng.normal(size=w.shape)
        measured = land.loss(w + step) - land.loss(w - step)
        assert measured == pytest.approx(2 * np.sum(land.gradient(w) * step), rel=1e-5, abs=1e-12)


@pytest.mark.parametrize("name", LANDSCAPES)
def test_goals_are_where_the_slope_is_zero_and_starts_lie_on_the_map(name: str) -> None:
    land = LANDSCAPES[name]
    goal = land.lift(np.array(land.goal))
    assert land.loss(goal) == pytest.approx(0, abs=1e-12) and np.abs(land.gradient(goal)).max() < 1e-12
    left, right, bottom, top = land.window
    for x, y in (land.start, land.goal):
        assert left < x < right and bottom < y < top
        assert land.project(land.lift(np.array([x, y]))) == pytest.approx([x, y])


def test_on_the_plateau_gradient_descent_stands_still_while_adam_and_muon_cross() -> None:
    runs = story("plateau")
    way = np.hypot(*LANDSCAPES["plateau"].start)
    assert np.linalg.norm(LANDSCAPES["plateau"].gradient(np.array([[2.6], [2.0]]))) < 0.007
    assert way - runs["sgd"].distances[-1] < 0.05 * way and runs["sgd"].arrived is None
    assert runs["adam"].first_inside < 60 and runs["adam"].arrived < DECAY_STARTS
    assert runs["muon"].first_inside < 60 and runs["muon"].arrived > DECAY_STARTS


def test_muon_is_at_the_bottom_first_and_then_swings_until_the_decay_adam_less() -> None:
    runs = story("plateau")
    rate = RATES["plateau"]["muon"]
    others = [runs[name].first_inside for name in ("sgd", "momentum", "adam")]
    assert all(other is None or runs["muon"].first_inside <= other for other in others)
    assert amplitude(runs["muon"]) >= 0.696 * rate
    assert amplitude(runs["adam"]) < amplitude(runs["muon"])
    never_settles = story("plateau", decay=False)["muon"]
    assert never_settles.arrived is None or never_settles.arrived > STEPS - 10


def test_momentum_overshoots_in_the_ravine() -> None:
    run = story("ravine")["momentum"]
    steep = np.array([np.cos(np.radians(30)), np.sin(np.radians(30))])
    across = run.points @ steep
    assert across[0] < -1.3 and across[:40].max() > 0.5  # through the bottom and up the other wall
    assert np.count_nonzero(np.diff(np.sign(across))) >= 3


def test_distances_left_in_the_ravine() -> None:
    runs = story("ravine")
    left = {name: runs[name].distances[-1] for name in ("sgd", "momentum", "adam")}
    assert left == pytest.approx({"sgd": 0.84, "momentum": 0.33, "adam": 0.76}, abs=0.01)
    assert runs["momentum"].length == pytest.approx(6.4, abs=0.05)


def test_when_each_one_arrives() -> None:
    """First step inside, and the step from which it stays; the paths have no randomness in them."""
    expected = {
        "ravine": {"muon": (58, 162)},
        "banana": {"sgd": (105, 105), "momentum": (52, 52), "adam": (76, 76), "muon": (44, 166)},
        "plateau": {"momentum": (130, 168), "adam": (40, 53), "muon": (32, 149)},
    }
    for landscape, arrivals in expected.items():
        runs = story(landscape)
        for name, steps in arrivals.items():
            assert (runs[name].first_inside, runs[name].arrived) == pytest.approx(steps, abs=2), (
                landscape,
                name,
            )


def test_rates_are_not_comparable_a_tuned_gradient_descent_arrives() -> None:
    assert race("ravine", {"sgd": 1.9})["sgd"].arrived is not None
    assert race("ravine", {"sgd": 2.3}, decay=False)["sgd"].left_map is not None


def test_muon_in_two_dimensions_is_a_normalized_step_of_seven_tenths() -> None:
    for name in ("ravine", "banana", "plateau"):
        run = race(name, {"muon": 0.1}, decay=False)["muon"]
        lengths = np.linalg.norm(np.diff(run.points, axis=0), axis=1)
        assert lengths == pytest.approx(np.full(STEPS, 0.0696), abs=0.0005)
    one = race("plateau", {"muon": 0.1, "normalized": 0.0696}, muon_beta=0.0, decay=False)
    assert one["muon"].points[:30] == pytest.approx(one["normalized"].points[:30], abs=0.01)


def test_on_a_matrix_muon_is_not_a_normalized_step() -> None:
    land = LANDSCAPES["matrix"]
    w = land.lift(np.array(land.start))
    gradient = np.linalg.svd(land.gradient(w), compute_uv=False)
    update = np.linalg.svd(orthogonalized(land.gradient(w)), compute_uv=False)
    assert gradient[0] / gradient[1] > 50
    assert update.min() > 0.65 and update.max() < 1.25
    runs = race("matrix", {"muon": 0.1, "normalized": 0.1})
    flat = {name: run.points[20, 1] - run.points[0, 1] for name, run in runs.items()}
    assert flat["muon"] > 5 * flat["normalized"] > 0


def test_orthogonalization_is_the_trainers() -> None:
    rng = np.random.default_rng(3)
    for shape in ((2, 1), (2, 2)):
        g = rng.normal(size=shape)
        theirs = newton_schulz(torch.from_numpy(g)[None] if shape[1] == 2 else torch.from_numpy(g.T)[None])[0]
        theirs = theirs.numpy() if shape[1] == 2 else theirs.numpy().T
        assert orthogonalized(g) == pytest.approx(theirs, abs=1e-6)
    assert not orthogonalized(np.zeros((2, 2))).any()


def test_the_same_settings_give_the_same_bytes_and_noise_goes_by_its_seed() -> None:
    a, b, c = (story("banana", noise=0.2, seed=seed) for seed in (1, 1, 2))
    for name in a:
        assert a[name].points.tobytes() == b[name].points.tobytes() != c[name].points.tobytes()


def test_a_path_that_flies_away_ends_instead_of_overflowing() -> None:
    run = race("banana", {"momentum": 5.0})["momentum"]
    assert run.left_map is not None and np.isnan(run.losses[run.left_map :]).all()
    assert run.arrived is None and np.isfinite(run.length)


def test_a_start_on_the_goal_stays_there_for_every_rule() -> None:
    runs = race("plateau", dict.fromkeys(OPTIMIZERS, 0.1), start=(0.0, 0.0), steps=20)
    assert all(run.arrived == 0 and run.length == 0 for run in runs.values())


def test_decay() -> None:
    assert [decay_factor(step, 200) for step in (0, 140, 170, 199)] == pytest.approx([1, 1, 0.5, 1 / 60])
    assert decay_factor(199, 200, decay=False) == 1


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: race("hill", {"sgd": 1.0}), "landscape.*'hill'"),
        (lambda: race("ravine", {"lion": 1.0}), "'lion'"),
        (lambda: race("ravine", {"sgd": 1.0}, beta=1.0), "beta"),
        (lambda: race("ravine", {"sgd": 1.0}, steps=0), "steps"),
    ],
)
def test_a_wrong_argument_is_named_in_one_line(call, words) -> None:
    with pytest.raises(CourseError, match=words) as caught:
        call()
    assert "\n" not in str(caught.value)
