"""What week 2 says of a forgotten division holds in the recorded runs and in short runs of other seeds."""

from __future__ import annotations

import json
import math

import pytest

from lmcourse.errors import CourseError
from lmcourse.experiments import accumulation, records


@pytest.mark.slow
@pytest.mark.parametrize("seed", [11, 12])
def test_adamw_hides_the_mistake_and_sgd_shows_it(seed: int) -> None:
    runs = accumulation.accumulation_experiment(seed, steps=80)
    for setup in ("adamw", "adamw_clip"):
        assert abs(runs[f"{setup}_right"].final - runs[f"{setup}_forgot"].final) < 0.02
    assert not runs["sgd_forgot"].final < runs["sgd_right"].final + 0.05
    assert runs["adamw_clip_forgot"].clipped > runs["adamw_clip_right"].clipped + 0.3


def test_every_recorded_seed_tells_the_same_story() -> None:
    recorded = accumulation.load_recorded_accumulation()
    assert len(recorded) >= 5
    for runs in recorded:
        final = {name: run["final"] for name, run in runs.items()}
        assert accumulation.floor() < final["sgd_right"] < accumulation.floor() + 0.05
        assert abs(final["adamw_right"] - final["adamw_forgot"]) < 1e-3
        assert abs(final["adamw_clip_right"] - final["adamw_clip_forgot"]) < 1e-3
        assert final["sgd_forgot"] > final["sgd_right"] + 0.2
        assert runs["adamw_clip_right"]["clipped"] < 0.1 and runs["adamw_clip_forgot"]["clipped"] > 0.9


def test_a_run_that_blew_up_has_an_infinite_loss() -> None:
    assert accumulation.Training((2.0, math.nan), 0.0).final == math.inf
    assert accumulation.Training((2.0, 1e30), 0.0).final == math.inf
    assert accumulation.Training((2.0, 4.0), 0.0).final == 3.0


def test_records_are_found_above_the_working_folder_and_damage_is_said(tmp_path, monkeypatch) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    path = records.write_record("made_up", "a test", {"unit": "nats"}, [{"seed": 0}])
    monkeypatch.chdir(inner)
    assert records.load_record("made_up")["results"] == [{"seed": 0}]
    for broken in ("[1]", "{", json.dumps({"results": 3})):
        (tmp_path / path).write_text(broken)
        with pytest.raises(CourseError, match="cannot be read"):
            records.load_record("made_up")
    with pytest.raises(CourseError, match="comes with the course"):
        records.load_record("never_made")
