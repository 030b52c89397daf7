"""The class as a table in the terminal, narrow enough for 80 columns."""

from __future__ import annotations

from collections.abc import Sequence

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from autograde.judge.verdict import STATES, Verdict
from autograde.reports.rows import Row
from autograde.reports.words import number, points, printable
from lmcourse.exercises import Week

# One short word for each state; those that need it are explained under the table.
WORDS = {
    "right": "",
    "partly": "partly",
    "wrong": "wrong",
    "student_error": "error",
    "time_out": "time",
    "resource_limit": "memory",
    "not_attempted": "-",
    "not_run": "not run",
    "forbidden": "barred",
    "harness_fault": "fault",
    "infrastructure_fault": "again",
}
EXPLAINED = ("student_error", "time_out", "resource_limit", "not_attempted", "forbidden", "harness_fault",
             "infrastructure_fault")  # fmt: skip
STYLES = {"right": "green", "partly": "yellow", "not_attempted": "dim"}


def class_table(week: Week, rows: Sequence[Row]) -> Table:
    """A row a student; each cell has the points and, unless all is right, the state in a word."""
    met = {v.state for row in rows for v in row.verdict.verdicts}
    caption = "; ".join(f"{WORDS[state]}: {STATES[state]}" for state in EXPLAINED if state in met)
    table = Table(
        title=f"{week.id} {week.title}",
        caption=caption,
        box=SIMPLE_HEAD,
        padding=0,
        pad_edge=False,
        title_style="bold",
        caption_justify="left",
    )
    table.add_column("student\n", no_wrap=True, overflow="ellipsis", max_width=24)
    for exercise in week.exercises:
        table.add_column(f"{exercise.id}\nof {exercise.points}", justify="right", no_wrap=True)
    total = sum(e.points for e in week.exercises)
    table.add_column(f"all\nof {total}", justify="right", style="bold", no_wrap=True)
    for row in rows:
        cells = [_cell(row.verdict.verdict(e.id)) for e in week.exercises]
        table.add_row(Text(printable(row.student)), *cells, number(row.points))
    return table


def _cell(verdict: Verdict) -> Text:
    style = STYLES.get(verdict.state, "red")
    word = WORDS[verdict.state]
    return Text(f"{points(verdict)}\n{word}" if word else points(verdict), style=style)
