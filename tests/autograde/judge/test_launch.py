"""What student code finds around it, asked from inside one worker."""

import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from autograde.judge import launch
from autograde.judge.ended import AnswerEnded
from autograde.judge.limits import Limits
from autograde.judge.remote import RemoteWorker
from autograde.project import PROJECT
from lmcourse.errors import CourseError


@pytest.fixture(scope="module")
def worker():
    os.environ["LMCOURSE_TEST_TOKEN"] = "secret"
    worker = RemoteWorker(Limits(cell_seconds=10))
    yield worker
    worker.close()
    del os.environ["LMCOURSE_TEST_TOKEN"]
    assert not worker.started.private.exists()
    assert not psutil.pid_exists(worker.started.process.pid)


def ask(worker, expression):
    """The value of an expression in the worker, which must be a plain one."""
    assert worker.run_cell(f"_asked = {expression}") is None
    return worker.ask({"kind": "value", "name": "_asked"}, 5)["value"]


@pytest.mark.parametrize(
    "module", ["autograde", "solutions", "autograde.weeks", "small_course", "pytest_plugin"]
)
def test_the_courses_own_modules_cannot_be_imported(worker, module):
    error = worker.run_cell(f"import {module}")
    assert error["kind"] == "ModuleNotFoundError"


def test_lmcourse_and_libraries_can(worker):
    assert worker.run_cell("import lmcourse, torch, numpy, matplotlib.pyplot, ipywidgets") is None
    home = ask(worker, "lmcourse.__file__")
    assert not Path(home).is_relative_to(PROJECT)


def test_the_environment_holds_no_secret_and_no_path_of_the_course(worker):
    environment = ask(worker, "dict(__import__('os').environ)")
    assert "LMCOURSE_TEST_TOKEN" not in environment
    assert not any(str(PROJECT) in value for value in environment.values())


def test_the_folder_is_private_and_holds_no_test(worker):
    folder = ask(worker, "__import__('os').getcwd()")
    assert Path(folder).parent == worker.started.private
    names = ask(worker, "[str(p.name) for p in __import__('pathlib').Path.cwd().parent.rglob('*')]")
    assert not [name for name in names if name in ("autograde", "solutions", "weeks", "w1_4.py")]
    for name in ("HOME", "TMPDIR"):
        assert Path(ask(worker, f"__import__('os').environ[{name!r}]")).parent == worker.started.private


def test_memory_of_the_process_holds_no_hidden_side(worker):
    code = (
        "[type(o).__name__ for o in __import__('gc').get_objects() if type(o).__name__ == 'HiddenExercise']"
    )
    assert ask(worker, code) == []
    assert ask(worker, "[m for m in __import__('sys').modules if m.startswith('autograde')]") == []


def test_one_thread_and_one_channel(worker):
    assert ask(worker, "__import__('torch').get_num_threads()") == 1
    sockets = (
        "[fd for fd in range(3, 64) if __import__('os').path.exists(f'/proc/self/fd/{fd}') "
        "and 'socket' in __import__('os').readlink(f'/proc/self/fd/{fd}')]"
    )
    if os.path.exists("/proc/self/fd"):
        assert len(ask(worker, sockets)) == 1


def test_the_namespace_holds_what_ipython_puts_there_only(worker):
    names = set(ask(worker, "list(globals())")) - {
        "_asked",
        "lmcourse",
        "torch",
        "numpy",
        "matplotlib",
        "ipywidgets",
    }
    plain = {"In", "Out", "exit", "quit", "get_ipython", "open"}
    assert {name for name in names if not name.startswith("_")} <= plain
    assert ask(worker, "__name__") == "__main__"


def test_what_notebooks_do_works(worker):
    for source in (
        "%matplotlib inline\nimport matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()\nplt.gcf()",
        "import ipywidgets\nipywidgets.IntSlider()",
        "from IPython.display import display, HTML\ndisplay(HTML('<b>x</b>'))",
        "%timeit -n1 -r1 1 + 1",
        "!echo hello",
        "import warnings, sys\nwarnings.warn('old')\nprint('error', file=sys.stderr)",
        "exit()",
        "await __import__('asyncio').sleep(0)",
        "import tempfile, torch\nwith tempfile.TemporaryFile() as f:\n    torch.save(torch.ones(2), f)",
        "import threading\nt = threading.Thread(target=print)\nt.start()\nt.join()",
        "import socket\na, b = socket.socketpair()\na.close()\nb.close()",
    ):
        assert worker.run_cell(source) is None, source


def test_input_is_an_error_that_names_it(worker):
    error = worker.run_cell("name = input('your name? ')")
    assert error["kind"] == "RuntimeError" and "input()" in error["message"]


def test_limits_are_in_force(worker):
    resource = pytest.importorskip("resource")
    cores = ask(worker, f"__import__('resource').getrlimit({resource.RLIMIT_CORE})")
    assert cores == (0, 0)
    error = worker.run_cell("with open('big', 'wb') as f:\n    f.seek(10**12)\n    f.write(b'x')")
    assert error["kind"] == "OSError"


def test_a_course_among_the_libraries_is_refused(tmp_path, monkeypatch):
    (tmp_path / "autograde").mkdir()
    monkeypatch.setattr(launch.sysconfig, "get_path", lambda name: str(tmp_path))
    with pytest.raises(CourseError, match="pip install -e"):
        launch.start(Limits())


def test_a_worker_that_cannot_start_is_a_fault_of_the_machine(monkeypatch):
    monkeypatch.setattr(launch, "BOOT", "raise SystemExit('no room')")
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
    started = launch.start(Limits())
    daemon = Between(str(started.private / "home"))
    other, kernel = Between("/elsewhere"), Between("/elsewhere")
    kernel.create_time = lambda: 0.0
    kernel.environ = lambda: {}
    monkeypatch.setattr(launch.psutil, "process_iter", lambda: iter([daemon, other, kernel]))
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
def test_daemons_that_left_the_session_end_with_the_worker(run, end):
    worker = RemoteWorker(Limits(cell_seconds=10))
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
    monkeypatch.setattr(launch.tempfile, "tempdir", str(tmp_path))
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    left, used = tmp_path / f"submission-{dead.pid}-x", tmp_path / f"submission-{os.getpid()}-x"
    others = [tmp_path / "submission-of-mine", tmp_path / "submission-", tmp_path / f"other-{dead.pid}-x"]
    for folder in (left, used, *others):
        (folder / "home").mkdir(parents=True)
    launch.start(Limits()).kill()
    assert sorted(tmp_path.iterdir()) == sorted([used, *others])
