"""A worker as the judge sees it: requests out, checked replies in, and an end that is final.

What arrives is hostile until checked: a frame too long, one that is no message, one that carries another
number than the question's, or one too many ends the worker with a verdict state. Writing to the channel
gains a student nothing anyway: a forged reply can only say what the function itself could have returned.
"""

from __future__ import annotations

import secrets
import signal
import time
from collections.abc import Callable
from typing import Any

from autograde.exercise import HiddenExercise
from autograde.judge import confinement
from autograde.judge.answer import MAX_CALLBACKS, BaseAnswer, serve_callback
from autograde.judge.ended import AnswerEnded
from autograde.judge.forbidden import Forbidden
from autograde.judge.launch import Started, start
from autograde.judge.limits import SOCKET_SECONDS, Deadline, Limits, Watch
from autograde.judge.score_tests import n_trials
from autograde.worker import codec, frames

START_SECONDS = 120.0
DYING_SECONDS = 2.0  # how long a process that closed its channel may take to end
FORGED = "wrote to the grader's own channel; no answer needs that"
OUT_OF_MEMORY = ("MemoryError", "can't allocate memory")


class RemoteWorker:
    """One worker process. After any `AnswerEnded` it is dead, and further requests raise the same again."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.ended: AnswerEnded | None = None
        self.isolation = "process"
        self.started: Started = start(limits)
        self.watch = Watch(self.started.pid, limits, self.started.used_disk)
        self._wait_until_ready()

    def run_cell(self, source: str) -> dict | None:
        """Run one cell; None, or `{"kind", "message"}` of the error that stopped it."""
        body = self.ask({"kind": "run", "source": source}, self.limits.cell_seconds)
        error = body.get("error")
        return None if error is None else _checked_error(error, self)

    def defined(self, names: tuple[str, ...]) -> dict[str, bool]:
        body = self.ask({"kind": "defined", "names": list(names)}, self.limits.cell_seconds)
        return {name: body.get(name) is True for name in names}

    def ask(self, request: dict, seconds: float, callbacks: dict[str, Callable] | None = None) -> dict:
        """Send a request and return the body of its reply.

        Raises:
            AnswerEnded: the worker died, took more than `seconds` of processor time, or broke the protocol.
        """
        if self.ended is not None:
            raise self.ended
        deadline = self.watch.deadline(seconds)
        try:
            body = self._converse(request, deadline, callbacks or {})
            if self._unread():
                raise codec.BadMessage("more than one answer")
            return body
        except AnswerEnded as end:
            self._end(end)
        except frames.Closed:
            self._end(None)
        except (frames.Oversized, codec.BadMessage):
            self._end(AnswerEnded("forbidden", FORGED))
        except Exception as error:
            self._end(
                AnswerEnded("harness_fault", f"the grader failed: {type(error).__name__}: {error}"[:300])
            )
        finally:
            self.watch.look()
        raise self.ended

    def broken(self) -> AnswerEnded:
        """End the worker because its reply, though a message, is not what was asked for."""
        self._end(AnswerEnded("forbidden", FORGED))
        return self.ended

    def close(self) -> None:
        if self.ended is None:
            self.ended = AnswerEnded("not_run", "the worker is closed")
            self.started.kill()

    def _converse(self, request: dict, deadline: Deadline, callbacks: dict[str, Callable]) -> dict:
        number = secrets.token_hex(8)
        self._send({"seq": number, **request}, deadline)
        for _ in range(MAX_CALLBACKS):
            message = self._receive(deadline)
            kind = _text(message, "kind")
            if kind == "forbidden":
                raise AnswerEnded("forbidden", _text(message, "name")[:200])
            if _text(message, "seq") != number:
                raise codec.BadMessage("an answer to no question")
            if kind == "reply":
                body = codec.loads(_bytes(message.get("body")))
                if not isinstance(body, dict):
                    raise codec.BadMessage("a reply without a body")
                return body
            function = callbacks.get(_text(message, "name"))
            if kind != "callback" or function is None:
                raise codec.BadMessage("a message of an unknown kind")
            began = time.process_time()
            answer = serve_callback(function, _bytes(message.get("payload")))
            self.watch.charged_seconds += time.process_time() - began
            deadline.check()
            frames.send(self.started.channel, answer, self._tick(deadline))
        raise AnswerEnded("time_out", f"called the implementation more than {MAX_CALLBACKS} times")

    def _send(self, message: dict, deadline: Deadline) -> None:
        payload = codec.dumps(message, caps=codec.ENVELOPE_CAPS)
        frames.send(self.started.channel, payload, self._tick(deadline))

    def _receive(self, deadline: Deadline) -> dict:
        payload = frames.receive(self.started.channel, self._tick(deadline))
        message = codec.loads(payload, caps=codec.ENVELOPE_CAPS)
        if not isinstance(message, dict):
            raise codec.BadMessage("no message")
        return message

    def _tick(self, deadline: Deadline) -> Callable[[], None]:
        """Between parts of a frame: has time run out, or is the worker gone while a child holds on?"""

        def check() -> None:
            deadline.check()
            if self.started.ended() and not self._unread():
                raise frames.Closed

        return check

    def _unread(self) -> bool:
        channel = self.started.channel
        channel.setblocking(False)
        try:
            return bool(channel.recv(1, 2))  # MSG_PEEK
        except OSError:
            return False
        finally:
            channel.settimeout(SOCKET_SECONDS)

    def _end(self, end: AnswerEnded | None) -> None:
        """Kill the worker; without a reason given, its exit status is the reason."""
        if self.ended is not None:
            return
        if end is None and not self.started.wait(DYING_SECONDS):
            end = AnswerEnded("student_error", "closed the grader's channel")
        status = self.started.kill()
        self.ended = end if end is not None else _cause_of_death(status)

    def _wait_until_ready(self) -> None:
        deadline = self.watch.deadline(START_SECONDS)
        try:
            message = self._receive(deadline)
            ready = _text(message, "kind") == "ready"
            said = "" if ready else self.started.said()
            means = [str(name) for name in message.get("isolation", [])]
        except (AnswerEnded, frames.Closed, frames.Oversized, codec.BadMessage) as error:
            ready, said = False, self.started.said() or str(error)
        if not ready:
            self._end(AnswerEnded("infrastructure_fault", f"the worker did not start: {said}"[:300]))
            raise self.ended
        self.isolation = confinement.named(means)
        try:
            confinement.check(means, self.limits.allow_unconfined)
        except AnswerEnded as end:
            self._end(end)
            raise
        self.watch.base_bytes = None  # from here on: what the student's code adds
        self.watch.look()


class RemoteAnswer(BaseAnswer):
    """A student's work in a worker.

    One call may take the exercise's seconds. All calls together may take twelve times that, or as often as
    there are implementations to try a student's test on.
    """

    CALLS_IN_FULL = 12

    def __init__(self, exercise: HiddenExercise, worker: RemoteWorker) -> None:
        super().__init__(exercise)
        self.worker = worker
        self.isolation = worker.isolation
        self.forbidden = Forbidden(exercise)
        self.start_seconds = worker.watch.total_seconds
        self.seconds_in_all = exercise.call_seconds * max(self.CALLS_IN_FULL, n_trials(exercise))

    def defined(self) -> dict[str, bool]:
        return self.worker.defined(self.exercise.spec.names)

    def _ask(self, kind: str, name: str, payload: bytes, callbacks: dict[str, Callable]) -> dict:
        left = self.seconds_in_all - self.cpu_seconds
        request = {"kind": kind, "name": name, "payload": payload, "forbidden": self.forbidden.names}
        try:
            body = self.worker.ask(request, max(0.0, min(left, self.exercise.call_seconds)), callbacks)
        except AnswerEnded as end:
            if end.state == "time_out" and left < self.exercise.call_seconds:
                message = f"took more than {self.seconds_in_all:g} s of processor time in all its calls"
                raise AnswerEnded("time_out", f"`{name}` {message} and was stopped") from None
            message = self.forbidden.message(end.message) if end.state == "forbidden" else end.message
            raise AnswerEnded(end.state, f"`{name}` {message}") from None
        finally:
            self.cpu_seconds = self.worker.watch.total_seconds - self.start_seconds
            self.peak_bytes = self.worker.watch.peak_bytes
        return self._checked(name, body)

    def _checked(self, name: str, body: dict) -> dict:
        """The reply in the form that `calls` promises; anything else is a forgery."""
        error, changed, manners = body.get("error"), body.get("changed"), body.get("manners")
        if not isinstance(changed, dict) or not isinstance(manners, list):
            raise self.worker.broken()
        if len(manners) > 20 or not all(isinstance(text, str) for text in manners):
            raise self.worker.broken()
        if not all(isinstance(key, str) or (type(key) is int and 0 <= key < 100) for key in changed):
            raise self.worker.broken()
        reply = {"value": body.get("value"), "changed": changed, "manners": [m[:200] for m in manners]}
        if error is not None:
            reply["error"] = _checked_error(error, self.worker)
            if any(sign in f"{error['kind']} {error['message']}" for sign in OUT_OF_MEMORY):
                raise AnswerEnded(
                    "resource_limit", f"`{name}` ran out of memory: {reply['error']['message']}"
                )
        return reply


def _checked_error(error: Any, worker: RemoteWorker) -> dict:
    if not isinstance(error, dict) or not all(isinstance(error.get(key), str) for key in ("kind", "message")):
        raise worker.broken()
    return {
        "kind": error["kind"][:100],
        "message": error["message"].replace(f"{worker.started.library}/", "")[:3_000],
        "assertion": error.get("assertion") is True,
    }


def _text(message: dict, key: str) -> str:
    """A field that must be text: anything else could be something that compares oddly."""
    value = message.get(key)
    if type(value) is not str:
        raise codec.BadMessage(f"no {key}")
    return value


def _bytes(value: Any) -> bytes:
    if not isinstance(value, bytes):
        raise codec.BadMessage("no bytes")
    return value


def _cause_of_death(status: int | None) -> AnswerEnded:
    if status is None or status >= 0:
        return AnswerEnded("student_error", f"ended the whole Python process (exit status {status})")
    if -status == signal.SIGKILL:
        return AnswerEnded("resource_limit", "was killed by the system, as happens when memory runs out")
    if -status == getattr(signal, "SIGXCPU", None):
        return AnswerEnded("time_out", "used up all processor time that a submission may use")
    try:
        name = signal.Signals(-status).name
    except ValueError:
        name = f"signal {-status}"
    return AnswerEnded("student_error", f"crashed the Python process ({name})")
