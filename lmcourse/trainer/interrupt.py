"""Ctrl-C at a step boundary: the step in progress ends, the state is saved, nothing is half done."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import Self

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interruption:
    """A context in which the first SIGINT or SIGTERM only sets `requested`; a second one acts as usual.

    Outside the main thread, where Python allows no handlers, nothing changes.
    """

    def __init__(self) -> None:
        self.requested = False
        self._before: dict[signal.Signals, object] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._handle) for number in SIGNALS}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._restore()

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self.requested = True
        self._restore()

    def _restore(self) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before = {}
