"""The class on one page: marks, their distribution, what fails, which mistakes are common, the cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from autograde.judge.score import NOT_DECIDED
from autograde.judge.verdict import SubmissionVerdict, Verdict
from autograde.reports.page import page, tone
from autograde.reports.words import SHORT, escaped, number, points
from lmcourse import exercises as registry

BINS = 10


def class_page(
    week: registry.Week, submissions: list[SubmissionVerdict], link: Callable[[str], str]
) -> bytes:
    """The page as an HTML file; `link` gives the address of a student's page."""
    body = [
        f"<h1>{week.id} {escaped(week.title)}</h1>",
        f'<p class="soft">{len(submissions)} submissions</p>',
        _marks(week, submissions, link),
        _histogram(submissions),
        _properties(submissions),
        _mistakes(submissions),
        _cost(submissions),
    ]
    return page(f"{week.id}: the class", "\n".join(body))


def _marks(week: registry.Week, submissions: list[SubmissionVerdict], link: Callable[[str], str]) -> str:
    head = "".join(f"<th>{e.id}</th>" for e in week.exercises)
    rows = []
    for s in submissions:
        cells = "".join(f'<td class="mark">{_mark(s.verdict(e.id))}</td>' for e in week.exercises)
        remark = f'<br><span class="bad">{escaped(s.problem)}</span>' if s.problem else ""
        name = f'<a href="{escaped(link(s.student))}">{escaped(s.student)}</a>{remark}'
        rows.append(f'<tr><td>{name}</td>{cells}<td class="n">{number(s.points)}</td></tr>')
    most = number(submissions[0].max_points)
    table = f'<table><tr><th>student</th>{head}<th class="n">of {most}</th></tr>{"".join(rows)}</table>'
    return f'<h2>Marks</h2>\n<div class="wide">{table}</div>'


def _mark(verdict: Verdict) -> str:
    word = SHORT[verdict.state]
    return f'{points(verdict)}<br><span class="{tone(verdict.state)}">{escaped(word)}</span>'


def _histogram(submissions: list[SubmissionVerdict]) -> str:
    """How many submissions lie in each tenth of the points."""
    graded = [s for s in submissions if not s.problem]
    count = Counter(min(BINS - 1, int(BINS * s.points / s.max_points)) for s in graded if s.max_points)
    rows = []
    for b in reversed(range(BINS)):
        size = 20 * count[b] / max(count.values(), default=1)
        bar = f'<span class="bar" style="width:{size:.2f}em"></span> ' if count[b] else ""
        top = "100" if b == BINS - 1 else f"{10 * b + 9}"
        rows.append(f'<tr><td class="n">{10 * b}–{top} %</td><td>{bar}{count[b]}</td></tr>')
    return f"<h2>Distribution</h2>\n<table>{''.join(rows)}</table>"


def _properties(submissions: list[SubmissionVerdict]) -> str:
    """Pass rate of each property among the answers for which it was decided."""
    tried: Counter[tuple[str, str]] = Counter()
    passed: Counter[tuple[str, str]] = Counter()
    for verdict in (v for s in submissions for v in s.verdicts):
        for result in (r for r in verdict.properties if r.message != NOT_DECIDED):
            tried[verdict.exercise, result.name] += 1
            passed[verdict.exercise, result.name] += result.passed
    rows = [
        f"<tr><td>{escaped(exercise)}</td><td>{escaped(name)}</td>"
        f'<td class="n">{passed[exercise, name]} of {n}</td>'
        f'<td class="n">{passed[exercise, name] / n:.0%}</td></tr>'
        for (exercise, name), n in sorted(tried.items(), key=lambda item: item[0][0])
    ]
    head = '<tr><th>exercise</th><th>property</th><th class="n">passed</th><th class="n">rate</th></tr>'
    return f"<h2>Properties</h2>\n<table>{head}{''.join(rows)}</table>"


def _mistakes(submissions: list[SubmissionVerdict]) -> str:
    """Mutants whose answers a student's answers were equal to, with the students."""
    who: dict[tuple[str, str], set[str]] = {}
    for s in submissions:
        for verdict in s.verdicts:
            for result in verdict.properties:
                if result.mutant:
                    who.setdefault((verdict.exercise, result.mutant), set()).add(s.student)
    if not who:
        return "<h2>Known mistakes</h2>\n<p>No answer equals a known mistake.</p>"
    rows = [
        f"<tr><td>{escaped(exercise)}</td><td>{escaped(mutant)}</td>"
        f'<td class="n">{len(names)}</td><td>{escaped(", ".join(sorted(names)))}</td></tr>'
        for (exercise, mutant), names in sorted(who.items(), key=lambda item: (-len(item[1]), item[0]))
    ]
    head = '<tr><th>exercise</th><th>mistake</th><th class="n">students</th><th>who</th></tr>'
    return f"<h2>Known mistakes</h2>\n<table>{head}{''.join(rows)}</table>"


def _cost(submissions: list[SubmissionVerdict]) -> str:
    rows = [
        f'<tr><td>{escaped(s.student)}</td><td class="n">{s.wall_seconds:.1f} s</td>'
        f'<td class="n">{s.cpu_seconds:.1f} s</td><td class="n">{s.peak_bytes / 2**20:.0f} MiB</td></tr>'
        for s in submissions
    ]
    isolation = ", ".join(sorted({v.isolation for s in submissions for v in s.verdicts}))
    total = sum(s.cpu_seconds for s in submissions)
    titles = "".join(f'<th class="n">{title}</th>' for title in ("time", "processor", "memory"))
    head = f"<tr><th>student</th>{titles}</tr>"
    note = f"<p>Processor time in all: {total:.1f} s. Isolation of student code: {escaped(isolation)}.</p>"
    return f"<h2>Cost</h2>\n{note}\n<table>{head}{''.join(rows)}</table>"
