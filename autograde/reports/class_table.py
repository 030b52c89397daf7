"""The class as a table in the terminal."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from autograde.judge.verdict import SubmissionVerdict, Verdict
from autograde.reports.words import SHORT, number, points, printable
from lmcourse.exercises import Week

STYLES = {"right": "green", "partly": "yellow", "not_attempted": "dim"}


def class_table(week: Week, submissions: list[SubmissionVerdict]) -> Table:
    """A row a student; each cell has the points and, unless all is right, the state in a word."""
    table = Table(title=f"{week.id} {week.title}")
    table.add_column("student", overflow="fold")
    for exercise in week.exercises:
        table.add_column(f"{exercise.id}\nof {exercise.points}", justify="right")
    table.add_column(f"points\nof {sum(e.points for e in week.exercises)}", justify="right", style="bold")
    for s in submissions:
        cells = [_cell(s.verdict(e.id)) for e in week.exercises]
        name = Text(printable(s.student))
        if s.problem:
            name.append(f"\n{printable(s.problem)}", style="red")
        table.add_row(name, *cells, number(s.points))
    return table


def _cell(verdict: Verdict) -> Text:
    style = STYLES.get(verdict.state, "red")
    if verdict.state == "right":
        return Text(points(verdict), style=style)
    return Text(f"{points(verdict)}\n{SHORT[verdict.state]}", style=style)
