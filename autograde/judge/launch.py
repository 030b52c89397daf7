"""Starts a worker: a private folder, a small environment, one inherited socket. Confinement belongs here.

What keeps student code away from the course is that nothing of it is importable and that the private folder
holds nothing but the worker and `lmcourse`. A process of the same user can still open other files by their
path: a kernel sandbox, a spare user and a forked warm start have their place in `start`.

It uses process groups and inherited descriptors, on Linux and macOS. Windows has neither; there the course is
graded inside WSL or a container.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import psutil

import lmcourse
from autograde import worker
from autograde.judge.answer import CALLBACK_CAPS
from autograde.judge.limits import Limits
from lmcourse.errors import CourseError

SOCKET_SECONDS = 0.05
# How often at most, and how far apart, to look for daemons.
DAEMON_SCANS, DAEMON_SECONDS = 50, 0.01
CLOCK_SECONDS = 1.0  # by which start times of processes may differ from the system's clock
PREFIX = "submission-"  # of private folders; the judge's process id and a random part follow
# Names of the judge's environment that a worker gets too: where libraries lie, and nothing else.
INHERITED = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT")
BOOT = "import sys; sys.path += {paths!r}; from worker.main import main; main(*{arguments!r})"


@dataclass
class Started:
    """A running worker: its process, the judge's end of the channel, the folder that is deleted with it."""

    process: subprocess.Popen
    channel: socket.socket
    private: Path
    since: float  # when it was about to start, in seconds of the system's clock

    def kill(self) -> int | None:
        """End the worker and whatever it started, close the channel, delete the folder; the exit status.

        What left the worker's session and then lost its parent is known by the home that it inherited; only
        a process that was given another environment on purpose is not found.
        """
        strays: list[psutil.Process] = []
        with suppress(psutil.Error):
            strays = psutil.Process(self.process.pid).children(recursive=True)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        for stray in strays:
            with suppress(psutil.Error):
                stray.kill()
        self._kill_daemons()
        self.channel.close()
        status = self.process.wait()
        shutil.rmtree(self.private, ignore_errors=True)
        return status

    def _kill_daemons(self) -> None:
        """End what has the worker's home, until a look finds nothing that has it or may have it.

        In the middle of an exec a process has no environment for a moment, and could be taken for another's;
        and what was ended may have started one more.
        """
        home = str(self.private / "home")
        for _ in range(DAEMON_SCANS):
            again = False
            for process in psutil.process_iter():
                with suppress(psutil.Error, OSError):  # another user's process, or one that has just ended
                    environment = process.environ()
                    if environment.get("HOME") == home:
                        again = True
                        process.kill()
                    elif not environment and process.create_time() >= self.since:
                        again = True
            if not again:
                return
            time.sleep(DAEMON_SECONDS)

    def said(self) -> str:
        """The last line of the worker's output: the reason when it did not even start."""
        with suppress(OSError):
            lines = (self.private / "output.txt").read_text(encoding="utf-8", errors="replace").split("\n")
            return next((line.strip() for line in reversed(lines) if line.strip()), "")
        return ""


def start(limits: Limits) -> Started:
    """Start a worker in a private folder of its own; it says `ready` when its imports are done.

    Raises:
        CourseError: `autograde` is installed where the worker's libraries lie, so students could import it.
        OSError: no process or folder can be made.
    """
    libraries = _libraries()
    _clear_leftovers()
    private = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-"))
    ours, theirs = socket.socketpair()
    since = time.time() - CLOCK_SECONDS
    try:
        _furnish(private)
        arguments = (theirs.fileno(), limits.memory_bytes, CALLBACK_CAPS.bytes, CALLBACK_CAPS.nodes)
        boot = BOOT.format(paths=[str(private / "lib"), *libraries], arguments=arguments)
        with open(private / "output.txt", "wb") as output:
            process = subprocess.Popen(
                # -P -s -S: neither the current folder, nor the user's, nor site's packages and .pth files
                [sys.executable, "-P", "-s", "-S", "-c", boot],
                cwd=private / "home",
                env=_environment(private),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
    except BaseException:
        ours.close()
        shutil.rmtree(private, ignore_errors=True)
        raise
    finally:
        theirs.close()
    ours.settimeout(SOCKET_SECONDS)
    return Started(process, ours, private, since)


def _clear_leftovers() -> None:
    """Delete the private folders of judges that were killed before they could do it themselves."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*-*"):
        judge = folder.name.removeprefix(PREFIX).partition("-")[0]
        if judge.isdecimal() and not psutil.pid_exists(int(judge)):
            shutil.rmtree(folder, ignore_errors=True)


def _furnish(private: Path) -> None:
    """Copies, so that student code can spoil only its own."""
    for name in ("home", "tmp", "lib"):
        (private / name).mkdir()
    package = Path(lmcourse.__file__).parent
    shutil.copytree(Path(worker.__file__).parent, private / "lib" / "worker")
    shutil.copytree(package, private / "lib" / "lmcourse")
    runs = package.parent / "data" / "runs"  # recorded runs, which notebooks may load
    if runs.is_dir():
        shutil.copytree(runs, private / "lib" / "data" / "runs")
    _copy_font_list(private / "home")


def _copy_font_list(home: Path) -> None:
    """matplotlib lists the machine's fonts when it finds no list, which takes longer than most answers."""
    import matplotlib

    for fonts in Path(matplotlib.get_cachedir()).glob("fontlist-*.json"):
        shutil.copy(fonts, home)


def _environment(private: Path) -> dict[str, str]:
    home = str(private / "home")
    return {
        **{name: os.environ[name] for name in INHERITED if name in os.environ},
        "HOME": home,
        "TMPDIR": str(private / "tmp"),
        "IPYTHONDIR": home,
        "MPLCONFIGDIR": home,
        "MPLBACKEND": "Agg",
        "LANG": "C.UTF-8",
        "PYTHONUTF8": "1",
        "PYTHONHASHSEED": "0",  # a regrade sees the same order of sets
        "OMP_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }


def _libraries() -> list[str]:
    """The folders of installed packages, in which the course itself must not lie."""
    folders = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    for package in ("torch", "numpy", "IPython"):
        spec = find_spec(package)
        folders.add(str(Path(spec.origin).parents[1]))
    for folder in folders:
        if (Path(folder) / "autograde").is_dir():
            raise CourseError(
                f"autograde is installed in {folder}, where student code can read it; "
                "install the course with `pip install -e .`"
            )
    return sorted(folders)
