"""Item analysis: how many pass each named property, and whether those are the ones who do well elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from autograde.judge.score import NOT_DECIDED
from autograde.reports.rows import Row
from autograde.reports.words import escaped

FEWEST = 10  # answers from which a correlation says anything


@dataclass(frozen=True)
class Item:
    """A property of an exercise over the class.

    `discrimination` is the correlation of passing with the points of everything else (corrected item-total
    correlation), in -1..1; None where all pass, all fail, or fewer than FEWEST answers were decided.
    """

    exercise: str
    name: str
    tried: int
    passed: int
    discrimination: float | None


def items(rows: Sequence[Row]) -> list[Item]:
    """Every property in the order of the exercises, among the answers for which it was decided."""
    found: dict[tuple[str, str], list[tuple[bool, float]]] = {}
    for row in rows:
        for verdict in row.verdict.verdicts:
            for result in (r for r in verdict.properties if r.message != NOT_DECIDED):
                own = result.points if result.passed and verdict.points else 0.0
                rest = row.verdict.points - own
                found.setdefault((verdict.exercise, result.name), []).append((result.passed, rest))
    return [
        Item(exercise, name, len(pairs), sum(p for p, _ in pairs), _correlation(pairs))
        for (exercise, name), pairs in sorted(found.items(), key=lambda entry: entry[0][0])
    ]


def _correlation(pairs: list[tuple[bool, float]]) -> float | None:
    passed, rest = (np.asarray(values, dtype=float) for values in zip(*pairs, strict=True))
    if len(pairs) < FEWEST or passed.std() == 0 or rest.std() == 0:
        return None
    return float(np.corrcoef(passed, rest)[0, 1])


def section(rows: Sequence[Row]) -> str:
    lines = []
    before = ""
    for item in items(rows):
        lines.append(_line(item, item.exercise != before))
        before = item.exercise
    head = (
        '<tr><th>exercise</th><th>property</th><th class="n">passed</th><th class="n">rate</th>'
        '<th class="n">discrimination</th></tr>'
    )
    note = (
        "<p class='soft'>Discrimination: how passing goes with the points for everything else, from -1 to 1. "
        "Near 0 the property tells nobody apart; below 0 those who do well elsewhere fail it, so look at the "
        f"test. A dash: all alike, or fewer than {FEWEST} answers.</p>"
    )
    table = f'<div class="wide"><table>{head}{"".join(lines)}</table></div>'
    return f"<h2>Properties</h2>\n{note}\n{table}"


def _line(item: Item, first: bool) -> str:
    d = item.discrimination
    shown = "–" if d is None else f'<span class="{"bad" if d < -0.1 else ""}">{d:+.2f}</span>'
    return (
        f"<tr><td>{escaped(item.exercise) if first else ''}</td><td>{escaped(item.name)}</td>"
        f'<td class="n">{item.passed} of {item.tried}</td>'
        f'<td class="n">{item.passed / item.tried:.0%}</td><td class="n">{shown}</td></tr>'
    )
