"""The student's side of a check: the names they defined, and what their code raised, in one line."""

from __future__ import annotations

import linecache
import traceback
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from types import FunctionType, TracebackType
from typing import Any

from lmcourse.exercises import WEEKS, Exercise


class NotStarted(Exception):
    """The name holds nothing yet; the message says where to begin."""


class Renamed(Exception):
    """The name is not defined, but one that looks like it is."""


class StudentNames(Mapping[str, Any]):
    """What an exercise asks for, looked up in the student's namespace when it is needed.

    Looking up a name raises `NotStarted` where it is not defined or set to None or `...`, and `Renamed`
    where a function of the student's with a similar name exists.
    """

    def __init__(self, spec: Exercise, namespace: Mapping[str, Any]) -> None:
        self._spec = spec
        self._namespace = namespace

    def __getitem__(self, name: str) -> Any:
        if name not in self._spec.names:
            raise KeyError(name)
        if name not in self._namespace:
            self._raise_missing(name)
        value = self._namespace[name]
        if value is None or value is ...:
            raise NotStarted(f"`{name}` is still {value}")
        return value

    def __iter__(self) -> Iterator[str]:
        return iter(self._spec.names)

    def __len__(self) -> int:
        return len(self._spec.names)

    def owns(self, scope: dict[str, Any]) -> bool:
        """Whether code with these globals is the student's."""
        if scope is self._namespace:
            return True
        values = (self._namespace.get(name) for name in self._spec.names)
        return any(getattr(value, "__globals__", None) is scope for value in values)

    def _raise_missing(self, name: str) -> None:
        asked_for = {n for week in WEEKS for exercise in week.exercises for n in exercise.names}
        own = [
            key
            for key, value in self._namespace.items()
            if isinstance(value, FunctionType) and value.__module__ == "__main__" and key not in asked_for
        ]
        near = get_close_matches(name, own, n=1, cutoff=0.4)
        if near:
            raise Renamed(
                f"`{name}` is not defined, but `{near[0]}` is: was it renamed? Checks look for `{name}`"
            )
        raise NotStarted(f"`{name}` is not defined: run the cell of {self._spec.id} that defines it")


@dataclass(frozen=True)
class Failure:
    """An exception that went through the student's code. `line` is the last line of theirs that ran."""

    message: str
    line: str
    trace: str
    is_stub: bool

    @property
    def text(self) -> str:
        return f"{self.message} ({self.line})" if self.line else self.message


def explain(error: BaseException, names: StudentNames) -> Failure | None:
    """What the student's code raised; None where none of their code took part."""
    frames = list(_frames(error.__traceback__))
    theirs = [i for i, tb in enumerate(frames) if names.owns(tb.tb_frame.f_globals)]
    if not theirs:
        return None
    last = frames[theirs[-1]]
    code = last.tb_frame.f_code
    source = linecache.getline(code.co_filename, last.tb_lineno).strip()
    where = f"your line {last.tb_lineno} in {code.co_name}" if code.co_name != "<module>" else "your code"
    first_line = next(iter(str(error).splitlines()), "")
    kind = type(error).__name__
    # torch raises NotImplementedError too; a stub's own line says so.
    is_stub = isinstance(error, NotImplementedError) and (not source or "NotImplementedError" in source)
    return Failure(
        message=f"{kind}: {first_line}" if first_line else kind,
        line=f"{where}: {source}" if source else where,
        trace=_trace(error, frames[theirs[0]]),
        is_stub=is_stub,
    )


def _frames(tb: TracebackType | None) -> Iterator[TracebackType]:
    while tb is not None:
        yield tb
        tb = tb.tb_next


def _trace(error: BaseException, start: TracebackType) -> str:
    """The traceback from the student's first frame on; long recursions are cut in the middle."""
    frames = traceback.StackSummary.extract(traceback.walk_tb(start)).format()
    if len(frames) > 16:
        frames = [*frames[:8], f"  ... {len(frames) - 16} more ...\n", *frames[-8:]]
    return "".join([*frames, *traceback.format_exception_only(error)]).rstrip()
