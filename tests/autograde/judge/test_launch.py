"""What student code finds around it, asked from inside one worker, started in either way."""

import os
from pathlib import Path

import psutil
import pytest

from autograde.judge import cold, launch, remote
from autograde.judge.limits import Limits
from autograde.judge.remote import RemoteWorker
from autograde.project import PROJECT


@pytest.fixture(scope="module", params=["warm", "cold"])
def worker(request):
    if request.param == "warm" and not launch.prepare():
        pytest.skip(launch.why_cold())
    os.environ["LMCOURSE_TEST_TOKEN"] = "secret"
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "cold":
            patch.setattr(remote, "start", cold.start)
        worker = RemoteWorker(Limits(cell_seconds=10, allow_unconfined=True))
    yield worker
    worker.close()
    del os.environ["LMCOURSE_TEST_TOKEN"]
    assert not psutil.pid_exists(worker.started.pid)


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


def test_the_folder_is_private_and_empty(worker):
    for name in ("HOME", "TMPDIR"):
        folder = ask(worker, f"__import__('os').environ[{name!r}]")
        assert Path(folder).parent == Path(ask(worker, "__import__('os').getcwd()")).parent
        found = set(ask(worker, f"__import__('os').listdir({folder!r})")) - {"profile_default"}  # IPython's
        assert not [name for name in found if not name.startswith("fontlist")]


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
        "%%writefile helper.py\nvalue = 7",
        "import helper\nassert helper.value == 7",
        "plt.savefig('figure.png')\nplt.savefig('figure.pdf')",
        "import logging, random, uuid, tempfile\ntempfile.mkdtemp()\nuuid.uuid4()",
        "x = torch.ones(64, 64, requires_grad=True)\n(x @ x).sum().backward()",
        "from concurrent.futures import ThreadPoolExecutor\n"
        "with ThreadPoolExecutor(4) as pool:\n    list(pool.map(abs, [-1, 2]))",
        "torch.utils.data.DataLoader([1, 2, 3], batch_size=2).__iter__().__next__()",
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
