"""The hidden side of every exercise, loaded by id."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from autograde.exercise import HiddenExercise
from lmcourse import exercises as registry
from lmcourse.errors import CourseError


@cache
def hidden(exercise_id: str) -> HiddenExercise:
    """The hidden side of an exercise, from `autograde/weeks/week01/w1_4.py` for "W1.4".

    Raises:
        CourseError: no such exercise, or nobody has written its file yet.
    """
    spec = registry.exercise(exercise_id)
    number = int(spec.week[1:])
    name = f"autograde.weeks.week{number:02d}.{spec.id.lower().replace('.', '_')}"
    try:
        return import_module(name).EXERCISE
    except ModuleNotFoundError as error:
        if error.name is None or not name.startswith(error.name):
            raise
        raise CourseError(f"{spec.id} has no hidden side: {name.replace('.', '/')}.py is missing") from None
