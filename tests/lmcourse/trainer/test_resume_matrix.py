"""Ten steps, a save, a NEW process and ten more are twenty steps, to the last bit of every tensor and number.

{AdamW, Muon} x {float32, bfloat16, float16} x {1, 2 ranks} x {0, 2 loader workers}, and variants. All runs of
a world share one process for each stretch, so that the matrix takes seconds; a stretch never shares a process
with the one before it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import pytest
import torch
from resume_cases import PARTS, STEPS, matrix, variants

from lmcourse.trainer.checkpoint import load_checkpoint
from lmcourse.trainer.log import read_log
from lmcourse.trainer.records import EVENTS, MONITOR

SCRIPT = Path(__file__).with_name("resume_cases.py")
TIMES = ("seconds", "tokens_per_second")


def run_processes(part: str, world: int, folder: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(SCRIPT.parents[3]), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, str(SCRIPT), part]
    processes = [
        subprocess.Popen(
            [*command, str(rank), str(world), str(folder)],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for rank in range(world)
    ]
    for process in processes:
        output, _ = process.communicate(timeout=300)
        assert process.returncode == 0, output


@pytest.fixture(scope="module", params=[1, 2], ids=["1 rank", "2 ranks"])
def runs(request, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("matrix")
    for part in PARTS:
        run_processes(part, request.param, folder)
    return folder


def contents(run: Path) -> dict:
    return load_checkpoint(run, lambda line: pytest.fail(line))


def assert_equal_to_the_bit(one, two, place="") -> None:
    assert type(one) is type(two), place
    if isinstance(one, dict):
        assert list(one) == list(two), place
        for key in one:
            assert_equal_to_the_bit(one[key], two[key], f"{place}/{key}")
    elif isinstance(one, list | tuple):
        assert len(one) == len(two), place
        for index, (a, b) in enumerate(zip(one, two, strict=True)):
            assert_equal_to_the_bit(a, b, f"{place}/{index}")
    elif isinstance(one, torch.Tensor):
        assert one.dtype == two.dtype and torch.equal(one, two), place
    else:
        assert one == two, place


def logged(run: Path) -> list[dict]:
    return [{k: v for k, v in asdict(record).items() if k not in TIMES} for record in read_log(run)]


def tables(run: Path, name: str) -> list[str]:
    """Lines of a file without what the clock says; text, so that a NaN equals itself."""
    import json

    lines = map(json.loads, (run / name).read_text().splitlines())
    return [json.dumps({k: v for k, v in line.items() if k not in TIMES}) for line in lines]


@pytest.mark.parametrize("name", [*matrix(), *variants()])
def test_stopped_and_resumed_is_straight(runs, name) -> None:
    straight, stopped = runs / "straight" / name, runs / "stopped" / name
    assert_equal_to_the_bit(contents(stopped), contents(straight))
    assert logged(stopped) == logged(straight)
    assert [record["step"] for record in logged(straight) if record["outcome"] == "stepped"] == list(
        range(1, STEPS + 1)
    )
    for file in (EVENTS, MONITOR):
        assert tables(stopped, file) == tables(straight, file)


def test_evaluation_changes_no_bit_of_the_training(runs) -> None:
    """Catalogue R13, R22."""
    never, always = (contents(runs / "stopped" / f"{word} evaluated") for word in ("never", "always"))
    for file in ("model.pt", "optimizer.pt"):
        assert_equal_to_the_bit(never[file], always[file])
    assert_equal_to_the_bit(never["state.pt"]["generators"], always["state.pt"]["generators"])


@pytest.mark.parametrize("optimizer", ["adamw", "muon"])
def test_the_cases_differ_where_they_should(runs, optimizer) -> None:
    """The matrix can fail: another precision gives other weights; workers give the same ones."""
    weights = {
        (precision, workers): contents(runs / "straight" / f"{optimizer} {precision} {workers}")["model.pt"]
        for precision in ("fp32", "bf16", "fp16")
        for workers in (0, 2)
    }
    name = "blocks.0.mlp.residual.weight"
    for precision in ("fp32", "bf16", "fp16"):
        assert_equal_to_the_bit(weights[precision, 0], weights[precision, 2])
    assert not torch.equal(weights["fp32", 0][name], weights["bf16", 0][name])
    assert not torch.equal(weights["bf16", 0][name], weights["fp16", 0][name])


def test_data_moves_on_over_a_resume(runs) -> None:
    """Catalogue R1: the batches after the resume are not those before it."""
    lines = tables(runs / "stopped" / "always evaluated", MONITOR)
    assert len(lines) >= 2 and len({line for line in lines}) == len(lines)
    losses = [record["loss"] for record in logged(runs / "stopped" / "always evaluated")]
    assert losses[:10] != losses[10:] and len(set(losses)) == STEPS
