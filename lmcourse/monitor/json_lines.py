"""JSON Lines that any reader takes and that hide nothing: a NaN is the text "NaN", not null, not left out."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from lmcourse.errors import CourseError

# JSON has no such numbers, and a bare NaN is refused by most readers; Protocol Buffers write these texts.
NOT_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def to_json(values: Any) -> str:
    """One line of JSON without the line end; numbers that are not finite become texts."""
    return json.dumps(_replaced(values), allow_nan=False)


def from_json(line: str) -> Any:
    """What `to_json` was given.

    Raises:
        ValueError: not JSON.
    """
    return _restored(json.loads(line))


class JsonLines:
    """A file to append objects to; each is on its way to the disk before `append` returns."""

    def __init__(self, path: Path, batches_done: int = 0) -> None:
        """
        Args:
            path: of the file.
            batches_done: lines of later batches, of which the checkpoint knows nothing, are removed.

        Raises:
            CourseError: the file cannot be written.
        """
        self._path = path
        kept = [line for line in read_json_lines(path) if line["batch"] <= batches_done]
        partial = path.with_name(f"{path.name}.tmp-{os.getpid()}")
        try:
            partial.write_text("".join(f"{to_json(line)}\n" for line in kept), encoding="utf-8", newline="")
            os.replace(partial, path)
            self._file = open(path, "a", encoding="utf-8", newline="")  # noqa: SIM115 - closed by __exit__
        except OSError as error:
            partial.unlink(missing_ok=True)
            raise self._failure(error) from None

    def append(self, values: dict[str, Any]) -> None:
        """
        Args:
            values: with the number of the batch as "batch".

        Raises:
            CourseError: the disk is full, or refuses otherwise.
        """
        try:
            self._file.write(f"{to_json(values)}\n")
            self._file.flush()
        except OSError as error:
            raise self._failure(error) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._file.close()
        except OSError as problem:  # the last flush of a full disk
            if error is None:
                raise self._failure(problem) from None

    def _failure(self, error: OSError) -> CourseError:
        return CourseError(f"{self._path}: cannot be written ({error.strerror or error})")


def read_json_lines(path: Path) -> list[dict[str, Any]]:
    """The objects of a file, oldest first; none where there is no file. A cut last line is left out.

    Raises:
        CourseError: unreadable, or a line before the last is damaged.
    """
    if not path.exists():
        return []
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise CourseError(f"{path}: cannot be read ({error})") from None
    found = []
    for number, line in enumerate(lines, start=1):
        try:
            values = from_json(line)
            values["batch"] + 0
        except (ValueError, TypeError, KeyError):
            if number == len(lines):
                break
            raise CourseError(f"{path}: line {number} is damaged") from None
        found.append(values)
    return found


def _replaced(values: Any) -> Any:
    if isinstance(values, float) and not math.isfinite(values):
        return "NaN" if math.isnan(values) else "Infinity" if values > 0 else "-Infinity"
    if isinstance(values, dict):
        return {key: _replaced(value) for key, value in values.items()}
    if isinstance(values, list | tuple):
        return [_replaced(value) for value in values]
    return values


def _restored(values: Any) -> Any:
    if isinstance(values, dict):
        return {key: _restored(value) for key, value in values.items()}
    if isinstance(values, list):
        return [_restored(value) for value in values]
    return NOT_FINITE.get(values, values) if isinstance(values, str) else values
