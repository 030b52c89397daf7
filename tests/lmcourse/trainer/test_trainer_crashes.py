"""Processes that are killed, interrupted or refused the disk: what is left can be resumed, and says so."""

import errno
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from small_run import small_config
from test_resume_matrix import assert_equal_to_the_bit, contents, logged

from lmcourse.errors import CourseError
from lmcourse.trainer import checkpoint, resume_run, start_run
from lmcourse.trainer import session as session_module
from lmcourse.trainer.checkpoint import list_checkpoints, load_checkpoint
from lmcourse.trainer.log import read_log, updates

pytestmark = pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
STEPS = 120
CODE = """
import sys, io, torch
from pathlib import Path
torch.set_num_threads(1)
sys.path.insert(0, sys.argv[1])
from small_run import small_config
from lmcourse.trainer import start_run, resume_run
print("ready", flush=True)
run = Path(sys.argv[2])
if sys.argv[3] == "start":
    start_run(small_config(steps=120, save_every=1, evaluate_every=1000), run)
else:
    resume_run(run)
"""


def process_of(run: Path, what: str) -> subprocess.Popen:
    here = Path(__file__).resolve()
    return subprocess.Popen(
        [sys.executable, "-c", CODE, str(here.parent), str(run), what],
        env={**os.environ, "PYTHONPATH": str(here.parents[3]), "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for(condition, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def goes_on(run: Path, reached: int, process: subprocess.Popen):
    return lambda: list_checkpoints(run)[-1].name > f"step_{reached:06d}" or process.poll() is not None


def test_killed_in_the_middle_of_saves_again_and_again(tmp_path, quiet):
    """A save after every step, killed without warning three times: the end is that of one run, to the bit."""
    run = tmp_path / "run"
    chance = random.Random(0)
    process = process_of(run, "start")
    wait_for(lambda: list_checkpoints(run))
    for _ in range(3):
        time.sleep(chance.uniform(0.05, 0.3))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        reached = load_checkpoint(run, lambda line: pytest.fail(line))["state.pt"]["step"]
        assert len(updates(read_log(run))) >= reached  # never shorter than the checkpoint
        process = process_of(run, "resume")
        assert process.stdout.readline() == "ready\n"
        wait_for(goes_on(run, reached, process))
    _, errors = process.communicate(timeout=120)
    if reached < STEPS:
        assert process.returncode == 0, errors
    whole = small_config(steps=STEPS, save_every=100, evaluate_every=1000)
    start_run(whole, tmp_path / "straight", stream=quiet)
    for file in ("model.pt", "optimizer.pt"):
        assert_equal_to_the_bit(contents(run)[file], contents(tmp_path / "straight")[file])
    assert logged(run) == logged(tmp_path / "straight")
    assert not list(run.rglob("*.tmp-*"))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_in_a_step_saves_at_its_end(tmp_path, quiet, monkeypatch, number):
    """Catalogue S16. The signal comes between backward and update; what is saved is a whole step."""
    step = session_module.training_step

    def interrupted(model, optimizer, *rest, **options):
        def trace(event):
            if event == "clip" and interrupted.calls == 7:
                signal.raise_signal(number)

        interrupted.calls += 1
        return step(model, optimizer, *rest, **options, trace=trace)

    interrupted.calls = 0
    monkeypatch.setattr(session_module, "training_step", interrupted)
    result = start_run(small_config(), tmp_path / "run", stream=quiet)
    assert result.state.step == 7 and result.validation is None
    monkeypatch.undo()
    resume_run(tmp_path / "run", stream=quiet)
    start_run(small_config(), tmp_path / "straight", stream=quiet)
    assert_equal_to_the_bit(contents(tmp_path / "run"), contents(tmp_path / "straight"))


def test_a_second_signal_quits_at_once(tmp_path, quiet, monkeypatch):
    step = session_module.training_step

    def interrupted(*arguments, **options):
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        return step(*arguments, **options)

    start_run(small_config(), tmp_path / "run", stop_at=5, stream=quiet)
    monkeypatch.setattr(session_module, "training_step", interrupted)
    with pytest.raises(KeyboardInterrupt):
        resume_run(tmp_path / "run", stream=quiet)
    monkeypatch.undo()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert resume_run(tmp_path / "run", stream=quiet).state.step == 20


@pytest.mark.parametrize("fault", [CourseError("no"), KeyboardInterrupt(), RuntimeError("out of memory")])
def test_a_run_that_fails_before_its_first_step_leaves_no_folder(tmp_path, quiet, monkeypatch, fault):
    def failing(*arguments, **options):
        raise fault

    monkeypatch.setattr(session_module, "training_step", failing)
    with pytest.raises(type(fault)):
        start_run(small_config(), tmp_path / "run", stream=quiet)
    monkeypatch.undo()
    assert not (tmp_path / "run").exists()
    start_run(small_config(steps=2), tmp_path / "run", stream=quiet)


def test_a_killed_run_without_a_step_does_not_block_its_name(tmp_path, quiet):
    start_run(small_config(steps=2), tmp_path / "whole", stream=quiet)
    killed = tmp_path / "killed"
    killed.mkdir()
    for name in ("config.json", "data"):
        (tmp_path / "whole" / name).rename(killed / name)
    assert start_run(small_config(steps=2), killed, stream=quiet).state.step == 2


def test_a_run_that_failed_later_stays(tmp_path, quiet, monkeypatch):
    step = session_module.training_step
    calls = iter(range(100))

    def failing(*arguments, **options):
        if next(calls) == 3:
            raise CourseError("no")
        return step(*arguments, **options)

    monkeypatch.setattr(session_module, "training_step", failing)
    with pytest.raises(CourseError, match="no"):
        start_run(small_config(), tmp_path / "run", stream=quiet)
    assert len(read_log(tmp_path / "run")) == 3


def test_a_full_disk_in_a_run_is_one_line_and_the_run_goes_on_later(tmp_path, quiet, monkeypatch):
    def full(path, content):
        raise OSError(errno.ENOSPC, "No space left on device")

    start_run(small_config(), tmp_path / "run", stop_at=5, stream=quiet)
    monkeypatch.setattr(checkpoint, "write_file", full)
    with pytest.raises(CourseError, match=r"cannot be written \(No space left on device\); earlier"):
        resume_run(tmp_path / "run", stream=quiet)
    monkeypatch.undo()
    resume_run(tmp_path / "run", stream=quiet)
    start_run(small_config(), tmp_path / "straight", stream=quiet)
    assert_equal_to_the_bit(contents(tmp_path / "run"), contents(tmp_path / "straight"))


def test_the_log_is_on_the_disk_before_the_checkpoint(tmp_path, quiet, monkeypatch):
    synced, order = session_module.Records.sync, []
    save = session_module.save_checkpoint
    monkeypatch.setattr(session_module.Records, "sync", lambda self: (order.append("log"), synced(self)))
    monkeypatch.setattr(
        session_module, "save_checkpoint", lambda *a, **k: (order.append("checkpoint"), save(*a, **k))
    )
    start_run(small_config(steps=10), tmp_path / "run", stream=quiet)
    assert order == ["log", "checkpoint"] * 2
