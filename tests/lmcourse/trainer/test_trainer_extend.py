"""Longer runs and branches are the runs that would have been planned so, to the bit."""

import os

import pytest
from small_run import small_config
from test_resume_matrix import assert_equal_to_the_bit, contents, logged

from lmcourse.errors import CourseError
from lmcourse.trainer import resume_run, start_run
from lmcourse.trainer.checkpoint import list_checkpoints
from lmcourse.trainer.loop import branch_run


def assert_same_end(one, two):
    mine, theirs = contents(one), contents(two)
    for file in ("model.pt", "optimizer.pt"):
        assert_equal_to_the_bit(mine[file], theirs[file])
    # a longer run was also evaluated at its first end, and says the floor of every step alike
    drop = "validation_loss"
    assert [{**r, drop: 0} for r in logged(one)] == [{**r, drop: 0} for r in logged(two)]


def test_an_extended_run_is_the_longer_run(tmp_path, quiet):
    short = small_config(schedule="constant", steps=12)
    start_run(short, tmp_path / "run", stream=quiet)
    done = resume_run(tmp_path / "run", extend=8, stream=quiet)
    assert done.config.steps == 20 and done.state.step == 20
    start_run(small_config(schedule="constant", steps=20), tmp_path / "straight", stream=quiet)
    assert_same_end(tmp_path / "run", tmp_path / "straight")


def test_an_extension_can_be_interrupted_and_resumed(tmp_path, quiet):
    start_run(small_config(schedule="constant", steps=6), tmp_path / "run", stream=quiet)
    resume_run(tmp_path / "run", extend=6, stop_at=9, stream=quiet)
    assert resume_run(tmp_path / "run", stream=quiet).state.step == 12


@pytest.mark.parametrize("schedule", ["cosine", "linear", "wsd"])
def test_a_run_whose_past_depends_on_its_end_is_not_extended(tmp_path, quiet, schedule):
    start_run(small_config(schedule=schedule, steps=12), tmp_path / "run", stream=quiet)
    before = (tmp_path / "run" / "config.json").read_text()
    with pytest.raises(CourseError, match=r"--extend: .*in its decay") as caught:
        resume_run(tmp_path / "run", extend=8, stream=quiet)
    assert ("--branch-from" in str(caught.value)) == (schedule == "wsd") and "\n" not in str(caught.value)
    assert (tmp_path / "run" / "config.json").read_text() == before


def test_a_plateau_can_be_extended_before_its_decay(tmp_path, quiet):
    start_run(small_config(schedule="wsd", steps=20), tmp_path / "run", stop_at=14, stream=quiet)
    resume_run(tmp_path / "run", extend=10, stream=quiet)
    start_run(small_config(schedule="wsd", steps=30), tmp_path / "straight", stream=quiet)
    assert_same_end(tmp_path / "run", tmp_path / "straight")


@pytest.mark.parametrize("parent", [{"schedule": "wsd", "decay_share": 0.4}, {"schedule": "constant"}])
def test_a_branch_is_the_run_that_was_planned_to_end_there(tmp_path, quiet, parent):
    """From the end of the plateau of a finished run; its checkpoint outlives those of the decay."""
    start_run(small_config(steps=20, save_every=3, **parent), tmp_path / "trunk", stream=quiet)
    before = sorted(p.name for p in (tmp_path / "trunk").rglob("*"))
    result = branch_run(tmp_path / "trunk", tmp_path / "branch", decay=5, stream=quiet)
    left = 12 if parent["schedule"] == "wsd" else 20
    assert result.state.step == left + 5 and result.validation is not None
    assert sorted(p.name for p in (tmp_path / "trunk").rglob("*")) == before
    planned = small_config(steps=left + 5, schedule="wsd", decay_share=5 / (left + 5), save_every=3)
    start_run(planned, tmp_path / "straight", stream=quiet)
    assert_same_end(tmp_path / "branch", tmp_path / "straight")


def test_the_end_of_the_plateau_outlives_a_resume(tmp_path, quiet):
    start_run(small_config(schedule="wsd", save_every=2), tmp_path / "run", stop_at=17, stream=quiet)
    resume_run(tmp_path / "run", stream=quiet)
    assert "step_000016" in [c.name for c in list_checkpoints(tmp_path / "run")]


def test_two_branches_of_one_trunk_and_one_resumed(tmp_path, quiet):
    start_run(small_config(steps=12, schedule="constant"), tmp_path / "trunk", stream=quiet)
    branch_run(tmp_path / "trunk", tmp_path / "long", decay=6, stream=quiet)
    branch_run(tmp_path / "trunk", tmp_path / "parts", decay=6, stop_at=14, stream=quiet)
    resume_run(tmp_path / "parts", stream=quiet)
    assert_same_end(tmp_path / "parts", tmp_path / "long")


def test_what_has_no_plateau_cannot_be_branched(tmp_path, quiet, stopped_run):
    with pytest.raises(CourseError, match=r"--branch-from: .* no checkpoint at its peak learning rate"):
        branch_run(stopped_run, tmp_path / "branch", decay=5, stream=quiet)
    assert not (tmp_path / "branch").exists()
    trunk = tmp_path / "trunk"
    start_run(small_config(steps=12, schedule="constant"), trunk, stop_at=2, stream=quiet)  # in its warm-up
    with pytest.raises(CourseError, match="no checkpoint at its peak"):
        branch_run(trunk, tmp_path / "branch", decay=5, stream=quiet)


def test_a_run_that_another_process_trains_is_left_alone(stopped_run, tmp_path, quiet):
    fcntl = pytest.importorskip("fcntl")
    handle = os.open(stopped_run, os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    try:
        with pytest.raises(CourseError, match="another process trains this run"):
            resume_run(stopped_run, stream=quiet)
        with pytest.raises(CourseError, match="another process trains this run"):
            start_run(small_config(), stopped_run, overwrite=True, stream=quiet)
    finally:
        os.close(handle)
    assert list_checkpoints(stopped_run)
    assert resume_run(stopped_run, stream=quiet).state.step == 20
