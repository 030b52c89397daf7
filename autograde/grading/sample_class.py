"""Makes `data/sample_class/W1`: a small class whose submissions are right, wrong, unfinished and hostile.

    python -m autograde.grading.sample_class

The submissions are the released notebook with answers pasted in. Right answers are those of `solutions/`, the
others are written out here. The same sources always give the same files.
"""

from __future__ import annotations

import sys
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from autograde.build.source import read_source, source_path
from autograde.grading.sample_answers import MISTAKES, hostile_answers, hostile_cell, never_ending
from autograde.grading.store import write_atomically
from autograde.project import PROJECT, SOLUTIONS, shown
from lmcourse import exercises as registry
from lmcourse.errors import CourseError
from lmcourse.handin.master import Master

FOLDER = PROJECT / "data" / "sample_class"
LOGIN_PAGE = (
    "<!DOCTYPE html>\n<html><head><title>Log in</title></head><body>Your session has ended.</body></html>\n"
)
HALF = ("W1.1", "W1.2", "W1.3", "W1.4")
MARKS = ("### BEGIN SOLUTION", "### END SOLUTION")


def right_answers(week: registry.Week) -> dict[str, list[str]]:
    """Exercise id -> the sources of its answer cells, from the week's source file."""
    answers: dict[str, list[str]] = {}
    for cell in read_source(source_path(week, SOLUTIONS)):
        if cell.role == "answer":
            lines = [line for line in cell.text.split("\n") if line.strip() not in MARKS]
            answers.setdefault(cell.exercise, []).append("\n".join(lines).strip())
    return answers


def submissions(week: registry.Week, master: Master) -> dict[str, NotebookNode | str]:
    """Student -> notebook, or the text that is handed in instead of one."""
    right = right_answers(week)
    made: dict[str, NotebookNode | str] = {"ada": answered(master, right)}
    for student, (exercise, source) in MISTAKES.items():
        made[student] = answered(master, {**right, exercise: [source]})
    made["eva"] = answered(master, {exercise: right[exercise] for exercise in HALF})
    made["mallory"] = answered(master, {e: [text] for e, text in hostile_answers().items()}, hostile_cell())
    made["petr"] = LOGIN_PAGE
    made["zeno"] = answered(master, {**right, **{e: [text] for e, text in never_ending(right).items()}})
    return made


def answered(master: Master, answers: dict[str, list[str]], own_cell: str = "") -> NotebookNode:
    """The released notebook with these answers; exercises without one keep their stub."""
    notebook = nbformat.from_dict(master.notebook)
    left = {exercise: list(sources) for exercise, sources in answers.items()}
    for cell in notebook.cells:
        own = cell.metadata.get("lmcourse", {})
        if own.get("role") == "answer" and left.get(own["exercise"]):
            cell.source = left[own["exercise"]].pop(0)
    unused = [exercise for exercise, sources in left.items() if sources]
    if unused:
        raise CourseError(f"the released notebook has no answer cell for {', '.join(unused)}; build it again")
    if own_cell:
        first = next(i for i, c in enumerate(notebook.cells) if c.metadata.lmcourse.role == "setup")
        notebook.cells.insert(first + 1, nbformat.v4.new_code_cell(own_cell, id="own-1"))
    return notebook


def write(folder: Path = FOLDER) -> list[Path]:
    """Write the class of W1 below `folder`.

    Raises:
        CourseError: the released notebook does not exist or has other exercises.
    """
    week = registry.week("W1")
    written = []
    for student, content in submissions(week, Master.load(week.id)).items():
        text = content if isinstance(content, str) else nbformat.writes(content) + "\n"
        path = folder / week.id / student / f"{week.notebook}.ipynb"
        write_atomically(path, text.encode("utf-8"))
        written.append(path)
    return written


def main() -> int:
    try:
        for path in write():
            print(shown(path))
    except CourseError as error:
        print(f"sample_class: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
