"""`check`, the function that students call in a notebook."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from lmcourse.checks.html import to_html
from lmcourse.checks.limits import CALL_SECONDS, TimeLimit, call_with_limit
from lmcourse.checks.output import emit, running_shell
from lmcourse.checks.report import MIME, Report
from lmcourse.checks.rows import FAILED, PASSED, picture_of
from lmcourse.checks.student import StudentNames
from lmcourse.exercises import exercise

# torch is imported by `evaluate`, and only when a check runs: `lmcourse check` itself does without it.


def check(exercise_id: str, namespace: Mapping[str, Any] | None = None) -> None:
    """Run the public check of an exercise and show it as a table, with a picture where the exercise has one.

    Args:
        exercise_id: as "W1.4".
        namespace: where to find the answer; by default what the notebook has defined so far.

    One row may take 10 s. More checks run when the notebook is handed in.

    Raises:
        CourseError: no such exercise.
    """
    from lmcourse.checks.evaluate import evaluate

    names = _names() if namespace is None else namespace
    report = evaluate(exercise_id, names)
    emit(report.to_text(), {"text/html": to_html(report), MIME: report.to_json()})
    if running_shell() is not None and report.state in (PASSED, FAILED):
        _show_picture(report, names)


def publish(exercise_id: str, seconds: float) -> None:
    """Run the check on the notebook's names and display it for a program, as `lmcourse check` reads it."""
    from lmcourse.checks.evaluate import evaluate

    report = evaluate(exercise_id, _names(), seconds)
    emit(report.summary, {MIME: report.to_json()})


def _names() -> Mapping[str, Any]:
    shell = running_shell()
    return shell.user_ns if shell is not None else vars(sys.modules["__main__"])


def _show_picture(report: Report, names: Mapping[str, Any]) -> None:
    draw = picture_of(report.exercise)
    if draw is None:
        return
    student = StudentNames(exercise(report.exercise), names)
    try:
        figure, alt = call_with_limit(lambda: draw(student), CALL_SECONDS)
    except (Exception, TimeLimit) as error:
        # A wrong answer may not be drawable; the table above has said what is wrong with it.
        emit(f"No picture: it cannot be drawn from this answer ({type(error).__name__}).")
        return
    from lmcourse.figures import show_figure

    show_figure(figure, alt)
