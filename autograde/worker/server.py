"""The fork server: has every library loaded, never sees a secret, and forks a confined child per submission.

It is started by the judge as a program of its own, so it inherits no memory of the judge's, enters a small
root of its own where the system lets it, and warms up. A judge connects and sends `{"do": "start", ...}`
with a channel; it gets a handle of the child (a pidfd). `{"do": "end"}` kills the child, deletes what it
wrote and gives its exit status. When a judge goes away, its children go too; when the one that started the
server goes away, so does the server.

A process must have one thread when it forks, or the child may wait for ever for locks that nobody holds. So
torch has one thread here, and that nothing started another is checked before each fork.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import socket
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from ..sandbox import confine, folders, identity, namespaces, resources

DISK_BYTES, DISK_FILES = 512 * 2**20, 20_000
MAX_REQUEST = 4_096


@dataclass
class Child:
    pid: int
    number: int
    private: Path
    mounted: bool


@dataclass
class Judge:
    """A connection, and the children that were started over it."""

    connection: socket.socket
    children: dict[int, Child] = field(default_factory=dict)


class Server:
    """Forks children for the judges that connect, one request at a time."""

    def __init__(self, base: Path, libraries: list[str]) -> None:
        self.libraries = libraries
        self.scratch = base / "run"
        self.library = base / "lib"
        self.read = (*confine.readable(libraries), str(self.library))
        self.means = ["process", "fork server"]
        self.worlds: namespaces.ProcessWorlds | None = None
        self.count = 0

    def wall_in(self, root: Path) -> None:
        """Enter namespaces; raises OSError where the system refuses, and then this process must end."""
        namespaces.enter(root, confine.exists(self.read), confine.DEVICES, self.scratch)
        self.worlds = namespaces.ProcessWorlds()
        self.means += ["mount", "net", "pid"]

    def warm_up(self) -> None:
        from . import codec, guards, output, warm
        from .main import serve, settle

        settings = self.scratch / "settings"  # matplotlib and IPython want a folder that they can write to
        shutil.copytree(self.library / "settings", settings)
        os.environ.update(MPLCONFIGDIR=str(settings), IPYTHONDIR=str(settings))
        self.guard = guards.install()
        self.shell = warm.warm_up()
        self.codec, self.output, self.serve_child, self.settle = codec, output, serve, settle

    def serve(self, listener: socket.socket, lifeline: int) -> None:
        """Until the lifeline closes."""
        judges: dict[int, Judge] = {}
        while True:
            ready, _, _ = select.select([lifeline, listener, *judges], [], [])
            if lifeline in ready:
                return
            for source in ready:
                if source is listener:
                    connection, _ = listener.accept()
                    judges[connection.fileno()] = Judge(connection)
                elif not self.answer(judges[source]):
                    gone = judges.pop(source)
                    for child in gone.children.values():
                        self.end(child)
                    gone.connection.close()

    def answer(self, judge: Judge) -> bool:
        """Serve one request; False when the judge is gone."""
        try:
            data, descriptors, _, _ = socket.recv_fds(judge.connection, MAX_REQUEST, 1)
        except OSError:
            return False
        if not data:
            return False
        request = json.loads(data)
        handles: list[int] = []
        try:
            if request["do"] == "start":
                reply, handles = self.start(judge, request, descriptors[0])
            else:
                reply = {"status": self.end(judge.children.pop(request["child"]))}
        except Exception as error:
            reply = {"error": f"{type(error).__name__}: {error}"}
        finally:
            for descriptor in descriptors:
                os.close(descriptor)
        try:
            socket.send_fds(judge.connection, [json.dumps(reply).encode()], handles)
        except OSError:
            return False
        finally:
            for handle in handles:
                os.close(handle)
        return True

    def start(self, judge: Judge, request: dict, channel: int) -> tuple[dict, list[int]]:
        threads = len(os.listdir("/proc/self/task"))
        if threads != 1:
            raise RuntimeError(f"the fork server has {threads} threads, and a fork needs one")
        self.count += 1
        child = Child(0, self.count, self.scratch / str(self.count), self.worlds is not None)
        user = identity.spare(os.getpid() + self.count, self.read)
        self.furnish(child, user)
        try:
            child.pid = os.fork() if self.worlds is None else self.worlds.fork()
            if child.pid == 0:
                self.become_child(child, request, channel, user)
            handle = os.pidfd_open(child.pid)
        except BaseException:
            self.clean(child)
            raise
        judge.children[child.number] = child
        return {"child": child.number, "private": str(child.private), "capped": child.mounted}, [handle]

    def furnish(self, child: Child, user: int | None) -> None:
        child.private.mkdir(mode=0o700)
        owner = os.geteuid() if user is None else user
        if child.mounted:
            namespaces.mount_private(child.private, DISK_BYTES, DISK_FILES, owner)
        for name in ("home", "tmp"):
            (child.private / name).mkdir()
            if user is not None:
                os.chown(child.private / name, user, user)
        if user is not None and not child.mounted:
            os.chown(child.private, user, user)

    def become_child(self, child: Child, request: dict, channel: int, user: int | None) -> None:
        """Never returns."""
        try:
            resources.die_with_parent()
            os.setsid()
            signal.set_wakeup_fd(-1)
            os.dup2(channel, 3)
            os.closerange(4, 2**20)
            null = os.open("/dev/null", os.O_RDWR)
            for standard in range(3):
                os.dup2(null, standard)
            os.close(null)
            self.output.capture()
            home, temporary = str(child.private / "home"), str(child.private / "tmp")
            self.settle(home, temporary)
            policy = confine.Policy(self.read, (home, temporary), request["memory"], user)
            caps = self.codec.Caps(*request["caps"])
            self.serve_child(socket.socket(fileno=3), self.shell, self.guard, policy, caps, self.means)
        except BaseException as error:
            with suppress(BaseException):
                os.write(2, f"{type(error).__name__}: {error}\n".encode())
        finally:
            os._exit(70)

    def end(self, child: Child) -> int:
        """Kill what still runs; the exit status as `subprocess` gives it."""
        with suppress(ProcessLookupError):
            os.kill(child.pid, signal.SIGKILL)
        _, status = os.waitpid(child.pid, 0)
        self.clean(child)
        return os.waitstatus_to_exitcode(status)

    def clean(self, child: Child) -> None:
        if child.mounted:
            namespaces.unmount(child.private)
            child.private.rmdir()
        else:
            folders.delete(child.private)


def main(listener: int, lifeline: int, base: str, libraries: list[str], walls: bool) -> None:
    """Entry point; says `ready` or a reason on standard output, then serves."""
    server = Server(Path(base), libraries)
    try:
        if walls:
            server.wall_in(Path(base) / "root")
        else:
            server.scratch.mkdir()
        began = time.perf_counter()
        server.warm_up()
        report = {"means": server.means, "seconds": time.perf_counter() - began}
    except BaseException as error:
        report = {"error": f"{type(error).__name__}: {error}"}
    print(json.dumps(report), flush=True)
    if "error" in report:
        sys.stdout.flush()
        os._exit(1)
    server.serve(socket.socket(fileno=listener), lifeline)
    os._exit(0)
