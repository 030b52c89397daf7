"""Moodle: the grading worksheet that an assignment imports (allow "offline grading worksheet" there).

Moodle finds a student by `Participant N`, where N stands in the names of its downloaded submissions.
"""

from __future__ import annotations

from collections.abc import Sequence

from autograde.exports.cells import table
from autograde.judge.verdict import STATES
from autograde.reports.rows import Row
from autograde.reports.words import number
from lmcourse.exercises import Week

HEAD = ("Identifier", "Full name", "Grade", "Maximum Grade", "Feedback comments")


def moodle_csv(week: Week, rows: Sequence[Row]) -> bytes:
    """Students whose id is no number keep it as their identifier."""
    maximum = number(sum(e.points for e in week.exercises))
    lines = [list(HEAD)]
    for row in rows:
        identifier = f"Participant {row.student}" if row.student.isdecimal() else row.student
        mark = "" if row.verdict.undecided else number(row.points)
        lines.append([identifier, row.name, mark, maximum, _words(row)])
    return table(lines, mark=False)


def _words(row: Row) -> str:
    if row.verdict.problem:
        return row.verdict.problem
    words = [f"{v.exercise} {STATES[v.state]}" for v in row.verdict.verdicts]
    if row.late.days:
        words.append(f"{row.late.days} days late: {number(row.penalty)} points less")
    return "; ".join(words)
