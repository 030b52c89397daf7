"""When must an exercise be judged again? When something changed that its verdict depends on.

The key of an exercise's verdict is a hash over the student's code, the seed, the versions of the libraries,
the judge, `lmcourse`, and the hidden side of that exercise alone: a new hidden test reruns only its exercise.
"""

from __future__ import annotations

import hashlib
import json
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
from lmcourse.handin.repair import repair

# What decides every verdict, besides the hidden side of the exercise itself.
JUDGING = ("autograde/judge", "autograde/worker", "lmcourse", "data/runs")
ALONE = ("autograde/exercise.py", "autograde/expect.py")
SUFFIXES = (".py", ".json", ".jsonl")


def verdict_keys(
    notebook: NotebookNode, master: Master, student: str, secret: str, limits: Limits
) -> dict[str, str]:
    """Exercise id -> key of its verdict for this submission."""
    common = _hash(
        json.dumps(_student_cells(repair(notebook, master).notebook)),
        json.dumps(versions(), sort_keys=True),
        repr(limits),
        *(source_hash(PROJECT / folder) for folder in JUDGING),
        *(source_hash(PROJECT / file) for file in ALONE),
    )
    week = registry.week(master.week)
    return {e.id: _hash(common, _seed(secret, student, e), _hidden(e)) for e in week.exercises}


@cache
def source_hash(path: Path) -> str:
    """A hash of a file, or of the sources and tables in a folder."""
    files = [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.suffix in SUFFIXES)
    parts = [str(f.relative_to(path.parent)) + "\0" + _hash(f.read_bytes().decode("latin-1")) for f in files]
    return _hash(*parts)


def _student_cells(notebook: NotebookNode) -> list[list[str]]:
    """The cells that run and where the exercises are judged, without anything that decides nothing."""
    cells = []
    for cell in notebook.cells:
        own = cell.metadata.get("lmcourse", {})
        if cell.cell_type == "code" and own.get("role") not in NOT_RUN:
            cells.append([own.get("role", ""), own.get("exercise", ""), normalized(cell.source)])
    return cells


def _seed(secret: str, student: str, exercise: registry.Exercise) -> str:
    return str(exercise_seed(secret, student, exercise.id))


def _hidden(exercise: registry.Exercise) -> str:
    """The exercise's own file, and those that its week shares between exercises."""
    folder = PROJECT / "autograde" / "weeks" / f"week{int(exercise.week[1:]):02d}"
    own = exercise.id.lower().replace(".", "_") + ".py"
    others = {e.id.lower().replace(".", "_") + ".py" for e in registry.week(exercise.week).exercises} - {own}
    return _hash(*(source_hash(f) for f in sorted(folder.glob("*.py")) if f.name not in others))


def _hash(*parts: str) -> str:
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "big") + data)
    return digest.hexdigest()
