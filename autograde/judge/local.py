"""An answer whose functions run in this process: for solutions that the course itself wrote.

Everything still passes through the codec, so the mutation matrix sees what a worker would hand over. Student
code never comes here, except in `autograde.run` on an instructor's own machine.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from autograde.exercise import HiddenExercise
from autograde.judge.answer import CALLBACK_CAPS, BaseAnswer, serve_callback
from autograde.worker import calls, codec


class LocalAnswer(BaseAnswer):
    """The names of a solution, or of an executed notebook, as an `Answer`."""

    isolation = "none"

    def __init__(self, exercise: HiddenExercise, names: Mapping[str, Any]) -> None:
        super().__init__(exercise)
        self.names = {name: names[name] for name in exercise.spec.names if name in names}

    def defined(self) -> dict[str, bool]:
        return {name: name in self.names for name in self.exercise.spec.names}

    def _ask(self, kind: str, name: str, payload: bytes, callbacks: dict[str, Callable]) -> dict:
        started = time.process_time()
        if name not in self.names:
            reply = calls.missing(name)
        elif kind == "value":
            reply = {"value": self.names[name], "changed": {}, "manners": []}
        else:
            args, kwargs = codec.loads(payload, lambda key: _proxy(callbacks[key]))
            if kind == "drive":
                reply = calls.drive(self.names, name, args)
            else:
                reply = calls.perform(self.names[name], args, kwargs)
        reply = codec.loads(calls.encode(reply))
        self.cpu_seconds += time.process_time() - started
        if reply.get("error", {}).get("kind") == "KeyboardInterrupt":
            raise KeyboardInterrupt
        return reply


def _proxy(function: Callable) -> Callable:
    def implementation(*args: Any, **kwargs: Any) -> Any:
        reply = codec.loads(serve_callback(function, codec.dumps((args, kwargs), caps=CALLBACK_CAPS)))
        return calls.unwrap(reply)

    return implementation
