"""Submissions that a person should look at: undecided or kept marks, forbidden means, odd cost, repairs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import median

from autograde.grading.one import NOT_YET
from autograde.judge.verdict import STATES
from autograde.reports.rows import Row
from autograde.reports.words import escaped

MANY_REPAIRS = 5
COSTLY = 5.0  # times the class's median
LEAST_SECONDS = 10.0
LOUD = ("forbidden", "time_out", "resource_limit", "not_run")


def reasons(rows: Sequence[Row]) -> dict[str, list[str]]:
    """Student id -> what is unusual, in words."""
    costs = [row.verdict.cpu_seconds for row in rows if not row.verdict.problem]
    usual = median(costs) if costs else 0.0
    found: dict[str, list[str]] = {}
    for row in rows:
        verdict = row.verdict
        said = [f"not graded: {verdict.problem}"] if verdict.problem else []
        said += [
            f"{v.exercise} is not decided: {v.message}" for v in verdict.undecided if v.message != NOT_YET
        ]
        said += [f"{v.exercise} keeps an earlier mark: {v.kept}" for v in verdict.verdicts if v.kept]
        if not verdict.problem:
            for state in LOUD:
                ids = [v.exercise for v in verdict.verdicts if v.state == state]
                said += [f"{STATES[state]}: {', '.join(ids)}"] if ids else []
            if verdict.cpu_seconds > max(LEAST_SECONDS, COSTLY * usual):
                said.append(
                    f"took {verdict.cpu_seconds:.0f} s of processor time; the median is {usual:.1f} s"
                )
            if len(verdict.repairs) >= MANY_REPAIRS:
                said.append(f"{len(verdict.repairs)} repairs, as: {verdict.repairs[0]}")
        if said:
            found[row.student] = said
    return found


def section(rows: Sequence[Row], link: Callable[[str], str]) -> str:
    found = reasons(rows)
    if not found:
        return "<h2>For a person to look at</h2>\n<p>Nothing unusual.</p>"
    lines = "".join(
        f'<tr><td><a href="{escaped(link(student))}">{escaped(student)}</a></td>'
        f"<td>{'<br>'.join(escaped(reason) for reason in said)}</td></tr>"
        for student, said in found.items()
    )
    table = f"<table><tr><th>student</th><th>what is unusual</th></tr>{lines}</table>"
    return f'<h2>For a person to look at</h2>\n<div class="wide">{table}</div>'
