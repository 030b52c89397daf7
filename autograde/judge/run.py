"""Scoring in the instructor's own notebook."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from autograde.judge.local import LocalAnswer
from autograde.judge.score import score
from autograde.judge.seeds import exercise_seed
from autograde.weeks import hidden
from lmcourse.errors import CourseError


def run_here(exercise_id: str, namespace: Mapping[str, Any]) -> float:
    """See `autograde.run`."""
    exercise = hidden(exercise_id)
    seed = exercise_seed("solution notebook", "instructor", exercise.id)
    verdict = score(exercise, LocalAnswer(exercise, namespace), seed)
    for result in verdict.properties:
        mark = "ok  " if result.passed else "FAIL"
        reason = f": {result.message}" if result.message else ""
        case = f" [{result.case}]" if result.case else ""
        print(f"{mark} {result.points:5.4g}  {result.name}{reason}{case}")
    if verdict.points is None:
        raise CourseError(f"{exercise.id} could not be scored: {verdict.message}")
    if not verdict.properties and verdict.message:
        print(verdict.message)
    print(f"{exercise.id}: {verdict.points:g} of {verdict.max_points:g} points")
    return verdict.points
