"""The machine as attackers would like to find it: things to steal and to break, and what is left of them."""

from __future__ import annotations

import hashlib
import os
import socket
import tempfile
from dataclasses import dataclass
from pathlib import Path

import psutil
import torch

from autograde.judge import launch
from autograde.project import PROJECT

CANARY = "CANARY-5b1d"
# Where a start-up file would find the next student, and what attacks call theirs.
PLACES = ("/tmp", "/", "/dev/shm", "/var/tmp", str(Path.home()), str(PROJECT))
EVIL = ("sitecustomize.py", "usercustomize.py", "evil.pth", "torch.py", "numpy.py", "lmcourse.py")


@dataclass
class Machine:
    """A course folder with marks and a neighbor's work, and a port on which nobody should call."""

    course: Path
    stream: socket.socket
    datagrams: socket.socket

    @classmethod
    def with_something_to_steal(cls, folder: Path) -> Machine:
        course = folder / "course"
        for name in ("gradebook.db", "course_secret", ".env", "submitted/bob/week01.ipynb"):
            path = course / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{CANARY} {name}\n")
            path.chmod(0o644)
        stream, datagrams = socket.socket(), socket.socket(type=socket.SOCK_DGRAM)
        stream.bind(("127.0.0.1", 0))
        stream.listen()
        datagrams.bind(stream.getsockname())
        stream.setblocking(False)
        datagrams.setblocking(False)
        return cls(course, stream, datagrams)

    def words(self) -> dict[str, str]:
        """What stands in attacks for what is here."""
        server = launch._shared.address
        return {
            "@PROJECT@": str(PROJECT),
            "@COURSE@": str(self.course),
            "@JUDGE@": str(os.getpid()),
            "@PORT@": str(self.stream.getsockname()[1]),
            "@SERVER@": server,
        }

    def called(self) -> bool:
        """Did anything reach the port?"""
        for listen in (self.stream.accept, lambda: self.datagrams.recv(1)):
            try:
                listen()
                return True
            except BlockingIOError:
                continue
        return False

    def state(self) -> dict[str, object]:
        """All that an attack might have changed; the same before and after."""
        watched = [*self.course.rglob("*"), *(Path(self.words()["@SERVER@"]).parent / "lib").rglob("*")]
        watched += [Path(torch.__file__), *Path(torch.__file__).parents[1].glob("*.p*")]
        digest = hashlib.sha256()
        for path in sorted(watched):
            status = path.lstat()
            digest.update(repr((str(path), status.st_size, status.st_mode, status.st_mtime_ns)).encode())
        here = psutil.Process()
        return {
            "files": digest.hexdigest(),
            "temporary": sorted(os.listdir(tempfile.gettempdir())),
            "left behind": [name for name in EVIL if any((Path(place) / name).exists() for place in PLACES)],
            "processes": sorted(p.pid for p in here.children(recursive=True)),
            "descriptors": here.num_fds() if hasattr(here, "num_fds") else 0,
            "host": socket.gethostname(),
            "folder": os.getcwd(),
            "user limits": psutil.Process().nice(),
        }

    def close(self) -> None:
        self.stream.close()
        self.datagrams.close()
