"""One row a solution, one column a property, and what makes the matrix of an exercise fail.

Every solution is scored as an answer would be, under several seeds, so that a lucky draw shows.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

from autograde.exercise import HiddenExercise, Solution
from autograde.judge.local import LocalAnswer
from autograde.judge.score import score
from autograde.judge.verdict import FAULTS, Verdict

SEEDS = (1, 2)
CPU_SECONDS = 60.0  # for one solution under one seed; a mutant may loop for ever
WALL_FACTOR = 5  # a solution that sleeps is stopped after so many times the processor limit
RIGHT, WRONG = "right", "wrong"


@dataclass(frozen=True)
class Row:
    """One solution: the points under each seed, and what failed under all (`kills`) or some (`flickers`).

    `properties` are those that the judge decided, with their points.
    """

    kind: str  # reference, variant, mutant or stub
    name: str
    expected: str  # "right": full points under every seed; "wrong": fewer under every seed
    points: tuple[float | None, ...]
    kills: tuple[str, ...]
    flickers: tuple[str, ...]
    properties: dict[str, float]
    remark: str = ""

    def fault(self, full: float) -> str:
        """Why this row fails the matrix; empty when it is as it should be."""
        if None in self.points:
            return f"cannot be scored: {self.remark}"
        if self.expected == RIGHT and min(self.points) < full:
            return f"is right, but gets {min(self.points):g} of {full:g} points: {self.remark}"
        if self.kind == "stub" and max(self.points) > 0:
            return f"earns {max(self.points):g} points as released"
        if self.expected == WRONG and max(self.points) >= full:
            lucky = f" under seed {SEEDS[self.points.index(full)]}" if min(self.points) < full else ""
            return f"survives{lucky}: it is wrong and gets full points"
        return ""


@dataclass(frozen=True)
class Matrix:
    """All rows of one exercise. `properties` are the columns, with their points."""

    exercise: str
    title: str
    points: float
    properties: dict[str, float]
    rows: tuple[Row, ...]

    @property
    def faults(self) -> list[str]:
        found = [(row, row.fault(self.points)) for row in self.rows]
        return [f"{self.exercise}: {row.kind} {row.name!r} {fault}" for row, fault in found if fault]

    @property
    def idle(self) -> list[str]:
        """Properties that kill nothing; no fault, but an author wants to know."""
        used = {name for row in self.rows if row.expected == WRONG for name in (*row.kills, *row.flickers)}
        return [name for name, points in self.properties.items() if points and name not in used]

    def to_dict(self) -> dict[str, Any]:
        rows = [{**asdict(row), "fault": row.fault(self.points)} for row in self.rows]
        return {**asdict(self), "rows": rows, "faults": self.faults, "idle": self.idle}


def solutions_of(exercise: HiddenExercise) -> list[tuple[str, str, Solution]]:
    """All solutions as (kind, what is expected, solution); for a write-a-test exercise these are tests."""
    groups = (
        ("reference", RIGHT, [exercise.reference]),
        ("variant", RIGHT, exercise.variants),
        ("mutant", WRONG, exercise.mutants),
    )
    return [(kind, expected, s) for kind, expected, group in groups for s in group if s is not None]


def row(
    exercise: HiddenExercise, kind: str, expected: str, solution: Solution, limit: float = CPU_SECONDS
) -> Row:
    """Score one solution under every seed.

    Args:
        limit: processor seconds for one seed; a solution that needs more counts as failing everything.
    """
    verdicts = [_score(exercise, solution, seed, limit) for seed in SEEDS]
    failed = [{result.name for result in verdict.failed} for verdict in verdicts]
    names = [result.name for verdict in verdicts for result in verdict.failed]
    ordered = list(dict.fromkeys(names))
    always = set.intersection(*failed)
    remark = next((v.message for v in verdicts if v.state in FAULTS), "")
    remark = remark or next((v.message for v in verdicts if v.message), "")
    return Row(
        kind,
        solution.name,
        expected,
        tuple(verdict.points for verdict in verdicts),
        tuple(name for name in ordered if name in always),
        tuple(name for name in ordered if name not in always),
        {result.name: result.points for verdict in verdicts for result in verdict.properties},
        remark,
    )


def matrix(exercise: HiddenExercise, rows: list[Row]) -> Matrix:
    """The rows of an exercise as a matrix, the columns in the order of the hidden tests."""
    columns = max((row.properties for row in rows), key=len)
    return Matrix(exercise.id, exercise.spec.title, float(exercise.spec.points), columns, tuple(rows))


def _score(exercise: HiddenExercise, solution: Solution, seed: int, limit: float) -> Verdict:
    full = float(exercise.spec.points)
    with _alarm(limit) as rung:
        try:
            return score(exercise, LocalAnswer(exercise, solution.names), seed)
        except KeyboardInterrupt:
            if not rung.is_set():
                raise
    return Verdict(
        exercise.id, "time_out", 0.0, full, message=f"took more than {limit:g} s", isolation="none"
    )


@contextmanager
def _alarm(limit: float) -> Iterator[threading.Event]:
    """Interrupt this process, again and again, once `limit` seconds of its processor time are used up."""
    rung = threading.Event()

    def ring(signum, frame):
        rung.set()
        raise KeyboardInterrupt

    timers = {
        signal.SIGPROF: (signal.ITIMER_PROF, limit),
        signal.SIGALRM: (signal.ITIMER_REAL, limit * WALL_FACTOR),
    }
    before = {number: signal.signal(number, ring) for number in timers}
    try:
        for timer, seconds in timers.values():
            signal.setitimer(timer, seconds, 1.0)
        yield rung
    finally:
        for timer, _ in timers.values():
            signal.setitimer(timer, 0.0)
        for number, handler in before.items():
            signal.signal(number, handler)
