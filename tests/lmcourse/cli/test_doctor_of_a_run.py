"""`lmcourse doctor --run`: exit status, words, and the comparison with recorded runs."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
import torch

from lmcourse.cli.doctor_run import findings
from lmcourse.cli.main import main
from lmcourse.figures.run_data import read_run
from lmcourse.trainer import configure, start_run


def train(folder: Path, stop_at: int, **changes) -> Path:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    start_run(configure("markov", **changes), folder, stop_at, stream=io.StringIO())
    torch.set_num_threads(threads)
    return folder


@pytest.fixture(scope="module")
def shipped(tmp_path_factory) -> Path:
    """The first fifth of the shipped configuration, with a seed that was not recorded."""
    return train(tmp_path_factory.mktemp("runs") / "shipped", 60, seed=91, precision="fp32")


def test_a_shipped_configuration_is_normal(shipped, capsys) -> None:
    assert main(["doctor", "--run", str(shipped)]) == 0
    out = capsys.readouterr().out
    assert "60 of 300 steps" in out and "nothing looks unusual" in out and "LOOK" not in out
    names = [finding.name for finding in findings(read_run(shipped))]
    assert names[0] == "first loss" and names[-1] == "recorded runs"


def test_a_curve_beside_the_recorded_ones_is_said(shipped, tmp_path, capsys) -> None:
    log = shipped / "log.jsonl"
    whole = log.read_text()
    try:
        log.write_text(whole.replace('"loss": 2.', '"loss": 3.'))
        assert main(["doctor", "--run", str(shipped)]) == 1
        out = capsys.readouterr().out
    finally:
        log.write_text(whole)
    assert "LOOK first loss: the first loss is 3." in out
    assert "LOOK recorded runs: at step 25 the loss is 3." in out
    assert "next: compare" in out


def test_a_rate_that_is_far_too_high_is_found(tmp_path, capsys) -> None:
    folder = train(tmp_path / "wild", 200, lr=1.0, steps=200, corpus_tokens=30_000, precision="fp32")
    assert main(["doctor", "--run", str(folder)]) == 1
    out = capsys.readouterr().out
    assert "LOOK" in out and "recorded runs" not in out  # another configuration than the shipped one


@pytest.mark.parametrize(
    "arguments", [[], ["--run", "nowhere"], ["--run", "x", "--fix"], ["x.ipynb", "--run", "y"]]
)
def test_mistakes_are_one_line(arguments, capsys) -> None:
    try:
        status = main(["doctor", *arguments])
    except SystemExit as end:
        status = end.code
    error = capsys.readouterr().err
    assert status == 2 and error.count("\n") == 1, error
