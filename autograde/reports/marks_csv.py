"""Marks as CSV for spreadsheets: a real writer, and no cell that a spreadsheet would run as a formula."""

from __future__ import annotations

import csv
import io

from autograde.judge.verdict import SubmissionVerdict
from autograde.reports.words import number, printable
from lmcourse.exercises import Week

FORMULA = ("=", "+", "-", "@", "\t", "\r")


def marks_csv(week: Week, submissions: list[SubmissionVerdict]) -> bytes:
    """One row a student: points and state of each exercise, the sum, the maximum, the problem if any.

    Points of an exercise that is not decided are left empty. UTF-8 with BOM, which spreadsheets recognize.
    """
    file = io.StringIO(newline="")
    writer = csv.writer(file)
    titles = [title for e in week.exercises for title in (f"{e.id} points", f"{e.id} state")]
    writer.writerow(["student", *titles, "points", "maximum", "problem"])
    for s in submissions:
        cells: list[str] = []
        for e in week.exercises:
            verdict = s.verdict(e.id)
            cells += ["" if verdict.points is None else number(verdict.points), verdict.state]
        row = [s.student, *cells, number(s.points), number(s.max_points), s.problem]
        writer.writerow([harmless(cell) for cell in row])
    return file.getvalue().encode("utf-8-sig", "replace")


def harmless(cell: str) -> str:
    """The text, with an apostrophe in front where a spreadsheet would take it for a formula."""
    plain = printable(cell)
    return f"'{plain}" if plain.startswith(FORMULA) else plain
