"""The same tasks on a Dask cluster: a scheduler and two workers, one of which is killed in the middle."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import psutil
import pytest
import small_course

from autograde.grading.cluster import grade_on_cluster
from autograde.grading.keys import Sources
from autograde.grading.one import Graded, Task
from autograde.intake.gather import Gathered
from autograde.judge.limits import Limits
from autograde.judge.verdict import SubmissionVerdict
from lmcourse.errors import CourseError

pytest.importorskip("distributed", reason="the package distributed is not installed")
WEEK = small_course.WEEK


def stand_in(task):
    """On a worker: slow enough that a worker can be killed in the middle; `secret` is a folder."""
    with open(Path(task.secret) / "who", "a") as file:
        file.write(f"{task.student} {os.getpid()}\n")
    time.sleep(0.2)
    return Graded(
        task.student, None, SubmissionVerdict(task.student, task.week, (), notes=(str(os.getpid()),))
    )


def make(student, folder, **options):
    return Task(student, Gathered(), "W1", str(folder), Limits(), Sources("", {}), **options)


@pytest.fixture
def cluster(tmp_path):
    """The scheduler's address and two worker processes without nannies."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    address = f"tcp://127.0.0.1:{port}"
    paths = [str(Path(__file__).parent), str(Path(__file__).parents[1]), *filter(None, sys.path)]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1"}
    dask = [sys.executable, "-m", "distributed.cli.dask_scheduler"]
    log = open(tmp_path / "cluster.log", "w")  # noqa: SIM115 - closed below
    start = partial(subprocess.Popen, env=env, stdout=log, stderr=log, cwd=tmp_path)
    processes = [start([*dask, "--host", "127.0.0.1", "--port", str(port), "--no-dashboard"])]
    worker = [sys.executable, "-m", "distributed.cli.dask_worker", address]
    options = ["--no-nanny", "--nthreads", "1", "--no-dashboard", "--local-directory", str(tmp_path)]
    processes += [start([*worker, *options]) for _ in range(2)]
    try:
        _wait_for_workers(address)
        yield address, processes[1:]
    finally:
        for process in processes:
            process.kill()
            process.wait()
        log.close()


def _wait_for_workers(address):
    from distributed import Client

    with Client(address, timeout=60, set_as_default=False) as client:
        client.wait_for_workers(2, timeout=60)


def test_a_worker_that_dies_in_the_middle_costs_nothing(cluster, tmp_path):
    address, workers = cluster
    students = [f"s{n}" for n in range(20)]
    outcomes = {}
    for graded in grade_on_cluster((make(s, tmp_path) for s in students), address, stand_in):
        assert graded.student not in outcomes, "nobody is told twice"
        outcomes[graded.student] = graded
        if len(outcomes) == 6:
            workers[0].send_signal(signal.SIGKILL)
    assert set(outcomes) == set(students)
    assert not any(graded.verdict.undecided for graded in outcomes.values())
    did = {line.split()[1] for line in (tmp_path / "who").read_text().splitlines()}
    assert did == {str(worker.pid) for worker in workers}, "both had worked"


def test_tasks_go_out_as_workers_become_free(cluster, tmp_path):
    made = []

    def tasks():
        for number in range(100):
            made.append(number)
            yield make(f"s{number}", tmp_path)

    outcomes = grade_on_cluster(tasks(), cluster[0], stand_in)
    next(outcomes)
    assert len(made) < 10
    outcomes.close()


@pytest.mark.slow
def test_a_class_graded_on_the_cluster_has_the_same_marks(cluster, make_class, course, tmp_path):
    from autograde.grading.batch import grade_class, plan
    from autograde.grading.pool import grade_all

    folder = make_class("ada", "ben")
    crews = {True: partial(grade_on_cluster, address=cluster[0]), False: partial(grade_all, jobs=1)}
    marks = {}
    for remote, crew in crews.items():
        made = plan("W0", folder, course, tmp_path / f"out{remote}", Limits(), force=True, remote=remote)
        outcome = grade_class(made, crew)
        marks[remote] = {row.student: row.points for row in outcome.rows}
        assert not any(row.verdict.undecided for row in outcome.rows)
    assert marks[True] == marks[False] and set(marks[True]) == {"ada", "ben"}
    for worker in cluster[1]:
        assert len(psutil.Process(worker.pid).children(recursive=True)) <= 3


def test_no_scheduler_is_one_line():
    with pytest.raises(CourseError, match=r"no Dask scheduler answers at tcp://127.0.0.1:1"):
        list(grade_on_cluster([], "tcp://127.0.0.1:1"))
