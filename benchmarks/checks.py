"""Seconds that the public check of each exercise takes on the reference: `python -m benchmarks.checks`.

The first run of a week pays for its module and table; the second column is the median of five more runs. The
picture that a notebook draws below the table is measured on its own, its rendering included.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from io import BytesIO
from time import perf_counter

import torch

from autograde.weeks import hidden
from lmcourse.checks.evaluate import evaluate
from lmcourse.checks.rows import picture_of
from lmcourse.exercises import WEEKS, Exercise

REPEATS = 5


def seconds(action: Callable[[], object]) -> float:
    start = perf_counter()
    action()
    return perf_counter() - start


def picture_seconds(exercise: Exercise, names: dict) -> float | None:
    """Seconds to draw and render the exercise's picture; None where it has none."""
    draw = picture_of(exercise.id)
    return seconds(lambda: draw(names)[0].savefig(BytesIO())) if draw else None


def main() -> None:
    print(f"threads: {torch.get_num_threads()}\n")
    print(f"{'exercise':<10}{'checks':>7}{'first, s':>10}{'then, s':>10}{'picture, s':>12}  state")
    for exercise in (e for week in WEEKS for e in week.exercises):
        names = dict(hidden(exercise.id).reference.names)
        first = seconds(lambda e=exercise, n=names: evaluate(e.id, n))
        later = [seconds(lambda e=exercise, n=names: evaluate(e.id, n)) for _ in range(REPEATS)]
        report, drawn = evaluate(exercise.id, names), picture_seconds(exercise, names)
        picture = f"{drawn:>12.2f}" if drawn is not None else f"{'-':>12}"
        times = f"{first:>10.3f}{statistics.median(later):>10.3f}{picture}"
        print(f"{exercise.id:<10}{len(report.rows):>7}{times}  {report.state}")


if __name__ == "__main__":
    main()
