"""Workers started as programs of their own: what is refused, what is cleared away."""

import os
import subprocess
import sys
import time
from contextlib import suppress

import psutil
import pytest

from autograde.judge import cold, leftovers, library, remote
from autograde.judge.ended import AnswerEnded
from autograde.judge.limits import Limits
from autograde.judge.remote import RemoteWorker
from lmcourse.errors import CourseError


@pytest.fixture(autouse=True)
def started_cold(monkeypatch):
    monkeypatch.setattr(remote, "start", cold.start)


def test_a_course_among_the_libraries_is_refused(tmp_path, monkeypatch):
    (tmp_path / "autograde").mkdir()
    monkeypatch.setattr(library.sysconfig, "get_path", lambda name: str(tmp_path))
    with pytest.raises(CourseError, match="pip install -e"):
        cold.start(Limits())


def test_a_worker_that_cannot_start_is_a_fault_of_the_machine(monkeypatch):
    monkeypatch.setattr(cold, "BOOT", "raise SystemExit('no room')")
    with pytest.raises(AnswerEnded) as info:
        RemoteWorker(Limits())
    assert info.value.state == "infrastructure_fault" and "no room" in info.value.message


def wait_for(condition, seconds=10):
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.01)


class Between:
    """A young process that shows its environment only from the third look on, as in the middle of an exec."""

    def __init__(self, home):
        self.home, self.looks, self.killed = home, 0, False

    def environ(self):
        if self.killed:
            raise psutil.NoSuchProcess(0)
        self.looks += 1
        return {"HOME": self.home} if self.looks > 2 else {}

    def create_time(self):
        return time.time()

    def kill(self):
        self.killed = True


def test_a_daemon_in_the_middle_of_an_exec_is_not_missed(monkeypatch):
    started = cold.start(Limits())
    daemon = Between(str(started.private / "home"))
    other, kernel = Between("/elsewhere"), Between("/elsewhere")
    kernel.create_time = lambda: 0.0
    kernel.environ = lambda: {}
    monkeypatch.setattr(cold.psutil, "process_iter", lambda: iter([daemon, other, kernel]))
    started.kill()
    assert daemon.killed and not other.killed and not kernel.killed
    assert daemon.looks == 3  # and no longer than needed


DAEMON = """
import os
for _ in range(2):
    if not os.fork():
        os.setsid()
        if not os.fork():
            for descriptor in range(64):
                try:
                    os.close(descriptor)
                except OSError:
                    pass
            {run}
        os._exit(0)
    os.wait()
"""


@pytest.mark.parametrize("run", ["os.execlp('sleep', 'sleep', '300')", "import time; time.sleep(300)"])
@pytest.mark.parametrize("end", ["", "os._exit(3)"], ids=["closed by the judge", "ends itself"])
def test_daemons_that_left_the_session_end_with_an_unconfined_worker(run, end, monkeypatch):
    furnish = library.furnish

    def unconfined(folder, settings):
        furnish(folder, settings)
        with open(folder / "confined" / "sandbox" / "confine.py", "a") as file:
            file.write("\ndef confine(policy):\n    return []\n")

    monkeypatch.setattr(cold.library, "furnish", unconfined)
    worker = RemoteWorker(Limits(cell_seconds=10, allow_unconfined=True))
    home = str(worker.started.private / "home")

    def at_home():
        found = []
        for process in psutil.process_iter():
            with suppress(psutil.Error, OSError):
                found += [process] * (process.environ().get("HOME") == home)
        return found

    try:
        assert worker.run_cell(DAEMON.format(run=run)) is None
        wait_for(lambda: len(at_home()) == 3)  # one in the middle of an exec has no environment yet
        if end:
            with pytest.raises(AnswerEnded):
                worker.run_cell(end)
    finally:
        worker.close()
    psutil.wait_procs(at_home(), timeout=5)
    assert not at_home() and not worker.started.private.exists()


def test_folders_of_judges_that_were_killed_are_deleted_at_the_next_start(tmp_path, monkeypatch):
    monkeypatch.setattr(leftovers.tempfile, "tempdir", str(tmp_path))
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    left, used = tmp_path / f"submission-{dead.pid}-x", tmp_path / f"submission-{os.getpid()}-x"
    others = [tmp_path / "submission-of-mine", tmp_path / "submission-", tmp_path / f"other-{dead.pid}-x"]
    for folder in (left, used, *others):
        (folder / "home").mkdir(parents=True)
    cold.start(Limits()).kill()
    assert sorted(tmp_path.iterdir()) == sorted([used, *others])
