"""All that a run writes down while it goes: the log, tables of layers, events, and what a person sees."""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TextIO

from lmcourse.monitor.json_lines import JsonLines
from lmcourse.trainer.log import CSV, JSONL, LogRecord, RunLog
from lmcourse.trainer.progress import RunProgress

EVENTS, MONITOR = "events.jsonl", "monitor.jsonl"


class Records:
    """Writes into a run's folder; a rank that is not the main one has `NoRecords`."""

    def __init__(
        self,
        folder: Path,
        steps: int,
        steps_done: int,
        batches_done: int,
        floor: float | None,
        stream: TextIO,
    ) -> None:
        """
        Args:
            folder: of the run.
            steps: of the whole run.
            steps_done, batches_done: of the checkpoint; what was written of later batches is removed.
            floor: nats per token, or None where it is not known.
            stream: where the progress goes.

        Raises:
            CourseError: a file cannot be written, or the log is damaged before that step.
        """
        self._folder = folder
        self._log = RunLog(folder, steps_done, batches_done)
        self._events = JsonLines(folder / EVENTS, batches_done)
        self._monitor = JsonLines(folder / MONITOR, batches_done)
        self._progress = RunProgress(steps, steps_done, floor, stream)
        self._open = ExitStack()

    def __enter__(self) -> Self:
        for part in (self._log, self._events, self._monitor, self._progress):
            self._open.enter_context(part)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.__exit__(kind, error, trace)

    def log(self, record: LogRecord) -> None:
        """What happened to one batch."""
        self._log.append(record)
        self._progress.step(record)

    def event(self, values: dict[str, Any]) -> None:
        """Something out of the ordinary, with the number of its batch as "batch"."""
        self._events.append(values)

    def figures(self, values: dict[str, Any]) -> None:
        """A table of layers, with the number of its batch as "batch"."""
        self._monitor.append(values)

    def say(self, line: str) -> None:
        """One line for the person."""
        self._progress.say(line)

    def sync(self) -> None:
        """Wait until the disk has everything: a log is never shorter than a checkpoint.

        Raises:
            OSError: the disk's own errors.
        """
        for name in (JSONL, CSV, EVENTS, MONITOR):
            with open(self._folder / name, "rb+") as file:
                os.fsync(file.fileno())


class NoRecords(Records):
    """Of a rank that writes nothing."""

    def __init__(self) -> None:
        self._open = ExitStack()

    def __enter__(self) -> Self:
        return self

    def log(self, record: LogRecord) -> None:
        pass

    def event(self, values: dict[str, Any]) -> None:
        pass

    def figures(self, values: dict[str, Any]) -> None:
        pass

    def say(self, line: str) -> None:
        pass

    def sync(self) -> None:
        pass
