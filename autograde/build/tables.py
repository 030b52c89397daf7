"""Generate a week's table of public value cases from its hidden side."""

from __future__ import annotations

from collections.abc import Callable

from autograde.exercise import HiddenExercise
from lmcourse.checks.tables import Case, Table, dump_table, record_case
from lmcourse.errors import CourseError
from lmcourse.exercises import Week


def week_table(week: Week, hidden: Callable[[str], HiddenExercise]) -> str:
    """The text of `lmcourse/checks/tables/<week>.json`; empty when no exercise has a public value case.

    Args:
        hidden: the hidden side of an exercise, by id.

    Raises:
        CourseError: a case that the reference cannot answer, or whose values cannot be written down.
    """
    exercises = {}
    for spec in week.exercises:
        exercise = hidden(spec.id)
        if exercise.public_cases:
            exercises[spec.id] = tuple(_cases(exercise))
    return dump_table(Table(week.id, exercises)) if exercises else ""


def _cases(exercise: HiddenExercise) -> list[Case]:
    mutants = [(mutant.name, mutant.note, mutant.names) for mutant in exercise.mutants]
    cases = []
    for case in exercise.public_cases:
        try:
            cases.append(
                record_case(
                    case.title,
                    case.checks,
                    case.entry,
                    case.args,
                    exercise.reference.names,
                    mutants,
                    exercise.may_change,
                )
            )
        except Exception as error:
            what = f"{type(error).__name__}: {error}".splitlines()[0]
            raise CourseError(
                f"{exercise.id}: the public case {case.title!r} cannot be recorded: {what}"
            ) from None
    return cases
