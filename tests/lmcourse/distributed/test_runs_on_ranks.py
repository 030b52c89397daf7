"""A run on two ranks is the run of one process; and the command that starts it, interrupts it or fails."""

import io
import os
import shlex
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from run_cases import CASES, all_runs
from two_processes import run_two

from lmcourse.distributed import single
from lmcourse.threads import one_thread
from lmcourse.trainer import resume_run
from lmcourse.trainer.checkpoint import list_checkpoints
from lmcourse.trainer.log import read_log

SMALL = shlex.split(
    "train --corpus regimes --corpus-tokens 4000 --context 24 --layers 1 --width 16 --heads 2 --batch 3 "
    "--precision fp32 --threads 1"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="module")
def two(folder) -> list[dict]:
    return run_two("run_cases.py", folder)


@pytest.fixture(scope="module")
def one(folder) -> dict:
    with one_thread():
        return all_runs(single(), folder)


@pytest.mark.parametrize("case", CASES)
def test_weights_and_losses_are_those_of_one_process(one, two, folder, case):
    number = list(CASES).index(case)
    for rank in two:
        assert rank[case]["tokens"] == one[case]["tokens"]
        assert rank[case]["validation"] == pytest.approx(one[case]["validation"], abs=1e-6)
        torch.testing.assert_close(rank[case]["weights"], one[case]["weights"], rtol=0, atol=2e-5)
    logs = [read_log(folder / f"run{world}-{number}") for world in (1, 2)]
    assert [r.loss for r in logs[1]] == pytest.approx([r.loss for r in logs[0]], abs=1e-6)
    assert [r.tokens for r in logs[1]] == [r.tokens for r in logs[0]]


class Pair:
    """Two processes of `python -m lmcourse`, as a launcher would start them."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = str(free.getsockname()[1])
        launched = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
        self.processes = [
            subprocess.Popen(
                [sys.executable, "-m", "lmcourse", *arguments],
                env=os.environ | launched | {"RANK": rank, "LOCAL_RANK": rank},
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                cwd=folder,
            )
            for rank in "01"
        ]

    def __enter__(self) -> "Pair":
        return self

    def __exit__(self, *error: object) -> None:
        for process in self.processes:
            process.kill()
            process.communicate()

    def wait_for(self, path: Path) -> None:
        deadline = time.monotonic() + 60
        while not path.exists() and all(p.poll() is None for p in self.processes):
            assert time.monotonic() < deadline, f"{path} does not come"
            time.sleep(0.05)

    def ends(self) -> list[tuple[int, str, str]]:
        """Status, output and errors of each."""
        outputs = [process.communicate(timeout=60) for process in self.processes]
        return [(p.returncode, *o) for p, o in zip(self.processes, outputs, strict=True)]


def test_sigterm_saves_once_and_the_run_goes_on_in_one_process(tmp_path):
    run = tmp_path / "run"
    with Pair(tmp_path, *SMALL, "--steps", "1000000", "--save-every", "5", "--out", "run") as pair:
        pair.wait_for(run / "latest")
        for process in pair.processes:
            process.send_signal(signal.SIGTERM)
        (status, output, _), (other_status, other_output, _) = pair.ends()
    assert (status, other_status) == (130, 130)
    assert "the state is saved" in output and other_output == ""
    step = int((run / "latest").read_text().removeprefix("step_"))
    assert list_checkpoints(run)[-1].name == f"step_{step:06d}"
    assert len(read_log(run)) == step
    said = io.StringIO()
    assert resume_run(run, stop_at=step + 2, stream=said).state.step == step + 2
    assert "ranks was 2 and is 1" in said.getvalue()
    with Pair(tmp_path, *SMALL, "--out", "run") as pair:  # and a mistake is one line, of one rank
        ends = pair.ends()
    assert [status for status, _, _ in ends] == [2, 2]
    lines = [line for _, _, errors in ends for line in errors.splitlines() if "lmcourse" in line]
    assert len(lines) == 1 and "rank 0 of 2: run: exists already" in lines[0]


def test_a_killed_rank_ends_the_other_with_one_line(tmp_path):
    with Pair(tmp_path, *SMALL, "--steps", "1000000", "--save-every", "5", "--out", "run") as pair:
        pair.wait_for(tmp_path / "run" / "latest")
        pair.processes[1].kill()
        status, _, errors = pair.ends()[0]
    assert status == 2
    (line,) = (line for line in errors.splitlines() if line.startswith("lmcourse:"))
    assert "rank 0 of 2: another process of this run has ended or does not answer" in line
    assert "Traceback" not in errors
