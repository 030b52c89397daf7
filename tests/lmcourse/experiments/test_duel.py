"""What week 4's text says of its recorded runs and paths holds for them; one run repeats."""

from __future__ import annotations

import math

import numpy as np

from lmcourse.corpora import StoryGrammar
from lmcourse.experiments.duel import OPTIMIZERS, RATES, SEEDS, duel_run, load_recorded_duel
from lmcourse.experiments.race_paths import LANDSCAPES, PATHS, load_race_paths
from lmcourse.figures import optimizers as pictures


def test_the_record_holds_the_whole_grid_between_floor_and_ceiling() -> None:
    recorded = load_recorded_duel()
    assert {(r["optimizer"], r["lr"], r["seed"]) for r in recorded} == {
        (name, lr, seed) for name in OPTIMIZERS for lr in RATES for seed in SEEDS
    }
    grammar = StoryGrammar()
    assert all(grammar.target_floor < r["loss"] < math.log(len(grammar.vocabulary) + 1) for r in recorded)


def test_a_run_repeats_and_learns() -> None:
    first, again, other = (duel_run("muon", 1e-2, seed, steps=6) for seed in (3, 3, 4))
    assert first == again != other
    assert first < duel_run("muon", 0.0, 3, steps=1)


def test_what_the_four_paths_show() -> None:
    paths = load_race_paths()
    lengths = {
        (land, path): np.linalg.norm(np.diff(points, axis=0), axis=1)
        for land, own in paths.items()
        for path, points in own.items()
    }
    start, end = (np.linalg.norm(paths["plateau"]["P2"][i]) for i in (0, -1))
    assert 1 - end / start < 0.05  # sgd hardly moves
    assert np.linalg.norm(paths["plateau"]["P1"][-1]) < 0.1  # adam and muon cross
    assert np.linalg.norm(paths["plateau"]["P3"][-1]) < 0.1
    for land in LANDSCAPES:
        np.testing.assert_allclose(lengths[land, "P3"][:140], 0.07, rtol=0.02)  # one constant length
    growing = lengths["plateau", "P4"]
    assert growing[:120].max() > 10 * growing[0]  # momentum gathers speed
    assert np.linalg.norm(paths["ravine"]["P1"][-1]) > 0.3  # not all are at the goal of the ravine


def test_figures_say_their_numbers() -> None:
    _, alt = pictures.race_figure(load_race_paths())
    assert all(path in alt for path in PATHS)
    _, alt = pictures.duel_figure(load_recorded_duel())
    assert alt.count("muon") == len(RATES) and alt.count("adamw") == len(RATES)
