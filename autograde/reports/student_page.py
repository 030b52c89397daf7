"""One student's page: what was right, what was not, and why, in words."""

from __future__ import annotations

from autograde.judge.score import NOT_DECIDED
from autograde.judge.verdict import STATES, PropertyResult, SubmissionVerdict, Verdict
from autograde.reports.page import page, tone
from autograde.reports.rows import Row
from autograde.reports.words import escaped, number, points
from lmcourse import exercises as registry


def student_page(row: Row) -> bytes:
    """The page as an HTML file."""
    submission = row.verdict
    week = registry.week(submission.week)
    head = [
        f"<h1>{escaped(week.id)} {escaped(week.title)}</h1>",
        f'<p class="soft">{escaped(", ".join(filter(None, (row.name, submission.student))))}</p>',
        f'<p class="sum">{number(row.points)} of {number(submission.max_points)} points</p>',
    ]
    if row.penalty:
        head.append(
            f"<p>{number(submission.points)} points for the answers, less {number(row.penalty)} because "
            f"it came {_days(row.late.days)} late.</p>"
        )
    written = sum(e.written_points for e in week.exercises)
    if written:
        head.append(
            f'<p class="soft">Up to {written} more points for written answers come from a person.</p>'
        )
    if submission.undecided:
        ids = ", ".join(v.exercise for v in submission.undecided)
        head.append(f'<p class="bad">Not decided yet, through no fault of yours: {escaped(ids)}.</p>')
    if submission.problem:
        head.append(f'<p class="bad">Not graded: {escaped(submission.problem)}.</p>')
    if not submission.problem:
        head.append(_overview(submission))
    cards = [_card(v, registry.exercise(v.exercise)) for v in submission.verdicts if not submission.problem]
    notes = _list("What was repaired in your notebook", submission.repairs)
    notes += _list("What happened while it ran", submission.notes)
    return page(f"{week.id}: {submission.student}", "\n".join([*head, *cards, notes]))


def _days(days: int) -> str:
    return "a day" if days == 1 else f"{days} days"


def _card(verdict: Verdict, exercise: registry.Exercise) -> str:
    state = f'<span class="{tone(verdict.state)}">{escaped(STATES[verdict.state])}</span>'
    mark = f"{points(verdict)} of {number(verdict.max_points)}"
    parts = [
        f'<section class="card" id="{exercise.id}">',
        f"<h2><span>{exercise.id} {escaped(exercise.title)}</span><span>{mark}</span></h2>",
        f"<p>{state}</p>",
    ]
    if verdict.message:
        parts.append(f"<p>{escaped(verdict.message)}</p>")
    rows = _rows(verdict, exercise)
    if rows:
        head = "<tr><th>what was checked</th><th>outcome</th><th class='n'>points</th></tr>"
        table = f"<table>{head}{''.join(rows)}</table>"
        if verdict.state == "right":  # nothing to do here: out of the way of what there is to do
            table = f"<details><summary>all {len(rows)} checks hold</summary>{table}</details>"
        parts.append(table)
    return "\n".join([*parts, "</section>"])


def _title(exercise: str) -> str:
    return escaped(registry.exercise(exercise).title)


def _overview(submission: SubmissionVerdict) -> str:
    """The exercises in a line each, with a link to the card."""
    lines = "".join(
        f'<tr><td><a href="#{v.exercise}">{v.exercise} {_title(v.exercise)}</a></td>'
        f'<td class="{tone(v.state)}">{escaped(STATES[v.state])}</td>'
        f'<td class="n">{points(v)} of {number(v.max_points)}</td></tr>'
        for v in submission.verdicts
    )
    return f'<table class="overview">{lines}</table>'


def _rows(verdict: Verdict, exercise: registry.Exercise) -> list[str]:
    """The named properties. Of a write-a-test exercise only the count is told, in the message."""
    if exercise.kind == "T":
        return []
    return [_row(result, verdict) for result in verdict.properties]


def _row(result: PropertyResult, verdict: Verdict) -> str:
    why = ""
    if result.passed:
        outcome = '<span class="right">holds</span>'
    elif result.message == NOT_DECIDED:
        outcome = f'<span class="soft">{escaped(result.message)}</span>'
    else:
        outcome = '<span class="bad">does not hold</span>'
        said = [escaped(result.message)] if result.message and result.message != verdict.message else []
        if result.case:
            said.append(f'<span class="soft">smallest failing case: {escaped(result.case)}</span>')
        why = f'<tr class="why"><td colspan="3">{"<br>".join(said)}</td></tr>' if said else ""
    got = number(result.points if result.passed and verdict.points else 0)
    share = f"{got} of {number(result.points)}"
    return f'<tr><td>{escaped(result.name)}</td><td>{outcome}</td><td class="n">{share}</td></tr>{why}'


def _list(title: str, lines: tuple[str, ...]) -> str:
    if not lines:
        return ""
    items = "".join(f"<li>{escaped(line)}</li>" for line in lines)
    return f"<h2>{escaped(title)}</h2>\n<ul>{items}</ul>\n"
