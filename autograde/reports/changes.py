"""Marks that became others since the last finished run: who, from what to what, and why."""

from __future__ import annotations

from collections.abc import Sequence

from autograde.exports.cells import table
from autograde.grading.settle import Change
from autograde.judge.verdict import STATES
from autograde.reports.words import escaped, number

HEAD = ("student", "exercise", "before", "after", "state before", "state after", "why")


def changes_csv(changes: Sequence[Change]) -> bytes:
    """One line a mark; points that were not decided are empty."""
    return table([HEAD, *(_cells(change, "") for change in changes)])


def section(changes: Sequence[Change]) -> str:
    if not changes:
        return ""
    head = "".join(f"<th>{title}</th>" for title in HEAD)
    lines = "".join(
        "<tr>" + "".join(f"<td>{escaped(cell)}</td>" for cell in _cells(change, "?")) + "</tr>"
        for change in changes
    )
    note = f"<p class='soft'>{len(changes)} marks are others than after the run before (changes.csv).</p>"
    return f'<h2>Changed marks</h2>\n{note}\n<div class="wide"><table><tr>{head}</tr>{lines}</table></div>'


def _cells(change: Change, undecided: str) -> list[str]:
    points = [undecided if p is None else number(p) for p in (change.before, change.after)]
    return [change.student, change.exercise, *points, STATES[change.was], STATES[change.now], change.why]
