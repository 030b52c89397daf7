"""The instructor's side: hidden tests, judge, build, reports. It is never part of what students get."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def run(exercise_id: str, namespace: Mapping[str, Any]) -> float:
    """Score names of this very process, as in an instructor's solution notebook: `run("W1.4", globals())`.

    Prints one line for each property and returns the points. This is for code that the course trusts; what
    students hand in is judged by `autograde grade`, in a process of its own.

    Raises:
        CourseError: there is no such exercise, or a property itself failed.
    """
    from autograde.judge.run import run_here

    return run_here(exercise_id, namespace)
