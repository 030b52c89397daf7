"""The hidden side of every exercise, loaded by id."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from autograde.exercise import HiddenExercise
from lmcourse import exercises as registry


@cache
def hidden(exercise_id: str) -> HiddenExercise:
    """The hidden side of an exercise, from `autograde/weeks/week01/w1_4.py` for "W1.4"."""
    spec = registry.exercise(exercise_id)
    number = int(spec.week[1:])
    module = import_module(f"autograde.weeks.week{number:02d}.{spec.id.lower().replace('.', '_')}")
    return module.EXERCISE
