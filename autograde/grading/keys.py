"""When must an exercise be judged again? When something changed that its verdict depends on.

The key of an exercise's verdict is made of named parts: the student's cells up to its grade cell, the seed,
the hidden side of that exercise alone, the environment (libraries, judge, `lmcourse`), and the limits. A new
hidden test reruns only its exercise, a changed answer only the exercises from there on. The parts say why.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from nbformat import NotebookNode

from autograde.judge.limits import Limits
from autograde.judge.seeds import exercise_seed
from autograde.judge.session import NOT_RUN
from autograde.judge.verdict import versions
from autograde.project import PROJECT
from lmcourse import exercises as registry
from lmcourse.handin.code import normalized
from lmcourse.handin.master import Master
from lmcourse.handin.untouched import untouched

# What decides every verdict, besides the hidden side of the exercise itself.
JUDGING = ("autograde/judge", "autograde/worker", "autograde/sandbox", "lmcourse", "data/runs")
ALONE = ("autograde/exercise.py", "autograde/expect.py")
SUFFIXES = (".py", ".json", ".jsonl")

Parts = dict[str, str]
# What is said of a part that differs from an earlier verdict's.
WORDS = {
    "cells": "the submission changed",
    "tests": "its hidden tests changed",
    "seed": "the student's seed changed",
    "environment": "the grader or its libraries changed",
    "limits": "the limits on time or memory changed",
}


@dataclass(frozen=True)
class Sources:
    """Hashes of everything besides submissions: the environment, and the hidden side of each exercise."""

    environment: str
    tests: dict[str, str]


def verdict_parts(
    repaired: NotebookNode, master: Master, student: str, secret: str, limits: Limits, sources: Sources
) -> dict[str, Parts]:
    """Exercise id -> the named parts of its verdict's key, for a repaired submission."""
    allowed = _hash(repr(limits))
    alone = untouched(repaired, master)
    parts: dict[str, Parts] = {}
    cells = hashlib.sha256()
    for cell in repaired.cells:
        own = cell.metadata.get("lmcourse", {})
        role, exercise = own.get("role", ""), own.get("exercise", "")
        if role == "grade" and exercise in sources.tests:
            parts[exercise] = {
                "cells": _hash(cells.hexdigest(), str(exercise in alone)),
                "tests": sources.tests[exercise],
                "seed": _hash(str(exercise_seed(secret, student, exercise))),
                "environment": sources.environment,
                "limits": allowed,
            }
        elif cell.cell_type == "code" and role not in NOT_RUN:
            cells.update(_hash(role, exercise, normalized(cell.source)).encode())
    return {e.id: parts[e.id] for e in registry.week(master.week).exercises if e.id in parts}


def key_of(parts: Parts) -> str:
    """The address of a verdict in the store."""
    return _hash(json.dumps(parts, sort_keys=True))


def why(before: Parts | None, now: Parts) -> str:
    """In words, what makes a verdict with these parts another one than before."""
    if before is None:
        return "it was not judged before"
    reasons = [words for part, words in WORDS.items() if before.get(part) != now.get(part)]
    return " and ".join(reasons) or "nothing that it depends on changed: it was judged again"


def sources_of(week_id: str) -> Sources:
    """What decides the verdicts of a week in this installation; read once and sent along with each task."""
    week = registry.week(week_id)
    environment = _hash(
        json.dumps(versions(), sort_keys=True),
        *(source_hash(PROJECT / folder) for folder in JUDGING),
        *(source_hash(PROJECT / file) for file in ALONE),
    )
    return Sources(environment, {e.id: hidden_hash(e.id) for e in week.exercises})


@cache
def source_hash(path: Path) -> str:
    """A hash of a file, or of the sources and tables in a folder."""
    files = [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.suffix in SUFFIXES)
    parts = [str(f.relative_to(path.parent)) + "\0" + _hash(f.read_bytes().decode("latin-1")) for f in files]
    return _hash(*parts)


def hidden_hash(exercise_id: str) -> str:
    """The exercise's own file, and those that its week shares between exercises."""
    week = registry.exercise(exercise_id).week
    folder = PROJECT / "autograde" / "weeks" / f"week{int(week[1:]):02d}"
    own = _file(exercise_id)
    others = {_file(e.id) for e in registry.week(week).exercises} - {own}
    return _hash(*(source_hash(f) for f in sorted(folder.glob("*.py")) if f.name not in others))


def _file(exercise_id: str) -> str:
    return exercise_id.lower().replace(".", "_") + ".py"


def _hash(*parts: str) -> str:
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "big") + data)
    return digest.hexdigest()
