"""A worker started as a program of its own: slower than a fork, and possible on every system.

It uses process groups and inherited descriptors, on Linux and macOS. Windows has neither; there the course is
graded inside WSL or a container.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import psutil

from autograde.judge import library
from autograde.judge.answer import CALLBACK_CAPS
from autograde.judge.leftovers import PREFIX, clear_leftovers
from autograde.judge.limits import SOCKET_SECONDS, Limits
from autograde.sandbox import folders

# How often at most, and how far apart, to look for daemons.
DAEMON_SCANS, DAEMON_SECONDS = 50, 0.01
CLOCK_SECONDS = 1.0  # by which start times of processes may differ from the system's clock
BOOT = "import sys; sys.path += {paths!r}; from {package}.worker.main import main; main(*{arguments!r})"


class ColdWorker:
    """A running worker: its process, the judge's end of the channel, the folder that is deleted with it."""

    def __init__(
        self, process: subprocess.Popen, channel: socket.socket, private: Path, since: float
    ) -> None:
        self.process = process
        self.channel = channel
        self.private = private
        self.since = since  # when it was about to start, in seconds of the system's clock
        self.pid = process.pid
        self.library = str(private / "lib")

    def ended(self) -> bool:
        return self.process.poll() is not None

    def wait(self, seconds: float) -> bool:
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(timeout=seconds)
        return self.ended()

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
        folders.delete(self.private)
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
        """The last line of the worker's output."""
        with suppress(OSError):
            lines = (self.private / "output.txt").read_text(encoding="utf-8", errors="replace").split("\n")
            return next((line.strip() for line in reversed(lines) if line.strip()), "")
        return ""

    def used_disk(self) -> int:
        return folders.used(self.private / "home") + folders.used(self.private / "tmp")


def start(limits: Limits) -> ColdWorker:
    """Start a worker in a private folder of its own; it says `ready` when its imports are done.

    Raises:
        CourseError: `autograde` is installed where the worker's libraries lie, so students could import it.
        OSError: no process or folder can be made.
    """
    libraries = library.libraries()
    clear_leftovers()
    private = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-")).resolve()
    home, temporary = private / "home", private / "tmp"
    ours, theirs = socket.socketpair()
    since = time.time() - CLOCK_SECONDS
    try:
        for place in (home, temporary, private / "lib"):
            place.mkdir()
        library.furnish(private / "lib", home)
        caps = [CALLBACK_CAPS.bytes, CALLBACK_CAPS.nodes]
        arguments = (theirs.fileno(), str(private), limits.memory_bytes, libraries, caps)
        paths = [str(private / "lib"), *libraries]
        boot = BOOT.format(paths=paths, package=library.PACKAGE, arguments=arguments)
        with open(private / "output.txt", "wb") as output:
            process = subprocess.Popen(
                # -P -s -S: neither the current folder, nor the user's, nor site's packages and .pth files
                [sys.executable, "-P", "-s", "-S", "-c", boot],
                cwd=home,
                env=library.environment(home, temporary, home),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
    except BaseException:
        ours.close()
        folders.delete(private)
        raise
    finally:
        theirs.close()
    ours.settimeout(SOCKET_SECONDS)
    return ColdWorker(process, ours, private, since)
