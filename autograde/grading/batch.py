"""Grading a class from the folder of submissions to reports and gradebook."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from autograde.grading.one import Graded, Task
from autograde.grading.pool import grade_all
from autograde.intake.submissions import find_students
from autograde.judge.limits import Limits
from autograde.judge.seeds import course_secret
from autograde.nbgrader_plugin.course_root import CourseRoot
from autograde.project import shown
from autograde.reports.write import Reports, write_reports
from lmcourse import exercises as registry
from lmcourse.errors import CourseError
from lmcourse.handin.master import Master


@dataclass(frozen=True)
class Plan:
    """What is to be graded, and where everything goes."""

    week: registry.Week
    tasks: tuple[Task, ...]
    course: Path
    out: Path


def plan(
    week_id: str, submissions: Path, course: Path, out: Path, limits: Limits, force: bool = False
) -> Plan:
    """Find the submissions and check that they can be graded.

    Raises:
        CourseError: no such week, no released notebook, no submissions, or no course secret.
    """
    week = registry.week(week_id)
    students = find_students(submissions)
    Master.load(week.id)
    secret = course_secret(course)
    tasks = tuple(
        Task(student, tuple(paths), week.id, secret, out / "verdicts", limits, force)
        for student, paths in students.items()
    )
    return Plan(week, tasks, course, out)


def grade_class(plan: Plan, jobs: int, finished: Callable[[Graded], None] | None = None) -> list[Graded]:
    """Judge all submissions, `jobs` at a time; ordered by student. `finished` hears of each as it is ready.

    Raises:
        CourseError: the verdicts cannot be written.
    """
    graded: list[Graded] = []
    try:
        for outcome in grade_all(list(plan.tasks), jobs):
            graded.append(outcome)
            if finished is not None:
                finished(outcome)
    except OSError as error:
        raise CourseError(f"cannot write to {shown(plan.out)}: {error.strerror or error}") from None
    return sorted(graded, key=lambda g: g.student)


def publish(plan: Plan, graded: list[Graded]) -> Reports:
    """Write the reports.

    Raises:
        CourseError: a file cannot be written.
    """
    try:
        return write_reports(plan.week, [g.verdict for g in graded], plan.out)
    except OSError as error:
        raise CourseError(f"cannot write to {shown(plan.out)}: {error.strerror or error}") from None


def fill_gradebook(plan: Plan, graded: list[Graded]) -> str:
    """Let nbgrader record the marks; one line that says what was done, or that this course has no gradebook.

    Students whose id cannot be the name of a folder are left out and named.

    Raises:
        CourseError: nbgrader failed.
    """
    root = CourseRoot(plan.course)
    if not root.release(plan.week).is_file() or not root.gradebook.is_file():
        week = plan.week.id
        return (
            f"gradebook: skipped, {shown(plan.course)} has no released {week}; run `autograde build {week}`"
        )
    from autograde.nbgrader_plugin import gradebook

    entries = [g for g in graded if gradebook.is_folder_name(g.student)]
    recorded = gradebook.record(plan.course, plan.week.id, entries)
    left_out = ", ".join(repr(g.student) for g in graded if not gradebook.is_folder_name(g.student))
    line = f"gradebook: {len(recorded)} submissions recorded in {shown(root.gradebook)}"
    return f"{line}; left out, rename the submission: {left_out}" if left_out else line
