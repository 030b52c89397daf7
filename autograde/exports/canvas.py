"""Canvas: the CSV that its gradebook imports, one assignment a week.

Canvas finds a student by the number in `ID`, which its downloaded submissions have in their names, and the
assignment by its title; the second line has the maximum.
"""

from __future__ import annotations

from collections.abc import Sequence

from autograde.exports.cells import table
from autograde.reports.rows import Row
from autograde.reports.words import number
from lmcourse.exercises import Week

HEAD = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")


def canvas_csv(week: Week, rows: Sequence[Row]) -> bytes:
    """Students whose id is no number are told by their login."""
    maximum = number(sum(e.points for e in week.exercises))
    lines = [[*HEAD, f"{week.id} {week.title}"], ["    Points Possible", "", "", "", "", maximum]]
    for row in rows:
        is_canvas = row.student.isdecimal()
        ids = [row.student, "", ""] if is_canvas else ["", "", row.student]
        mark = "" if row.verdict.undecided else number(row.points)
        lines.append([row.name or row.student, *ids, "", mark])
    return table(lines, mark=False)
