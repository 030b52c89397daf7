"""`lmcourse show` and `lmcourse trace` on a run that met a NaN."""

from __future__ import annotations

import io
import math
import re
from pathlib import Path

import pytest
import torch

from lmcourse.cli.main import main
from lmcourse.figures.run import run_figure
from lmcourse.figures.run_data import read_run
from lmcourse.trainer import configure, start_run
from lmcourse.trainer import step as step_module


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    """40 steps; the 36th and 37th time that the loss is computed in training, it is NaN."""
    folder = tmp_path_factory.mktemp("runs") / "hurt"
    sizes = {"corpus_tokens": 4000, "context": 24, "layers": 2, "width": 16, "heads": 2}
    config = configure(
        "regimes", **sizes, steps=40, batch=4, warmup=3, evaluate_every=20, save_every=20, monitor_every=10
    )
    healthy, calls = step_module.masked_cross_entropy, []

    def hurt(logits, targets, *rest):
        calls.append(0)
        return healthy(logits, targets, *rest) * (math.nan if len(calls) in (36, 37) else 1.0)

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(step_module, "masked_cross_entropy", hurt)
        start_run(config, folder, stream=io.StringIO())
    torch.set_num_threads(threads)
    return folder


def test_show_writes_one_picture_and_says_the_same_in_words(run, capsys) -> None:
    assert main(["show", str(run)]) == 0
    out = capsys.readouterr().out
    assert (run / "run.png").read_bytes().startswith(b"\x89PNG")
    for word in ("ln V", "unigram entropy", "floor", "clipped", "update", "blocks.1.mlp", "dead"):
        assert word in out
    assert re.search(r"passed over\s+2 batches \(36, 37\), 0 roll-backs", out)
    assert f"ln V              {math.log(17):.4f}" in out


def test_the_picture_has_its_reference_lines_and_its_alt_text_the_numbers(run) -> None:
    data = read_run(run)
    figure, alt = run_figure(data, "dark")
    loss = figure.axes[0]
    levels = {round(float(line.get_ydata()[0]), 6) for line in loss.get_lines() if len(line.get_ydata()) == 2}
    assert {round(value, 6) for value in data.lines.values()} <= levels
    assert list(data.lines) == ["ln V", "unigram entropy", "floor"]
    assert "2 batches were passed over" in alt and f"{data.smoothed_loss()[-1]:.3f}" in alt
    assert all(axes.get_ylabel() and axes.get_xlabel() for axes in figure.axes)
    assert [record.step for record in data.records] == list(range(1, 41))
    assert data.records[35].batch == 38
    assert [table["step"] for table in data.tables] == [1, 10, 20, 30, 40]


def test_a_smoothed_loss_is_the_mean_of_the_last_twenty(run) -> None:
    data = read_run(run)
    losses = [record.loss for record in data.records]
    for step in (1, 7, 20, 33):
        expected = sum(losses[max(0, step - 20) : step]) / min(20, step)
        assert data.smoothed_loss()[step - 1] == pytest.approx(expected)


def test_trace_names_the_kept_batches_and_tries_them_again(run, capsys) -> None:
    assert main(["trace", str(run)]) == 1
    out = capsys.readouterr().out
    assert "batch 36: loss nan" in out and "batch 37: loss nan" in out
    assert "the forward pass is finite" in out and "first in the backward pass" in out
    assert out.count("with the weights of the last checkpoint: finite") == 2
    assert main(["trace", str(run), "--batch", "37"]) == 1
    assert "batch 36" not in capsys.readouterr().out


def test_mistakes_are_one_line(run, tmp_path, capsys) -> None:
    for args in (["show", "nowhere"], ["trace", "nowhere"], ["trace", str(run), "--batch", "x"]):
        assert main(args) == 2
        error = capsys.readouterr().err
        assert error.count("\n") == 1 and "Traceback" not in error
    assert main(["show", str(run), "--png", str(tmp_path / "no" / "x.png")]) == 2
    assert "--png" in capsys.readouterr().err


def test_a_damaged_trace_is_named(run, capsys) -> None:
    path = sorted((run / "traces").glob("*.pt"))[-1]
    whole = path.read_bytes()
    path.write_bytes(b"rubbish")
    assert main(["trace", str(run)]) == 2
    assert path.stem in capsys.readouterr().err
    path.write_bytes(whole)
