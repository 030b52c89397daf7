"""The run log: one record a step, as JSON Lines for programs and as CSV for spreadsheets."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable
from dataclasses import asdict, astuple, dataclass, fields
from pathlib import Path
from types import TracebackType
from typing import Self

from lmcourse.errors import CourseError
from lmcourse.monitor.json_lines import from_json, to_json
from lmcourse.trainer.step import STEPPED


@dataclass(frozen=True)
class LogRecord:
    """What happened to one batch. All but the last two fields are equal in two equal runs.

    A batch that was not trained on has a record too, with the step that it was tried in; so a NaN is there to
    be seen. After a roll-back the steps count again from the checkpoint; the last record of a step is valid.
    """

    step: int  # optimizer steps done, this one included
    batch: int  # number of the batch in the order of the data, from 1
    outcome: str  # of the step: "stepped", "skip", ...
    loss: float  # nats per counted token, before the update
    learning_rate: float
    gradient_norm: float  # before clipping
    z_loss: float | None  # its part of the objective, where it is on
    loss_scale: float | None  # of float16
    rows: int  # of all ranks
    row_tokens: int  # tokens in a row, those included that do not count
    tokens: int  # that counted in this step
    tokens_seen: int  # that counted since the run began
    validation_loss: float | None  # nats per counted token after the update, where it was measured
    floor: float | None  # nats per counted token of the validation set, where it is known
    seconds: float  # of this step, without evaluation and saving
    tokens_per_second: float


COLUMNS = tuple(field.name for field in fields(LogRecord))
JSONL, CSV = "log.jsonl", "log.csv"


class RunLog:
    """Writes log.jsonl and log.csv; each record is on its way to the disk before the next step begins."""

    def __init__(self, folder: Path, steps_done: int = 0, batches_done: int = 0) -> None:
        """
        Args:
            folder: of the run.
            steps_done, batches_done: of the checkpoint; records of later batches, of which it knows nothing,
                are removed.

        Raises:
            CourseError: the files cannot be written, or an old log is damaged before that step.
        """
        self._folder = folder
        kept = [r for r in read_log(folder) if r.batch <= batches_done] if batches_done else []
        if sorted(updates(kept)) != list(range(1, steps_done + 1)):
            raise CourseError(f"{folder / JSONL}: damaged, its records do not reach step {steps_done}")
        try:
            _replace(folder / JSONL, "".join(map(_json_line, kept)))
            _replace(folder / CSV, _csv_line(COLUMNS) + "".join(_csv_line(astuple(r)) for r in kept))
            self._jsonl = open(folder / JSONL, "a", encoding="utf-8")  # noqa: SIM115 - closed by __exit__
            self._csv = open(folder / CSV, "a", encoding="utf-8", newline="")  # noqa: SIM115
        except OSError as error:
            raise self._failure(error) from None

    def append(self, record: LogRecord) -> None:
        """
        Raises:
            CourseError: the disk is full, or refuses otherwise.
        """
        try:
            for file, line in ((self._jsonl, _json_line(record)), (self._csv, _csv_line(astuple(record)))):
                file.write(line)
                file.flush()
        except OSError as error:
            raise self._failure(error) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for file in (self._jsonl, self._csv):
            try:
                file.close()
            except OSError as problem:  # the last flush of a full disk
                if error is None:
                    raise self._failure(problem) from None

    def _failure(self, error: OSError) -> CourseError:
        return CourseError(f"{self._folder}: the log cannot be written ({error.strerror or error})")


def read_log(folder: Path) -> list[LogRecord]:
    """The records of a run, oldest first; a last line that was cut short is left out.

    Raises:
        CourseError: no log there, or a damaged line before the last.
    """
    path = folder / JSONL
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise CourseError(f"{path}: cannot read the log ({error})") from None
    records = []
    for number, line in enumerate(lines, start=1):
        try:
            records.append(LogRecord(**from_json(line)))
        except (ValueError, TypeError):
            if number == len(lines):
                break
            raise CourseError(f"{path}: line {number} is damaged") from None
    return records


def updates(records: Iterable[LogRecord]) -> dict[int, LogRecord]:
    """The record of each step that the weights still carry, by step: what a curve of the run is made of."""
    return {record.step: record for record in records if record.outcome == STEPPED}


def _replace(path: Path, text: str) -> None:
    """Write a file whole or not at all: an old log outlives a full disk."""
    partial = path.with_name(f"{path.name}.tmp-{os.getpid()}")
    try:
        partial.write_text(text, encoding="utf-8", newline="")
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def _json_line(record: LogRecord) -> str:
    return to_json(asdict(record)) + "\n"


def _csv_line(values: Iterable[object]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="\n").writerow("" if value is None else value for value in values)
    return line.getvalue()
