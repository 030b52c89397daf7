"""The class on one page: marks, their distribution, what fails, which mistakes are common, the cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from statistics import mean, median

from autograde.grading.settle import Change
from autograde.judge.verdict import Verdict
from autograde.reports import changes, items, unusual
from autograde.reports.page import page, tone
from autograde.reports.rows import Row
from autograde.reports.words import SHORT, escaped, number, points
from lmcourse import exercises as registry

BINS = 10


def class_page(
    week: registry.Week,
    rows: Sequence[Row],
    link: Callable[[str], str],
    changes_: Sequence[Change] = (),
    similar: str = "",
) -> bytes:
    """The page as an HTML file.

    Args:
        link: gives the address of a student's page.
        similar: the address of the page on similar answers, if there is one.
    """
    body = [
        f"<h1>{week.id} {escaped(week.title)}</h1>",
        _summary(rows, similar),
        _marks(week, rows, link),
        changes.section(changes_),
        unusual.section(rows, link),
        _histogram(rows),
        items.section(rows),
        _mistakes(rows),
        _cost(rows),
    ]
    return page(f"{week.id}: the class", "\n".join(body))


def _summary(rows: Sequence[Row], similar: str) -> str:
    graded = [row.points for row in rows if not row.verdict.problem]
    lines = [f"{len(rows)} submissions"]
    if graded:
        middle = f"median {number(median(graded))}, mean {number(mean(graded))} points"
        lines.append(
            middle + (f" of the {len(graded)} that could be read" if len(graded) < len(rows) else "")
        )
    undecided = sum(bool(row.verdict.undecided) for row in rows)
    if undecided:
        lines.append(f"{undecided} with marks that are not decided yet")
    text = f'<p class="soft">{"; ".join(lines)}.</p>'
    pointer = (
        f' <a href="{escaped(similar)}">Similar answers</a> (a pointer for a person).' if similar else ""
    )
    return f"{text}\n<p>Points for written answers come from a person and are not counted here.{pointer}</p>"


def _marks(week: registry.Week, rows: Sequence[Row], link: Callable[[str], str]) -> str:
    head = "".join(f'<th>{e.id}<br><span class="soft">of {e.points}</span></th>' for e in week.exercises)
    is_late = any(row.late.days for row in rows)
    lines = []
    for row in rows:
        s = row.verdict
        cells = "".join(f'<td class="mark">{_mark(s.verdict(e.id))}</td>' for e in week.exercises)
        remark = f'<br><span class="bad">{escaped(s.problem)}</span>' if s.problem else ""
        who = f'<br><span class="soft">{escaped(row.name)}</span>' if row.name else ""
        name = f'<a href="{escaped(link(s.student))}">{escaped(s.student)}</a>{who}{remark}'
        days = f"{row.late.days} d, −{number(row.penalty)}" if row.late.days else ""
        late = f'<td class="n">{days}</td>' if is_late else ""
        total = f'<td class="n"><b>{number(row.points)}</b></td>'
        lines.append(f"<tr><td>{name}</td>{total}{late}{cells}</tr>")
    most = number(sum(e.points for e in week.exercises))
    late = '<th class="n">late</th>' if is_late else ""
    total = f'<th class="n">points<br><span class="soft">of {most}</span></th>'
    top = f"<tr><th>student</th>{total}{late}{head}</tr>"
    return f'<h2>Marks</h2>\n<div class="wide"><table>{top}{"".join(lines)}</table></div>'


def _mark(verdict: Verdict) -> str:
    word = SHORT[verdict.state]
    return f'{points(verdict)}<br><span class="{tone(verdict.state)}">{escaped(word)}</span>'


def _histogram(rows: Sequence[Row]) -> str:
    """How many submissions lie in each tenth of the points."""
    graded = [row for row in rows if not row.verdict.problem and row.verdict.max_points]
    count = Counter(min(BINS - 1, int(BINS * row.points / row.verdict.max_points)) for row in graded)
    lines = []
    for b in reversed(range(BINS)):
        size = 20 * count[b] / max(count.values(), default=1)
        bar = f'<span class="bar" style="width:{size:.2f}em"></span> ' if count[b] else ""
        top = "100" if b == BINS - 1 else f"{10 * b + 9}"
        lines.append(f'<tr><td class="n">{10 * b}–{top} %</td><td>{bar}{count[b]}</td></tr>')
    return f"<h2>Distribution</h2>\n<table>{''.join(lines)}</table>"


def _mistakes(rows: Sequence[Row]) -> str:
    """Mutants whose answers a student's answers were equal to, with the students."""
    who: dict[tuple[str, str], set[str]] = {}
    for row in rows:
        for verdict in row.verdict.verdicts:
            for result in verdict.properties:
                if result.mutant:
                    who.setdefault((verdict.exercise, result.mutant), set()).add(row.student)
    if not who:
        return "<h2>Known mistakes</h2>\n<p>No answer equals a known mistake.</p>"
    lines = [
        f"<tr><td>{escaped(exercise)}</td><td>{escaped(mutant)}</td>"
        f'<td class="n">{len(names)}</td><td>{escaped(", ".join(sorted(names)))}</td></tr>'
        for (exercise, mutant), names in sorted(who.items(), key=lambda item: (-len(item[1]), item[0]))
    ]
    head = '<tr><th>exercise</th><th>mistake</th><th class="n">students</th><th>who</th></tr>'
    return f"<h2>Known mistakes</h2>\n<table>{head}{''.join(lines)}</table>"


def _cost(rows: Sequence[Row]) -> str:
    submissions = [row.verdict for row in rows]
    lines = [
        f'<tr><td>{escaped(s.student)}</td><td class="n">{s.wall_seconds:.1f} s</td>'
        f'<td class="n">{s.cpu_seconds:.1f} s</td><td class="n">{s.peak_bytes / 2**20:.0f} MiB</td></tr>'
        for s in submissions
    ]
    ran = (v for s in submissions for v in s.verdicts if v.properties)
    isolation = "; or ".join(sorted({v.isolation for v in ran})) or "nothing ran"
    total = sum(s.cpu_seconds for s in submissions)
    titles = "".join(f'<th class="n">{title}</th>' for title in ("time", "processor", "memory"))
    head = f"<tr><th>student</th>{titles}</tr>"
    note = f"<p>Processor time in all: {total:.1f} s. Isolation of student code: {escaped(isolation)}.</p>"
    return f"<h2>Cost</h2>\n{note}\n<table>{head}{''.join(lines)}</table>"
