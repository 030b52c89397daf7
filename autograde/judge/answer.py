"""What every kind of answer has in common: the same bytes in and out, the record of calls, the manners."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from autograde.exercise import HiddenExercise, Outcome, StudentError
from autograde.worker import codec

# What one property keeps for the comparison with mutants: its first calls, up to this many and this large.
MAX_CALLS = 50
MAX_CALL_BYTES = 8 * 2**20
# What a student's test may hand to an implementation, which runs in the judge.
CALLBACK_CAPS = codec.Caps(bytes=256 * 2**10, nodes=20_000)
MAX_CALLBACKS = 2_000  # in one run of a student's test


@dataclass(frozen=True)
class Call:
    """One question and its answer; `payload` holds the arguments as bytes, so that nobody can change them."""

    kind: str  # "call", "drive" or "value"
    name: str
    payload: bytes
    result: Any


class BaseAnswer(ABC):
    """An `Answer` (see autograde/exercise.py) on top of `_ask`: a request goes out, a reply comes back."""

    isolation = "none"

    def __init__(self, exercise: HiddenExercise) -> None:
        self.exercise = exercise
        self.calls: list[Call] = []
        self.rudeness: list[str] = []
        self.cpu_seconds = 0.0
        self.peak_bytes = 0

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.call(self.exercise.entry, *args, **kwargs)

    def call(self, name: str, *args: Any, **kwargs: Any) -> Any:
        callbacks: dict[str, Callable] = {}
        payload = codec.dumps((args, kwargs), callbacks)
        reply = self._ask("call", name, payload, callbacks)
        self._watch_manners(name, reply)
        result = self._value_of(name, reply)
        if not callbacks:
            self._record(Call("call", name, payload, result))
        return result

    def drive(self, driver: str, *args: Any) -> Any:
        name = self.exercise.entry
        payload = codec.dumps(((driver, *args), {}))
        reply = self._ask("drive", name, payload, {})
        self._watch_manners(name, reply)
        result = self._value_of(name, reply)
        self._record(Call("drive", name, payload, result))
        return result

    def value(self, name: str) -> Any:
        payload = codec.dumps(((), {}))
        result = self._value_of(name, self._ask("value", name, payload, {}))
        self._record(Call("value", name, payload, result))
        return result

    def test(self, implementation: Callable) -> Outcome:
        callbacks: dict[str, Callable] = {}
        driver = self.exercise.test_driver
        args = (driver, implementation) if driver else (implementation,)
        payload = codec.dumps((args, {}), callbacks)
        reply = self._ask("drive" if driver else "call", self.exercise.entry, payload, callbacks)
        error = reply.get("error")
        if error is None:
            returned = reply.get("value")
            said = "" if returned is None else "it returned a value; a test says no by raising AssertionError"
            return Outcome("accepted", said)
        if error["assertion"]:
            return Outcome("rejected", error["message"])
        return Outcome("error", f"it raised {error['kind']}: {error['message']}")

    @abstractmethod
    def defined(self) -> dict[str, bool]:
        """Which of the exercise's names exist."""

    def forget_calls(self) -> None:
        """Start the record of calls anew; done before each property."""
        self.calls = []

    @abstractmethod
    def _ask(self, kind: str, name: str, payload: bytes, callbacks: dict[str, Callable]) -> dict:
        """Send a request, with the implementations it may call back, and give the reply."""

    def _value_of(self, name: str, reply: dict) -> Any:
        error = reply.get("error")
        if error is not None:
            raise StudentError(name, error["kind"], error["message"])
        return reply.get("value")

    def _record(self, call: Call) -> None:
        held = sum(len(c.payload) for c in self.calls)
        if len(self.calls) < MAX_CALLS and held + len(call.payload) <= MAX_CALL_BYTES:
            self.calls.append(call)

    def _watch_manners(self, name: str, reply: dict) -> None:
        parameters = self._parameters(name)
        said = [f"`{name}` {text}" for text in reply["manners"]]
        for key in reply["changed"]:
            argument = key if isinstance(key, str) else parameters.get(key, f"number {key + 1}")
            if argument not in self.exercise.may_change:
                said.append(f"`{name}` changed its argument `{argument}` in place")
        self.rudeness += [text for text in said if text not in self.rudeness]

    def _parameters(self, name: str) -> dict[int, str]:
        """Names of positional arguments as the contract has them: those of the reference."""
        reference = self.exercise.reference.names.get(name) if self.exercise.reference else None
        if not callable(reference):
            return {}
        return dict(enumerate(inspect.signature(reference).parameters))


def serve_callback(function: Callable, arguments: bytes) -> bytes:
    """Run an implementation on arguments that a student's test gave; the reply as bytes.

    Raises:
        codec.BadMessage: the bytes are no arguments.
    """
    received = codec.loads(arguments, caps=CALLBACK_CAPS)
    if not isinstance(received, tuple) or len(received) != 2 or not isinstance(received[0], tuple):
        raise codec.BadMessage("no arguments")
    args, kwargs = received
    if not isinstance(kwargs, dict) or not all(isinstance(key, str) for key in kwargs):
        raise codec.BadMessage("no arguments")
    try:
        return codec.dumps({"value": function(*args, **kwargs)})
    except Exception as error:  # the caller's arguments did not suit: the student's test hears about it
        return codec.dumps({"error": {"kind": type(error).__name__, "message": str(error)[:500]}})
