"""The live picture: drawn again when there are new steps, ended when the run is complete."""

from __future__ import annotations

import io
import sys
from types import SimpleNamespace

import pytest
import torch

from lmcourse.errors import CourseError
from lmcourse.figures import live
from lmcourse.trainer import configure, resume_run, start_run


@pytest.fixture
def half_done(tmp_path):
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    config = configure("markov", corpus_tokens=5000, steps=12, width=8, precision="fp32")
    start_run(config, tmp_path / "run", stop_at=6, stream=io.StringIO())
    yield tmp_path / "run"
    torch.set_num_threads(before)


def test_it_draws_again_only_when_the_run_moved_and_ends_with_it(half_done, monkeypatch) -> None:
    drawn, naps = [], []
    handle = SimpleNamespace(update=lambda picture: drawn.append(picture.caption))

    def display(picture, display_id):
        drawn.append(picture.caption)
        return handle

    def sleep(seconds: float) -> None:
        naps.append(seconds)
        if len(naps) == 3:
            resume_run(half_done, stream=io.StringIO())

    monkeypatch.setattr(live, "in_notebook", lambda: True)
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=display))
    monkeypatch.setattr(live, "time", SimpleNamespace(sleep=sleep, monotonic=lambda: 0.0))
    live.watch_run(half_done, seconds=0.25)
    assert drawn == ["6 of 12 steps", "12 of 12 steps"]
    assert naps == [0.25] * 3


def test_outside_a_notebook_it_says_what_to_take(half_done) -> None:
    with pytest.raises(CourseError, match="lmcourse show"):
        live.watch_run(half_done)
