"""The worker's loop: one request at a time from the judge, one reply to each, until the channel closes.

A request is `{"seq", "kind", ...}`, its reply `{"seq", "kind": "reply", "body"}` with the same `seq`. While a
call runs, the worker may send `{"seq", "kind": "callback", "name", "payload"}`; it gets bytes back. At any
time it may send `{"kind": "forbidden", "name"}`, after which it ends.
"""

from __future__ import annotations

import os
import random
import socket
import sys
import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from ..sandbox import confine, resources
from . import calls, codec, frames, guards, output
from .shell import Shell

FORBIDDEN_EXIT = 77


class Worker:
    """Serves one channel with one student's namespace."""

    def __init__(
        self, channel: socket.socket, shell: Shell, callback_caps: codec.Caps, guard: guards.Guard
    ) -> None:
        self.channel = channel
        self.shell = shell
        self.callback_caps = callback_caps
        self.guard = guard
        guard.report = self.tell

    def serve(self) -> None:
        while True:
            request = codec.loads(frames.receive(self.channel))
            body = self.handle(request)
            reply = {"seq": request["seq"], "kind": "reply", "body": body}
            frames.send(self.channel, codec.dumps(reply, caps=codec.ENVELOPE_CAPS))

    def handle(self, request: dict) -> bytes:
        kind = request["kind"]
        if kind == "run":
            self.guard.forbidden = ()
            return codec.dumps(self.shell.run(request["source"]))
        if kind == "defined":
            return codec.dumps({name: self.shell.has(name) for name in request["names"]})
        name = request["name"]
        if not self.shell.has(name):
            return codec.dumps(calls.missing(name))
        # In force until the next cell: what a thread does between two calls counts too.
        self.guard.forbidden = tuple(request.get("forbidden", ()))
        if kind == "value":
            return calls.encode({"value": self.shell.get(name), "changed": {}, "manners": []})
        active = {"seq": request["seq"]}
        args, kwargs = codec.loads(request["payload"], lambda callback: self.proxy(callback, active))
        if kind == "drive":
            reply = calls.drive(self.shell.names, name, args)
        else:
            reply = calls.perform(self.shell.get(name), args, kwargs)
        active.clear()
        return calls.encode(reply)

    def proxy(self, name: str, active: dict) -> Callable:
        """A function that runs on the judge's side, for as long as the call lasts that it was given to."""

        def implementation(*args: Any, **kwargs: Any) -> Any:
            if "seq" not in active:
                raise RuntimeError("this function can be called only while the test runs that received it")
            payload = codec.dumps((args, kwargs), caps=self.callback_caps)
            message = {"seq": active["seq"], "kind": "callback", "name": name, "payload": payload}
            frames.send(self.channel, codec.dumps(message))
            return calls.unwrap(codec.loads(frames.receive(self.channel)))

        return implementation

    def tell(self, name: str) -> None:
        """Say that something forbidden runs, and end before it can be unsaid."""
        frames.send(self.channel, codec.dumps({"kind": "forbidden", "name": name}))
        os._exit(FORBIDDEN_EXIT)


def settle(home: str, temporary: str) -> None:
    """Make a private folder this process's home, and start all random numbers from the same place."""
    os.environ.update(HOME=home, IPYTHONDIR=home, TMPDIR=temporary)
    tempfile.tempdir = None  # may hold the answer of another environment
    os.chdir(home)
    sys.path.append(home)  # a module that a cell wrote; behind the libraries, so that it shadows none
    random.seed(0)
    np.random.seed(0)
    torch.manual_seed(0)


def serve(
    channel: socket.socket, shell: Shell, guard: guards.Guard, policy: confine.Policy, caps: codec.Caps,
    around: list[str],
) -> None:  # fmt: skip
    """Confine this process and serve the judge; `around` names what stands around it already. No return."""
    worker = Worker(channel, shell, caps, guard)
    means = around + confine.confine(policy)
    frames.send(channel, codec.dumps({"kind": "ready", "isolation": means}))
    try:
        worker.serve()
    except frames.Closed:
        os._exit(0)  # without the exit handlers that student code may have left


def main(descriptor: int, private: str, memory_bytes: int, libraries: list[str], caps: list[int]) -> None:
    """Entry point of a process started for one worker alone; never returns."""
    resources.die_with_parent()
    channel = socket.socket(fileno=descriptor)
    guard = guards.install()
    output.capture()
    torch.set_num_threads(1)
    shell = Shell()
    home, temporary = f"{private}/home", f"{private}/tmp"
    settle(home, temporary)
    read = (*confine.readable(libraries), f"{private}/lib")
    policy = confine.Policy(read, (home, temporary), memory_bytes)
    serve(channel, shell, guard, policy, codec.Caps(*caps), ["process"])
