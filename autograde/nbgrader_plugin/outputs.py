"""A verdict as the outputs of a grade cell, such that nbgrader reads exactly the judge's points out of it.

nbgrader gives full marks for a cell without a result, for `nan`, `None`, negative numbers and text, none for
anything on stderr, and stops at more than the maximum. So a cell gets one finite float within its range, or
an error output where the points are 0.
"""

from __future__ import annotations

import math

from nbformat import NotebookNode
from nbformat.v4 import new_output

from autograde.judge.verdict import FAULTS, STATES, Verdict
from lmcourse import exercises as registry

# States in which the student's code stopped; shown as an error, as a notebook would.
STOPPED = ("student_error", "time_out", "resource_limit", "not_run", "forbidden", *FAULTS)


def grade_outputs(verdict: Verdict, max_points: float) -> list[NotebookNode]:
    """Text on stdout, then the points as a result, or an error where the student's code stopped.

    Args:
        max_points: of the grade cell, from the master.

    Raises:
        ValueError: points that are no finite number in 0..max_points.
    """
    text = new_output("stream", name="stdout", text=explanation(verdict))
    points = 0.0 if verdict.points is None else float(verdict.points)
    if not (math.isfinite(points) and 0 <= points <= max_points):
        raise ValueError(f"{verdict.exercise}: {points!r} points do not fit a cell of {max_points:g} points")
    if points == 0 and verdict.state in STOPPED:
        said = verdict.message or STATES[verdict.state]
        error = new_output("error", ename=STATES[verdict.state], evalue=said, traceback=[said])
        return [text, error]
    return [text, new_output("execute_result", data={"text/plain": repr(points)}, execution_count=1)]


def explanation(verdict: Verdict) -> str:
    """The verdict in words: state and points, then one line for each named property.

    A write-a-test exercise has its message only, with the count: its properties name the wrong models.
    """
    points = (
        "not decided" if verdict.points is None else f"{verdict.points:g} of {verdict.max_points:g} points"
    )
    lines = [f"{verdict.exercise}: {STATES[verdict.state]}, {points}"]
    properties = () if registry.exercise(verdict.exercise).kind == "T" else verdict.properties
    lines += [verdict.message] if verdict.message and not properties else []
    for result in properties:
        worth = f" ({result.points:g})" if result.points else ""
        line = f"  {'passed' if result.passed else 'failed'}  {result.name}{worth}"
        if not result.passed and result.message:
            line += f": {result.message}" + (f" [{result.case}]" if result.case else "")
        lines.append(line)
    return "\n".join(lines) + "\n"
