"""Gradescope: `results.json` of its autograder, one for each submission.

Each named property is a test. Of a write-a-test exercise the count alone is told, as everywhere.
"""

from __future__ import annotations

import json
from typing import Any

from autograde.judge.verdict import FAULTS, STATES, PropertyResult, Verdict
from autograde.reports.rows import Row
from autograde.reports.words import number, printable
from lmcourse import exercises as registry


def results_json(row: Row) -> bytes:
    """The file's content. What nobody decided yet has no score, and says so."""
    lines = [row.verdict.problem] if row.verdict.problem else []
    if row.late.days:
        lines.append(f"{row.late.days} days late: {number(row.penalty)} points less")
    lines += [f"Repaired: {line}" for line in row.verdict.repairs]
    lines += [f"Not decided yet, through no fault of yours: {v.exercise}" for v in row.verdict.undecided]
    data = {
        "score": round(row.points, 4),
        "execution_time": round(row.verdict.wall_seconds, 3),
        "output": printable_lines(lines),
        "output_format": "text",
        "test_output_format": "text",
        "test_name_format": "text",
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "tests": [test for verdict in row.verdict.verdicts for test in _tests(verdict)],
    }
    return json.dumps(data, indent=1).encode("ascii")


def _tests(verdict: Verdict) -> list[dict[str, Any]]:
    is_test = registry.exercise(verdict.exercise).kind == "T"
    if verdict.state in FAULTS or is_test or not verdict.properties:
        return [_whole(verdict)]
    earned = verdict.points or 0.0
    return [
        _property(verdict.exercise, number_, p, earned) for number_, p in enumerate(verdict.properties, 1)
    ]


def _whole(verdict: Verdict) -> dict[str, Any]:
    test = {
        "name": verdict.exercise,
        "number": verdict.exercise.removeprefix("W"),
        "max_score": verdict.max_points,
        "output": printable_lines([STATES[verdict.state], verdict.message]),
        "visibility": "visible",
    }
    if verdict.points is not None:
        test |= {"score": verdict.points, "status": "passed" if verdict.state == "right" else "failed"}
    return test


def _property(exercise: str, place: int, result: PropertyResult, earned: float) -> dict[str, Any]:
    passed = result.passed and (earned > 0 or not result.points)
    return {
        "name": f"{exercise}: {printable(result.name)}",
        "number": f"{exercise.removeprefix('W')}.{place}",
        "score": result.points if passed else 0.0,
        "max_score": result.points,
        "status": "passed" if result.passed else "failed",
        "output": printable_lines([result.message, result.case and f"smallest failing case: {result.case}"]),
        "visibility": "visible",
    }


def printable_lines(lines: list[str]) -> str:
    return "\n".join(printable(line) for line in lines if line)
