"""The nine kinds of broken notebooks in the real release of week 1, each in an exercise of its own."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import nbformat
import pytest

from autograde.build.assemble import assemble
from autograde.build.source import read_source, source_path
from lmcourse.checks.notebook.cells import CourseCell, course_cells
from lmcourse.checks.notebook.check import needed_cells
from lmcourse.checks.notebook.integrity import compare
from lmcourse.checks.notebook.run import DONE, ENDLESS, FAILED, run_notebook
from lmcourse.checks.notebook.verdicts import NotebookVerdict, judge
from lmcourse.exercises import week

ROOT = Path(__file__).parents[3]
WEEK = week("W1")
RELEASE = ROOT / "notebooks" / f"{WEEK.notebook}.ipynb"
CELL_SECONDS, CALL_SECONDS = 10.0, 2.0

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not RELEASE.is_file(), reason="notebooks/ is not built: run `autograde build`"),
]


@dataclass
class Submission:
    """The release with the reference answers filled in, to be broken by name of cell."""

    notebook: nbformat.NotebookNode

    def __getitem__(self, grade_id: str) -> nbformat.NotebookNode:
        return next(
            c for c in self.notebook.cells if c.metadata.get("nbgrader", {}).get("grade_id") == grade_id
        )


def solved() -> Submission:
    submission = Submission(nbformat.read(RELEASE, as_version=4))
    instructor = assemble(WEEK, read_source(source_path(WEEK, ROOT / "solutions")))
    for cell in course_cells(instructor):
        if cell.role == "answer":
            submission[cell.grade_id].source = re.sub(
                r"^ *### (BEGIN|END) SOLUTION\n?", "", cell.node.source, flags=re.M
            )
    return submission


def verdict_of(submission: Submission, folder: Path) -> NotebookVerdict:
    cells = course_cells(submission.notebook)
    released = course_cells(nbformat.read(RELEASE, as_version=4))
    limits = {"cell_seconds": CELL_SECONDS, "call_seconds": CALL_SECONDS}
    run = run_notebook(needed_cells(cells), WEEK.exercises, folder, **limits)
    return judge(run, WEEK.exercises, cells, compare(cells, WEEK.exercises, released))


def troubled(verdict: NotebookVerdict) -> dict[str | None, str]:
    """Exercise of each cell that did not end well, with its state."""
    return {run.cell.exercise: run.state for run in verdict.run.runs if run.state != DONE}


def states(verdict: NotebookVerdict) -> dict[str, str]:
    return {v.exercise.id: v.state for v in verdict.exercises}


def test_solved(tmp_path):
    verdict = verdict_of(solved(), tmp_path)
    text = "\n".join(verdict.lines())
    assert set(states(verdict).values()) == {"passed"}, text
    assert verdict.passed, text
    assert f"{len(WEEK.exercises)} of {len(WEEK.exercises)} exercises pass their public checks." in text


def test_unsolved(tmp_path):
    verdict = verdict_of(Submission(nbformat.read(RELEASE, as_version=4)), tmp_path)
    assert set(states(verdict).values()) == {"not started"}, "\n".join(verdict.lines())
    assert troubled(verdict) == {} and verdict.integrity.intact and not verdict.passed


def test_each_exercise_broken_in_its_own_way(tmp_path):
    submission = solved()
    submission["W1-1-answer"].source += "\n1 / 0\n"
    submission["W1-2-check"].source = 'print("2 of 2 public checks pass")'
    submission.notebook.cells.remove(submission["W1-3-check"])
    renamed = submission["W1-4-answer"].source.replace("def document_mask(", "def doc_mask(")
    submission["W1-4-answer"].source = renamed
    submission[
        "W1-5-answer"
    ].source = "def positions_and_loss_mask(doc_id, eos_positions):\n    while True: pass\n"
    submission["W1-6-answer"].source += "\nwhile True:\n    pass\n"
    submission["W1-7-answer"].source = _released(submission, "W1-7-answer")

    verdict = verdict_of(submission, tmp_path)
    text = "\n".join(verdict.lines())
    assert states(verdict) == {
        "W1.1": "passed",
        "W1.2": "passed",
        "W1.3": "passed",
        "W1.4": "failed",
        "W1.5": "too slow",
        "W1.6": "passed",
        "W1.7": "not started",
        "W1.8": "passed",
    }, text
    assert troubled(verdict) == {"W1.1": FAILED, "W1.6": ENDLESS}, text
    assert [name.partition("(")[2] for name in verdict.integrity.edited] == ["W1.2 check)"], text
    assert verdict.integrity.deleted == ("the check cell of W1.3",), text
    for words in (
        "ZeroDivisionError: division by zero",
        "`document_mask` is not defined, but `doc_mask` is: was it renamed?",
        f"positions_and_loss_mask did not finish in {CALL_SECONDS:g} s",
        f"interrupted after {CELL_SECONDS:g} s",
        "the stub is still in place",
        "5 of 8 exercises pass their public checks. More checks run when you hand in.",
    ):
        assert words in text
    assert not verdict.passed


def _released(submission: Submission, grade_id: str) -> str:
    cells: list[CourseCell] = course_cells(nbformat.read(RELEASE, as_version=4))
    return next(cell.node.source for cell in cells if cell.grade_id == grade_id)
