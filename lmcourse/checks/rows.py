"""One row of a public check, and the decorators with which a week's module adds rows and pictures of its own.

@property_row("W1.1", case="two batches", checks="the same generator state gives the same batch")
def _(names):
    first, second = draw(names["sample_windows"]), draw(names["sample_windows"])
    return outcome(yours="...", expected="...", ok=first == second, message="what to think about")

@picture("W1.3")
def _(names):
    return figure, "alt text made from the numbers in the figure"
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from lmcourse import exercises

PASSED = "passed"
FAILED = "failed"
ERROR = "error"
TOO_SLOW = "too slow"
NOT_STARTED = "not started"
NOT_CHECKED = "not checked"


@dataclass(frozen=True)
class Row:
    """What a public check says about one case.

    `yours` and `expected` are short texts, of one or more lines. `message` says in words what is wrong, and
    is shown below the row. `state` is one of the words above; where it is not given, it follows from `ok`.
    `inputs` (what the student's function was called with) and `trace` (a traceback) are folded away.
    """

    case: str
    checks: str
    yours: str
    expected: str
    ok: bool
    message: str = ""
    state: str = ""
    inputs: str = ""
    trace: str = ""

    def __post_init__(self) -> None:
        if not self.state:
            object.__setattr__(self, "state", PASSED if self.ok else FAILED)


def outcome(yours: str, expected: str, ok: bool, message: str = "") -> Row:
    """The result of a property row; the decorator fills in the case and what it checks."""
    return Row("", "", str(yours), str(expected), bool(ok), message)


Names = Mapping[str, Any]


@dataclass(frozen=True)
class PropertyRow:
    """A row decided by a function of the student's names instead of by a table of expected values."""

    exercise: str
    case: str
    checks: str
    judge: Callable[[Names], Row]

    def __call__(self, names: Names) -> Row:
        row = self.judge(names)
        return replace(row, case=row.case or self.case, checks=row.checks or self.checks)


_PROPERTY_ROWS: dict[tuple[str, str], PropertyRow] = {}
_PICTURES: dict[str, Callable] = {}


def property_row(exercise_id: str, *, case: str, checks: str) -> Callable[[Callable], Callable]:
    """Register a function `(names) -> Row` as a row of this exercise's public check.

    `names` maps every name that the exercise asks for to the student's function or value. The function
    returns `outcome(...)` (or a whole `Row`), or raises AssertionError with the message for the student;
    what the student's own code raises may pass through. It runs under the time limit of one call.

    Raises:
        CourseError: no such exercise.
    """
    spec = exercises.exercise(exercise_id)

    def keep(judge: Callable[[Names], Row]) -> Callable[[Names], Row]:
        _PROPERTY_ROWS[spec.id, case] = PropertyRow(spec.id, case, checks, judge)
        return judge

    return keep


def picture(exercise_id: str) -> Callable[[Callable], Callable]:
    """Register a function `(names) -> (matplotlib Figure, alt text)` that `check` shows below the table."""
    spec = exercises.exercise(exercise_id)

    def keep(draw: Callable) -> Callable:
        _PICTURES[spec.id] = draw
        return draw

    return keep


def property_rows(exercise_id: str) -> list[PropertyRow]:
    """The property rows of an exercise, in the order of its week's module."""
    _load_week(exercise_id)
    return [row for (owner, _), row in _PROPERTY_ROWS.items() if owner == exercise_id]


def picture_of(exercise_id: str) -> Callable | None:
    """The picture of an exercise, or None."""
    _load_week(exercise_id)
    return _PICTURES.get(exercise_id)


def _load_week(exercise_id: str) -> None:
    """Import `lmcourse.checks.weekNN`, which registers its rows; a week without one has only value rows."""
    number = int(exercises.exercise(exercise_id).week[1:])
    module = f"lmcourse.checks.week{number:02d}"
    if find_spec(module) is not None:
        import_module(module)
