"""The fixed order of a week's cells: what is refused, and where titles, checks and grade cells go."""

from __future__ import annotations

from collections.abc import Iterator

from autograde.build.headings import exercise_title
from autograde.build.roles import GENERATED, ROLES
from autograde.build.source import SourceCell
from lmcourse.errors import CourseError
from lmcourse.exercises import Exercise, Week

HINTS = 3
HIDDEN_BEGIN = "### BEGIN HIDDEN TESTS"
HIDDEN_END = "### END HIDDEN TESTS"
GRADE_NOTE = "# More checks run here when you hand in. Leave this cell as it is."


def check_anatomy(week: Week, cells: list[SourceCell]) -> None:
    """Refuse a source that is not the registry's exercises, once each and in order, each cell in its place.

    Raises:
        CourseError: says which exercise or cell, what is wrong and what is asked for.
    """
    known = {exercise.id: exercise for exercise in week.exercises}
    met: list[str] = []
    rank = 0
    for cell in cells:
        if cell.exercise is None:
            continue
        if cell.exercise not in known:
            raise CourseError(
                f"{cell.where}: exercise {cell.exercise!r} is not in the registry's week {week.id}"
            )
        if not met or cell.exercise != met[-1]:
            if cell.exercise in met:
                raise CourseError(f"{cell.where}: {cell.exercise} comes twice; keep its cells together")
            met.append(cell.exercise)
            rank = 0
        step = ROLES[cell.role].rank
        if step and step < rank:
            order = ", ".join(role.name for role in ROLES.values() if role.rank)
            raise CourseError(f"{cell.where}: the {cell.role!r} cell comes too late; the order is {order}")
        rank = max(rank, step)
    for exercise in week.exercises:
        if exercise.id not in met:
            raise CourseError(f"exercise {exercise.id} is missing: week {week.id}'s source has no cell of it")
        _check_complete(exercise, [c for c in cells if c.exercise == exercise.id])
    if met != list(known):
        raise CourseError(
            f"the exercises come as {', '.join(met)}; the registry's order is {', '.join(known)}"
        )


def _check_complete(exercise: Exercise, cells: list[SourceCell]) -> None:
    count = {role: sum(c.role == role for c in cells) for role in ROLES}
    once = ["why", "contract", "after"]
    if exercise.written_points:
        once += ["question", "written"]
    elif count["question"] or count["written"]:
        raise CourseError(f"{exercise.id} has a written part, but the registry gives it no written points")
    for role in once:
        if count[role] != 1:
            raise CourseError(f"{exercise.id} has {count[role] or 'no'} {role!r} cell(s); it needs one")
    if not count["answer"]:
        raise CourseError(f"{exercise.id} has no 'answer' cell")
    if count["hint"] != HINTS:
        raise CourseError(f"{exercise.id} has {count['hint']} hints; it needs {HINTS}")


def with_generated(week: Week, cells: list[SourceCell]) -> Iterator[SourceCell]:
    """The cells of a source that passed `check_anatomy`, with the build's own cells in their places."""
    exercises = {exercise.id: exercise for exercise in week.exercises}
    last = {(cell.exercise, cell.role): i for i, cell in enumerate(cells)}
    titled: set[str] = set()
    for i, cell in enumerate(cells):
        name = cell.exercise
        if name is None:
            yield cell
            continue
        if name not in titled:
            titled.add(name)
            yield _generated("title", name, exercise_title(exercises[name]))
        yield cell
        if i == max(last[name, "answer"], last.get((name, "predict"), -1)):
            yield _generated("check", name, f'check("{name}")')
        if i == last[name, "hint"]:
            yield _generated("grade", name, _grade_source(name))


def _generated(role: str, exercise: str, text: str) -> SourceCell:
    return SourceCell(GENERATED[role].kind, role, exercise, text, f"the {role} cell of {exercise}")


def _grade_source(exercise: str) -> str:
    call = f'autograde.run("{exercise}", globals())'
    return "\n".join([GRADE_NOTE, HIDDEN_BEGIN, "import autograde", call, HIDDEN_END])
