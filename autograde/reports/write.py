"""Puts all reports of a week into a folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from autograde.grading.store import safe_name, write_atomically
from autograde.judge.verdict import SubmissionVerdict
from autograde.reports.class_page import class_page
from autograde.reports.marks_csv import marks_csv
from autograde.reports.student_page import student_page
from lmcourse.exercises import Week


@dataclass(frozen=True)
class Reports:
    """Where they lie."""

    class_page: Path
    marks: Path
    students: Path


def write_reports(week: Week, submissions: list[SubmissionVerdict], folder: Path) -> Reports:
    """Write the class page, the marks and a page for each student; files of an earlier run are replaced."""
    reports = Reports(folder / "class.html", folder / "marks.csv", folder / "students")
    for submission in submissions:
        write_atomically(reports.students / _file(submission.student), student_page(submission))
    address = lambda student: f"students/{_file(student)}"  # noqa: E731
    write_atomically(reports.class_page, class_page(week, submissions, address))
    write_atomically(reports.marks, marks_csv(week, submissions))
    return reports


def _file(student: str) -> str:
    return f"{safe_name(student)}.html"
