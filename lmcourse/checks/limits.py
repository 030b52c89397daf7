"""A wall-clock limit for one call of a student's function, inside the student's own process.

On the main thread of Linux and macOS an alarm signal ends the call. Elsewhere (Windows, other threads) the
call runs in a thread of its own, into which the limit is raised as an exception. Both need Python to get a
turn: one long operation inside a compiled library is ended only when it returns, and code that catches
every exception in an endless loop is not ended at all; a notebook's Interrupt or a fresh kernel (`lmcourse
check`) helps there.
"""

from __future__ import annotations

import ctypes
import signal
import threading
from collections.abc import Callable
from typing import Any

CALL_SECONDS = 10.0
_REPEAT_SECONDS = 0.25


class TimeLimit(BaseException):
    """The call did not finish in time; not an Exception, so that `except Exception` does not swallow it."""


def call_with_limit(function: Callable[[], Any], seconds: float) -> Any:
    """What `function()` returns or raises.

    Raises:
        TimeLimit: it did not finish within `seconds`.
    """
    on_main_thread = threading.current_thread() is threading.main_thread()
    if on_main_thread and hasattr(signal, "setitimer"):
        return _call_with_alarm(function, seconds)
    return _call_in_thread(function, seconds)


def _call_with_alarm(function: Callable[[], Any], seconds: float) -> Any:
    active = True

    def ring(signum: int, frame: Any) -> None:
        if active:
            raise TimeLimit

    before = signal.signal(signal.SIGALRM, ring)
    # The alarm repeats, so that a bare `except:` in the student's loop swallows only the first one.
    signal.setitimer(signal.ITIMER_REAL, seconds, _REPEAT_SECONDS)
    try:
        return function()
    finally:
        active = False
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _call_in_thread(function: Callable[[], Any], seconds: float) -> Any:
    outcome: dict[str, Any] = {}

    def run() -> None:
        try:
            outcome["value"] = function()
        except BaseException as error:
            outcome["error"] = error

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        thread.join(seconds)
    finally:
        if thread.is_alive():
            limit = ctypes.py_object(TimeLimit)
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), limit)
    if "value" in outcome:
        return outcome["value"]
    raise outcome.get("error") or TimeLimit
