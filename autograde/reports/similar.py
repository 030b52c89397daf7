"""Answers that are suspiciously equal: a pointer for a person, who has to read them, and no finding.

Only fingerprints that few of the class share count, so that what the exercise suggests to everybody does not.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

from autograde.reports.page import page
from autograde.reports.rows import Row
from autograde.reports.words import escaped
from lmcourse.exercises import Week

COMMON = 0.1  # share of the class above which a fingerprint says nothing
FEWEST = 5  # rare fingerprints that an answer must have
ALIKE = 0.8  # share of them that two answers must have in common
MOST = 100  # pairs on the page


@dataclass(frozen=True)
class Pair:
    """Two students, and for each exercise the share of rare fingerprints that their answers both have."""

    students: tuple[str, str]
    shares: dict[str, float]


def pairs(rows: Sequence[Row]) -> list[Pair]:
    """Pairs with similar answers, those in the most exercises first."""
    shares: dict[tuple[str, str], dict[str, float]] = defaultdict(dict)
    for exercise in sorted({e for row in rows for e in row.prints}):
        for students, share in _alike(rows, exercise).items():
            shares[students][exercise] = share
    found = [Pair(students, given) for students, given in shares.items()]
    return sorted(found, key=lambda p: (-len(p.shares), -sum(p.shares.values()), p.students))


def _alike(rows: Sequence[Row], exercise: str) -> dict[tuple[str, str], float]:
    given = {row.student: set(row.prints.get(exercise, ())) for row in rows}
    count = Counter(mark for marks in given.values() for mark in marks)
    most = max(2, COMMON * sum(bool(marks) for marks in given.values()))
    owners: dict[int, list[str]] = defaultdict(list)
    rare = {s: {m for m in marks if count[m] <= most} for s, marks in given.items()}
    for student, marks in rare.items():
        for mark in marks if len(marks) >= FEWEST else ():
            owners[mark].append(student)
    shared = Counter(pair for names in owners.values() for pair in combinations(sorted(names), 2))
    alike = {}
    for (one, other), n in shared.items():
        share = n / max(len(rare[one]), len(rare[other]))
        if share >= ALIKE:
            alike[one, other] = share
    return alike


def similar_page(week: Week, rows: Sequence[Row], link: Callable[[str], str]) -> bytes:
    """The page as an HTML file."""
    found = pairs(rows)
    lines = "".join(_line(pair, link) for pair in found[:MOST])
    head = (
        "<tr><th>students</th><th>exercises, and how much of what is rare in the class they share</th></tr>"
    )
    body = [
        f"<h1>{week.id}: similar answers</h1>",
        "<p><strong>A pointer for a person, not a finding.</strong> Equal code has many innocent reasons: "
        "the exercise suggests it, two people worked with leave, both read the same book. Read both answers "
        "and talk to both students before you conclude anything.</p>",
        "<p class='soft'>Compared are the shapes of the code, without names, comments and layout. What more "
        f"than {COMMON:.0%} of the class has in common does not count.</p>",
    ]
    if found:
        body.append(f'<div class="wide"><table>{head}{lines}</table></div>')
    else:
        body.append("<p>No two answers are suspiciously equal.</p>")
    if len(found) > MOST:
        body.append(f"<p>The first {MOST} of {len(found)} pairs.</p>")
    return page(f"{week.id}: similar answers", "\n".join(body))


def _line(pair: Pair, link: Callable[[str], str]) -> str:
    names = " and ".join(f'<a href="{escaped(link(s))}">{escaped(s)}</a>' for s in pair.students)
    what = ", ".join(f"{escaped(e)} ({share:.0%})" for e, share in pair.shares.items())
    return f"<tr><td>{names}</td><td>{what}</td></tr>"
