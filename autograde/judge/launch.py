"""Starts a worker: warm, as a child of the fork server, where that works; else as a program of its own.

The fork server belongs to this process, or to the process that gave its address to `share`. Where none can
be had (macOS, an old kernel, a server that does not come up), each worker is started cold.
"""

from __future__ import annotations

import atexit
import os
import socket
import sys
from dataclasses import dataclass
from typing import Protocol

from autograde.judge import cold, warm
from autograde.judge.limits import Limits


class Started(Protocol):
    """A running worker, whichever way it was started."""

    pid: int
    channel: socket.socket
    library: str  # where the course lies that student code sees

    def ended(self) -> bool:
        """Is the process gone?"""

    def kill(self) -> int | None:
        """End it and all that it started, close the channel, delete its folder; the exit status."""

    def wait(self, seconds: float) -> bool:
        """Wait for it to end by itself; whether it did."""

    def said(self) -> str:
        """The reason when it did not even start."""

    def used_disk(self) -> int:
        """Bytes in its private folder; 0 where the system itself caps them."""


@dataclass
class _Shared:
    """The fork server of this process: how it is reached, and whether there is any use in trying."""

    owner: int = 0
    server: warm.ForkServer | None = None
    address: str = ""
    link: warm.Link | None = None
    why_cold: str = ""


_shared = _Shared()


def start(limits: Limits) -> Started:
    """Start a worker in a private folder of its own; it says `ready` when it is confined.

    Raises:
        CourseError: `autograde` is installed where the worker's libraries lie, so students could import it.
        OSError: no process or folder can be made.
    """
    link = _linked()
    if link is not None:
        try:
            return link.start(limits)
        except warm.NoServer:
            forget()
            link = _linked()  # a new one, once: the old one may have run out of memory
            if link is not None:
                try:
                    return link.start(limits)
                except warm.NoServer as error:
                    _shared.why_cold = str(error)
    return cold.start(limits)


def prepare() -> str:
    """Start this process's fork server now, or find that there is none to have; its address, or "".

    A pool of judges calls this once and lets each judge `share` the address, so that all of them use one.
    """
    _linked()
    return _shared.address


def share(address: str) -> None:
    """Use the fork server that another process has prepared; "" leaves it to this process to start one."""
    forget()
    if address:
        _shared.owner, _shared.address = os.getpid(), address


def forget() -> None:
    """Let go of the fork server; one that was started here ends."""
    if _shared.owner == os.getpid():
        if _shared.link is not None:
            _shared.link.close()
        if _shared.server is not None:
            _shared.server.close()
    _shared.__init__()


def why_cold() -> str:
    """Why workers are started cold; empty while they are not."""
    return _shared.why_cold


def _linked() -> warm.Link | None:
    if _shared.owner != os.getpid():  # also after a fork: the parent's server is the parent's
        _shared.__init__()
        _shared.owner = os.getpid()
    if _shared.link is not None or _shared.why_cold:
        return _shared.link
    if sys.platform != "linux":
        _shared.why_cold = "there is no fork server on this system"
        return None
    try:
        if not _shared.address:
            _shared.server = warm.ForkServer.open()
            _shared.address = _shared.server.address
            atexit.register(forget)
        _shared.link = warm.Link(_shared.address)
    except warm.NoServer as error:
        _shared.why_cold = str(error)
    return _shared.link
