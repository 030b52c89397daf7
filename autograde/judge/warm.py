"""The judge's side of the fork server: starting one, and asking it for workers."""

from __future__ import annotations

import json
import os
import select
import socket
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

from autograde.judge import library
from autograde.judge.answer import CALLBACK_CAPS
from autograde.judge.leftovers import PREFIX, clear_leftovers
from autograde.judge.limits import SOCKET_SECONDS, Limits
from autograde.sandbox import folders

START_SECONDS = 120.0
ANSWER_SECONDS = 60.0
BOOT = "import sys; sys.path += {paths!r}; from {package}.worker.server import main; main(*{arguments!r})"


class NoServer(Exception):
    """There is no fork server, and why."""


class ForkServer:
    """A running server. It ends when this object is closed, or when this process ends, however it does."""

    def __init__(self, process: subprocess.Popen, base: Path, lifeline: int, means: list[str]) -> None:
        self.process = process
        self.base = base
        self.lifeline = lifeline
        self.means = means

    @property
    def address(self) -> str:
        return str(self.base / "judges")

    @classmethod
    def open(cls) -> ForkServer:
        """Start a server: behind its own walls where the system allows it, else without.

        Raises:
            NoServer: neither comes up; the message says why.
            CourseError: `autograde` is installed where the worker's libraries lie.
        """
        try:
            return cls._open(walls=True)
        except NoServer:
            return cls.without_walls()

    @classmethod
    def without_walls(cls) -> ForkServer:
        """The server alone; its children confine themselves with what needs no right of the system's.

        Raises:
            NoServer: it does not come up.
        """
        return cls._open(walls=False)

    @classmethod
    def _open(cls, walls: bool) -> ForkServer:
        libraries = library.libraries()
        clear_leftovers()
        base = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-")).resolve()
        ours, theirs = os.pipe()  # nothing is ever written; it closes when this process ends
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
                process = _launch(base, libraries, listener, ours, walls)
        except OSError as error:
            os.close(theirs)
            folders.delete(base)
            raise NoServer(str(error)) from None
        finally:
            os.close(ours)
        server = cls(process, base, theirs, [])
        try:
            server.means = _first_words(process)
        except NoServer:
            server.close()
            raise
        return server

    def close(self) -> None:
        with suppress(OSError):
            os.close(self.lifeline)
        try:
            self.process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        folders.delete(self.base)


def _launch(
    base: Path, libraries: list[str], listener: socket.socket, lifeline: int, walls: bool
) -> subprocess.Popen:
    settings = base / "lib" / "settings"
    for folder in (base / "root", settings):
        folder.mkdir(parents=True)
    base.chmod(0o711)  # a worker with a user id of its own has to pass through
    library.furnish(base / "lib", settings)
    listener.bind(str(base / "judges"))
    (base / "judges").chmod(0o600)
    listener.listen()
    arguments = (listener.fileno(), lifeline, str(base), libraries, walls)
    paths = [str(base / "lib"), *libraries]
    boot = BOOT.format(paths=paths, package=library.PACKAGE, arguments=arguments)
    with open(base / "said", "wb") as said:
        return subprocess.Popen(
            # -P -s -S: neither the current folder, nor the user's, nor site's packages and .pth files
            [sys.executable, "-P", "-s", "-S", "-c", boot],
            cwd=base / "lib",
            env=library.environment(base / "lib", base / "lib", settings),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=said,
            pass_fds=[listener.fileno(), lifeline],
            start_new_session=True,
        )


def _first_words(process: subprocess.Popen) -> list[str]:
    ready, _, _ = select.select([process.stdout], [], [], START_SECONDS)
    line = process.stdout.readline() if ready else b""
    report = json.loads(line) if line else {"error": "it said nothing"}
    if "error" in report:
        raise NoServer(f"the fork server did not come up: {report['error']}")
    return report["means"]


class Link:
    """One judge's connection to a server."""

    def __init__(self, address: str) -> None:
        self.library = str(Path(address).parent / "lib")
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(ANSWER_SECONDS)
        try:
            self.socket.connect(address)
        except OSError as error:
            self.socket.close()
            raise NoServer(f"no fork server answers: {error}") from None

    def close(self) -> None:
        self.socket.close()

    def start(self, limits: Limits) -> WarmWorker:
        """A child of the server, about to confine itself.

        Raises:
            NoServer: the server is gone, or cannot fork.
        """
        ours, theirs = socket.socketpair()
        caps = [CALLBACK_CAPS.bytes, CALLBACK_CAPS.nodes]
        try:
            request = {"do": "start", "memory": limits.memory_bytes, "caps": caps}
            reply, handles = self.ask(request, [theirs.fileno()])
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        ours.settimeout(SOCKET_SECONDS)
        private = None if reply["capped"] else Path(reply["private"])
        return WarmWorker(self, reply["child"], handles[0], ours, private)

    def ask(self, request: dict, descriptors: list[int] | None = None) -> tuple[dict, list[int]]:
        try:
            socket.send_fds(self.socket, [json.dumps(request).encode()], descriptors or [])
            data, handles, _, _ = socket.recv_fds(self.socket, 4_096, 1)
        except OSError as error:
            raise NoServer(f"the fork server does not answer: {error}") from None
        reply = json.loads(data) if data else {"error": "it is gone"}
        if "error" in reply:
            for handle in handles:
                os.close(handle)
            raise NoServer(f"the fork server: {reply['error']}")
        return reply, handles


class WarmWorker:
    """A worker that the server forked; its handle tells when it ends, whoever the parent is."""

    def __init__(
        self, link: Link, number: int, handle: int, channel: socket.socket, private: Path | None
    ) -> None:
        self.link = link
        self.number = number
        self.handle = handle
        self.channel = channel
        self.private = private  # where the system does not cap what it holds
        self.library = link.library
        self.pid = _pid_of(handle)

    def ended(self) -> bool:
        return self.wait(0)

    def wait(self, seconds: float) -> bool:
        return self.handle < 0 or bool(select.select([self.handle], [], [], seconds)[0])

    def kill(self) -> int | None:
        self.channel.close()
        if self.handle < 0:
            return None
        os.close(self.handle)
        self.handle = -1
        try:
            return self.link.ask({"do": "end", "child": self.number})[0]["status"]
        except NoServer:  # then its children are gone too
            return None

    def said(self) -> str:
        return ""

    def used_disk(self) -> int:
        return 0 if self.private is None else folders.used(self.private)


def _pid_of(handle: int) -> int:
    """The process's number as this process counts: the server may count otherwise."""
    for line in Path(f"/proc/self/fdinfo/{handle}").read_text().splitlines():
        if line.startswith("Pid:"):
            return int(line.split()[1])
    raise NoServer("this kernel does not tell the number of a process")
