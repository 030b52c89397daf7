"""Seconds that the public check of each exercise takes on the reference.

Prints a table and writes it to benchmarks/checks.md. The first run of a week pays for its module and table;
the second column is the median of five more. The picture that a notebook draws below the table is measured on
its own, its rendering included.

    python -m benchmarks.checks
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from time import perf_counter

import torch

from autograde.weeks import hidden
from lmcourse.checks.evaluate import evaluate
from lmcourse.checks.rows import picture_of
from lmcourse.exercises import WEEKS, Exercise

REPEATS = 5
OUTPUT = Path(__file__).with_suffix(".md")


def seconds(action: Callable[[], object]) -> float:
    start = perf_counter()
    action()
    return perf_counter() - start


def picture_seconds(exercise: Exercise, names: dict) -> float | None:
    """Seconds to draw and render the exercise's picture; None where it has none."""
    draw = picture_of(exercise.id)
    return seconds(lambda: draw(names)[0].savefig(BytesIO())) if draw else None


def table() -> str:
    lines = [
        "# How long a public check takes",
        "",
        f"On the reference answers, {torch.get_num_threads()} threads. The first run pays for "
        f'imports and tables; "then" is the median of {REPEATS} more.',
        "",
        "| exercise | checks | first, s | then, s | picture, s | state |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for exercise in (e for week in WEEKS for e in week.exercises):
        names = dict(hidden(exercise.id).reference.names)
        first = seconds(lambda e=exercise, n=names: evaluate(e.id, n))
        later = [seconds(lambda e=exercise, n=names: evaluate(e.id, n)) for _ in range(REPEATS)]
        report, drawn = evaluate(exercise.id, names), picture_seconds(exercise, names)
        picture = "-" if drawn is None else f"{drawn:.2f}"
        times = f"{first:.3f} | {statistics.median(later):.3f} | {picture}"
        lines.append(f"| {exercise.id} | {len(report.rows)} | {times} | {report.state} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    text = table()
    print(text)
    OUTPUT.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
