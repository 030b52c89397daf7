"""Marks as a plain table: points and state of each exercise."""

from __future__ import annotations

from collections.abc import Sequence

from autograde.exports.cells import table
from autograde.reports.rows import Row
from autograde.reports.words import number
from lmcourse.exercises import Week


def marks_csv(week: Week, rows: Sequence[Row]) -> bytes:
    """One line a student: each exercise, then the sum, what lateness costs, what is left, the maximum.

    Points of an exercise that is not decided are left empty.
    """
    titles = [title for e in week.exercises for title in (f"{e.id} points", f"{e.id} state")]
    head = ["student", "name", *titles, "judged", "days late", "penalty", "points", "maximum", "problem"]
    return table([head, *(_line(week, row) for row in rows)])


def _line(week: Week, row: Row) -> list[str]:
    cells: list[str] = []
    for e in week.exercises:
        verdict = row.verdict.verdict(e.id)
        cells += ["" if verdict.points is None else number(verdict.points), verdict.state]
    sums = [row.verdict.points, row.late.days, row.penalty, row.points, row.verdict.max_points]
    return [row.student, row.name, *cells, *map(number, sums), row.verdict.problem]
