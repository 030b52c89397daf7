"""Puts all reports of a week into a folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from autograde.exports.plain import marks_csv
from autograde.exports.write import write_exports
from autograde.grading.settle import Change
from autograde.grading.store import safe_name, write_atomically
from autograde.reports.changes import changes_csv
from autograde.reports.class_page import class_page
from autograde.reports.rows import Row
from autograde.reports.similar import similar_page
from autograde.reports.student_page import student_page
from lmcourse.exercises import Week

SIMILAR = "similar.html"


@dataclass(frozen=True)
class Reports:
    """Where they lie."""

    class_page: Path
    marks: Path
    students: Path
    exports: Path
    changes: Path


def write_reports(week: Week, rows: Sequence[Row], changes: Sequence[Change], folder: Path) -> Reports:
    """Write the pages on the class, the marks in every format, and a page for each student.

    Files of an earlier run are replaced.
    """
    reports = Reports(
        folder / "class.html",
        folder / "marks.csv",
        folder / "students",
        folder / "exports",
        folder / "changes.csv",
    )
    for row in rows:
        write_student(row, folder)
    write_atomically(reports.class_page, class_page(week, rows, _address, changes, SIMILAR))
    write_atomically(folder / SIMILAR, similar_page(week, rows, _address))
    write_atomically(reports.marks, marks_csv(week, rows))
    write_atomically(reports.changes, changes_csv(changes))
    write_exports(week, rows, reports.exports)
    return reports


def write_student(row: Row, folder: Path) -> None:
    """Write one student's page."""
    write_atomically(folder / "students" / _file(row.student), student_page(row))


def _address(student: str) -> str:
    return f"students/{_file(student)}"


def _file(student: str) -> str:
    return f"{safe_name(student)}.html"
