"""The worker's loop: one request at a time from the judge, one reply to each, until the channel closes.

A request is `{"seq", "kind", ...}`, its reply `{"seq", "kind": "reply", "body"}` with the same `seq`. While a
call runs, the worker may send `{"seq", "kind": "callback", "name", "payload"}`; it gets bytes back.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from typing import Any

import torch

from . import calls, codec, frames, limits, output
from .shell import Shell


class Worker:
    """Serves one channel with one student's namespace."""

    def __init__(self, channel: socket.socket, shell: Shell, callback_caps: codec.Caps) -> None:
        self.channel = channel
        self.shell = shell
        self.callback_caps = callback_caps

    def serve(self) -> None:
        while True:
            request = codec.loads(frames.receive(self.channel))
            body = self.handle(request)
            reply = {"seq": request["seq"], "kind": "reply", "body": body}
            frames.send(self.channel, codec.dumps(reply, caps=codec.ENVELOPE_CAPS))

    def handle(self, request: dict) -> bytes:
        kind = request["kind"]
        if kind == "run":
            return codec.dumps(self.shell.run(request["source"]))
        if kind == "defined":
            return codec.dumps({name: self.shell.has(name) for name in request["names"]})
        name = request["name"]
        if not self.shell.has(name):
            return codec.dumps(calls.missing(name))
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


def main(descriptor: int, memory_bytes: int, callback_bytes: int, callback_nodes: int) -> None:
    """Entry point of the process; never returns."""
    limits.die_with_parent()
    channel = socket.socket(fileno=descriptor)
    output.capture()
    torch.set_num_threads(1)
    worker = Worker(channel, Shell(), codec.Caps(callback_bytes, callback_nodes))
    limits.apply(memory_bytes)
    frames.send(channel, codec.dumps({"seq": "", "kind": "ready"}))
    try:
        worker.serve()
    except frames.Closed:
        os._exit(0)  # without the exit handlers that student code may have left
