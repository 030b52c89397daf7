"""The contract of `lmcourse check`: nine broken notebooks, each with the verdict that must come out.

They belong to a week of one exercise ("write a test for relu"), each built from the same release by one
change, as a student makes it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from nbformat import NotebookNode
from nbgrader.utils import compute_checksum

from lmcourse import exercises
from lmcourse.checks.notebook import check as checker
from lmcourse.checks.notebook.cells import course_cells
from lmcourse.checks.notebook.run import DEADLY, DONE, ENDLESS, FAILED, publish_source
from lmcourse.checks.report import MIME

WEEK = replace(exercises.week("W0"), exercises=(exercises.exercise("W0.2"),))
STUB = "def test_relu(impl):\n    raise NotImplementedError\n"
SOLUTION = (
    "def test_relu(impl):\n"
    "    x = torch.tensor([-2.0, -0.5, 0.0, 3.0])\n"
    "    assert torch.equal(impl(x), torch.tensor([0.0, 0.0, 0.0, 3.0]))\n"
)
pytestmark = pytest.mark.slow

CELL_SECONDS, CALL_SECONDS, SLOW_SECONDS = 60.0, 2.0, 0.5
# For endless cells; long enough for `import torch` in the setup cell of a busy machine.
SHORT_SECONDS = 6.0


def release() -> NotebookNode:
    """The week as students get it, with nbgrader's marks and checksums."""
    cells = [
        _cell(
            "setup", "W0-setup-1", "import time\nimport torch\nfrom lmcourse.checks import check", locked=True
        ),
        _cell("answer", "W0-2-answer", STUB, solution=True),
        _cell("check", "W0-2-check", 'check("W0.2")', locked=True),
        _cell("grade", "W0-2", "# More checks run here when you hand in.", locked=True, grade=True, points=1),
        nbformat.v4.new_code_cell("# A cell of your own."),
    ]
    notebook = nbformat.v4.new_notebook(cells=cells, metadata={"lmcourse": {"week": "W0"}})
    for cell in cells[:-1]:
        cell.metadata.nbgrader["checksum"] = compute_checksum(cell)
    return notebook


def _cell(role: str, grade_id: str, source: str, **flags: object) -> NotebookNode:
    marks = {"schema_version": 3, "grade_id": grade_id, "grade": False, "solution": False, "locked": False}
    course = {"role": role, "exercise": "W0.2"} if role != "setup" else {"role": role}
    return nbformat.v4.new_code_cell(source, metadata={"lmcourse": course, "nbgrader": {**marks, **flags}})


def changed(cell: int, source: str, base: NotebookNode | None = None) -> NotebookNode:
    notebook = base or release()
    notebook.cells[cell].source = source
    return notebook


def solved() -> NotebookNode:
    return changed(1, SOLUTION)


def without_check_cell() -> NotebookNode:
    notebook = solved()
    del notebook.cells[2]
    return notebook


@dataclass(frozen=True)
class Expected:
    """`bad` maps the number of each cell that did not end well to its state; `words` must be in the text."""

    state: str
    bad: dict[int, str]
    words: tuple[str, ...] = ()
    passed: bool = False
    edited: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()
    slow: tuple[int, ...] = ()
    cell_seconds: float = CELL_SECONDS


LOOK = "The ids look like 'W1.4'"
LOOP_IN_FUNCTION = "def test_relu(impl):\n    while True:\n        pass\n"

TABLE: dict[str, tuple[Callable[[], NotebookNode], Expected]] = {
    "loop in cell": (
        lambda: changed(1, SOLUTION + "while True:\n    pass\n"),
        Expected(
            "passed",
            {2: ENDLESS},
            ("never ended", "cell 2 (W0.2 answer), interrupted after 6 s"),
            cell_seconds=SHORT_SECONDS,
        ),
    ),
    "loop in function": (
        lambda: changed(1, LOOP_IN_FUNCTION),
        Expected("too slow", {}, ("test_relu did not finish in 2 s",)),
    ),
    "exception after the solution": (
        lambda: changed(1, SOLUTION + "1 / 0\n"),
        Expected(
            "passed", {2: FAILED}, ("cell 2 (W0.2 answer), line 4: ZeroDivisionError: division by zero",)
        ),
    ),
    "slow cell": (
        lambda: changed(4, "time.sleep(0.7)", solved()),
        Expected("passed", {}, ("Slowest cells", "longer than 0.5 s"), passed=True, slow=(5,)),
    ),
    "edited test": (
        lambda: changed(2, 'print("3 of 3 public checks pass")', solved()),
        Expected("passed", {}, ("Locked, but changed",), edited=("cell 3 (W0.2 check)",)),
    ),
    "deleted cell": (
        without_check_cell,
        Expected("passed", {}, ("Deleted",), deleted=("the check cell of W0.2",)),
    ),
    "renamed function": (
        lambda: changed(1, SOLUTION.replace("test_relu", "relu_test")),
        Expected("failed", {}, ("`test_relu` is not defined, but `relu_test` is: was it renamed?",)),
    ),
    "unsolved": (release, Expected("not started", {}, ("the stub is still in place",))),
    "solved": (
        solved,
        Expected("passed", {}, ("1 of 1 exercise passes its public checks. More checks run",), passed=True),
    ),
}


@pytest.fixture
def verdict_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable:
    monkeypatch.setattr(checker, "released_cells", lambda week, path: course_cells(release()))

    def check(notebook: NotebookNode, cell_seconds: float = CELL_SECONDS):
        path = tmp_path / "a name of my own.ipynb"
        nbformat.write(notebook, path)
        limits = {"cell_seconds": cell_seconds, "call_seconds": CALL_SECONDS, "slow_seconds": SLOW_SECONDS}
        return checker.check_notebook(path, WEEK, **limits)

    return check


@pytest.mark.parametrize("name", TABLE)
def test_verdict(name: str, verdict_of: Callable):
    build, expected = TABLE[name]
    verdict = verdict_of(build(), expected.cell_seconds)
    text = "\n".join(verdict.lines())
    assert [v.state for v in verdict.exercises] == [expected.state], text
    assert {r.cell.number: r.state for r in verdict.run.runs if r.state != DONE} == expected.bad, text
    assert verdict.integrity.edited == expected.edited, text
    assert verdict.integrity.deleted == expected.deleted, text
    assert verdict.passed == expected.passed, text
    assert "all tests" not in text.lower() and "More checks run when you hand in." in text
    for words in expected.words:
        assert words in text
    slow = {r.cell.number for r in verdict.run.runs if r.seconds > SLOW_SECONDS and r.state == DONE}
    assert set(expected.slow) <= slow


@pytest.mark.parametrize("name", ["edited test", "deleted cell", "solved"])
def test_without_a_release_to_compare_with_the_checksums_speak(name: str, tmp_path: Path):
    from lmcourse.checks.notebook.integrity import compare

    build, expected = TABLE[name]
    found = compare(course_cells(build()), WEEK.exercises, None)
    assert (found.edited, found.deleted) == (expected.edited, expected.deleted)


def test_a_dead_kernel_is_named_and_later_exercises_are_not_checked(verdict_of: Callable):
    verdict = verdict_of(changed(0, "import os\nos._exit(7)"))
    assert [r.state for r in verdict.run.runs] == [DEADLY]
    assert verdict.exercises[0].state == "not checked"
    assert "the kernel died in cell 1" in "\n".join(verdict.lines())
    assert not verdict.passed


def test_a_cell_that_swallows_the_interrupt_stops_the_run(verdict_of: Callable):
    swallow = "    try:\n        while True:\n            pass\n    except BaseException:\n        pass\n"
    verdict = verdict_of(changed(0, "while True:\n" + swallow), 1.0)
    assert [r.state for r in verdict.run.runs] == [ENDLESS]
    assert "could not be interrupted" in verdict.run.stopped
    assert verdict.exercises[0].state == "not checked"


def test_the_notebook_and_the_terminal_say_the_same():
    """In one kernel, after each answer: the notebook's check cell, then what the terminal runs instead."""
    states = {
        "unsolved": "not started",
        "renamed": "failed",
        "wrong": "failed",
        "crash": "error",
        "loop": "too slow",
        "solved": "passed",
    }
    answers = {
        "unsolved": STUB,
        "renamed": SOLUTION.replace("test_relu", "relu_test"),
        "wrong": "def test_relu(impl):\n    pass\n",
        "crash": "def test_relu(impl):\n    return missing\n",
        "loop": LOOP_IN_FUNCTION,
        "solved": SOLUTION,
    }
    quick = "import lmcourse.checks.evaluate as e; e.evaluate.__defaults__ = (0.5,)"
    sources = [release().cells[0].source, quick]
    for answer in answers.values():
        forget = 'for name in ("test_relu", "relu_test"):\n    globals().pop(name, None)\n'
        sources += [forget, answer, 'check("W0.2")', publish_source("W0.2", 0.5)]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in sources])
    notebook.cells.append(
        nbformat.v4.new_code_cell('check("W1.44")', metadata={"tags": ["raises-exception"]})
    )
    cells = NotebookClient(notebook, kernel_name="python3").execute().cells
    for name, check_cell, terminal in zip(answers, cells[4:-1:4], cells[5:-1:4], strict=True):
        in_notebook, in_terminal = (
            next(output.data[MIME] for output in cell.outputs if MIME in output.get("data", {}))
            for cell in (check_cell, terminal)
        )
        assert in_notebook == in_terminal, name
        assert any("<table>" in output.data.get("text/html", "") for output in check_cell.outputs)
        assert in_notebook["state"] == states[name]
    (error,) = cells[-1].outputs
    assert error.traceback == ["lmcourse: there is no exercise 'W1.44'; did you mean 'W1.4'? " + LOOK]
