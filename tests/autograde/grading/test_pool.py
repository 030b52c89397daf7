"""Judge processes that die, hang on or fail; the work itself is a stand-in."""

import os
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from autograde.grading.keys import Sources
from autograde.grading.one import Graded, Task
from autograde.grading.pool import grade_all
from autograde.intake.gather import Gathered
from autograde.judge.limits import Limits
from autograde.judge.verdict import SubmissionVerdict


def make(student, folder):
    return Task(student, Gathered(), "W1", str(folder), Limits(), Sources("", {}))


def stand_in(task):
    """Runs in a judge process."""
    if task.student == "dies":
        os._exit(1)
    if task.student == "dies once":
        mark = Path(task.secret) / "died"
        if not mark.exists():
            mark.touch()
            os._exit(1)
    if task.student == "waits":
        (Path(task.secret) / "pid").write_text(str(os.getpid()))
        time.sleep(600)
    if task.student == "disk full":
        raise OSError(28, "No space left on device")
    return Graded(task.student, None, SubmissionVerdict(task.student, task.week, ()))


def test_a_judge_process_that_dies_takes_nobody_along(tmp_path):
    students = ["ada", "dies", "bob", "dies once", "cyd"]
    graded = {g.student: g for g in grade_all([make(s, tmp_path) for s in students], 2, stand_in)}
    assert sorted(graded) == sorted(students)
    assert {v.state for v in graded["dies"].verdict.verdicts} == {"infrastructure_fault"}
    assert all(not graded[s].verdict.undecided for s in students if s != "dies")


def test_judge_processes_end_when_the_command_is_killed(tmp_path):
    """SIGKILL leaves the command no time to say goodbye."""
    script = (
        "import test_pool, pathlib, sys\n"
        "if __name__ == '__main__':\n"
        "    tasks = [test_pool.make('waits', pathlib.Path(sys.argv[1]))]\n"
        "    list(test_pool.grade_all(tasks, 1, test_pool.stand_in))\n"
    )
    main = tmp_path / "main.py"
    main.write_text(script)
    paths = os.pathsep.join([str(Path(__file__).parent), *filter(None, sys.path)])
    command = subprocess.Popen([sys.executable, main, tmp_path], env={**os.environ, "PYTHONPATH": paths})
    judge = psutil.Process(int(_wait_for(tmp_path / "pid")))
    command.kill()
    command.wait()
    assert psutil.wait_procs([judge], timeout=30)[1] == []


def _wait_for(file):
    for _ in range(600):
        if file.exists() and file.read_text():
            return file.read_text()
        time.sleep(0.1)
    raise AssertionError(f"{file} never came")


def test_a_full_disk_stops_the_class_with_its_reason(tmp_path):
    tasks = [make(s, tmp_path) for s in ("disk full", "ada")]
    with pytest.raises(OSError, match="No space left"):
        list(grade_all(tasks, 1, stand_in))


def test_tasks_are_made_as_judges_become_free_and_their_errors_are_told(tmp_path):
    made = []

    def tasks():
        for number in range(20):
            made.append(number)
            yield make(f"s{number}", tmp_path)
        raise ValueError("no more can be made")

    outcomes = grade_all(tasks(), 1, stand_in)
    assert next(outcomes).student == "s0"
    time.sleep(1)
    assert len(made) < 8
    with pytest.raises(ValueError, match="no more can be made"):
        list(outcomes)
