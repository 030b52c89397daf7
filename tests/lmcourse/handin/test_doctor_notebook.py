"""`lmcourse doctor NOTEBOOK` before hand-in: what it says is what the grader does, and --fix repairs it."""

from __future__ import annotations

import nbformat
import pytest

from lmcourse.cli.main import main
from lmcourse.handin.examine import examine
from lmcourse.handin.master import Master
from lmcourse.handin.read import read_notebook
from lmcourse.handin.repair import repair


@pytest.fixture
def notebook():
    """The released notebook of W0, as a student would change it."""
    return nbformat.from_dict(Master.load("W0").notebook)


@pytest.fixture
def write(tmp_path):
    def put(notebook, encoding="utf-8", name="mine (2).ipynb"):
        path = tmp_path / name
        path.write_text(nbformat.writes(notebook), encoding=encoding)
        return path

    return put


def answer(notebook, exercise="W0.1"):
    return next(
        c for c in notebook.cells
        if c.metadata.get("lmcourse", {}).get("role") == "answer" and c.metadata.lmcourse.exercise == exercise
    )  # fmt: skip


def damage(notebook):
    grade = next(c for c in notebook.cells if c.metadata.lmcourse.role == "grade")
    notebook.cells.remove(grade)
    answer(notebook).cell_type = "raw"
    answer(notebook, "W0.2").metadata = nbformat.NotebookNode()


def test_a_released_notebook_has_nothing_wrong(notebook, write, capsys):
    assert main(["doctor", str(write(notebook))]) == 0
    said = capsys.readouterr().out
    assert "Nothing is wrong" in said and "Not attempted yet" in said and "W0.2" in said


def test_it_says_what_grading_repairs_and_fix_writes_that(notebook, write, capsys):
    answer(notebook, "W0.2").source = "def test_relu(impl):\n    assert impl is not None"
    damage(notebook)
    for cell in notebook.cells:
        if cell.cell_type != "code":
            cell.pop("outputs", None)
            cell.pop("execution_count", None)
    path = write(notebook)
    assert main(["doctor", str(path)]) == 1
    said = capsys.readouterr().out
    grader = repair(read_notebook(path.read_bytes(), "x"), Master.load("W0"))
    assert len(grader.repairs) >= 3 and all(line in said for line in grader.repairs)
    assert main(["doctor", str(path), "--fix"]) == 0
    copy = path.with_name("mine (2)-repaired.ipynb")
    assert examine(copy).repairs == () and examine(copy).not_attempted == ("W0.1",)
    assert main(["doctor", str(path), "--fix"]) == 2
    assert "exists already" in capsys.readouterr().err


WARNINGS = {
    "input": ("name = input('who? ')", "calls input()"),
    "end": ("import sys\nsys.exit(0)", "calls sys.exit()"),
    "merge": ("<<<<<<< HEAD\nx = 1\n=======\nx = 2\n>>>>>>> other", "conflict marks"),
    "no Python": ("def hello_check(x:\n    return 1", "is not Python (line 1"),
    "shell": ("!pip install torch", "starts another program"),
}


@pytest.mark.parametrize(("source", "words"), WARNINGS.values(), ids=WARNINGS.keys())
def test_what_will_not_work_when_nobody_sits_there_is_named(notebook, write, source, words, capsys):
    answer(notebook).source = source
    assert main(["doctor", str(write(notebook))]) == 1
    assert words in capsys.readouterr().out


def test_magics_and_words_in_comments_are_no_fault(notebook, write):
    answer(notebook).source = "%matplotlib inline\n# input() and exit() are not called\nhello_check = abs"
    assert examine(write(notebook)).warnings == ()


def test_a_file_that_shadows_a_library_is_named(notebook, write, tmp_path):
    (tmp_path / "numpy.py").write_text("")
    (tmp_path / "helpers.py").write_text("")
    [line] = examine(write(notebook)).warnings
    assert "numpy.py lies beside the notebook" in line


def test_another_encoding_is_read_and_told(notebook, write):
    [line] = examine(write(notebook, encoding="utf-16")).warnings
    assert "not UTF-8" in line


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "is empty"),
        ("<html>Log in</html>", "web page"),
        ('{"cells": [', "cut off"),
        ('{"cells": [], "nbformat": 4, "metadata": {}}', "is no notebook of this course"),
        ('<<<<<<< HEAD\n{"cells": []}\n=======\n', "Git conflict marks"),
        (None, "there is no file"),
    ],
)
def test_what_is_no_notebook_is_one_line(tmp_path, capsys, content, words):
    path = tmp_path / "x.ipynb"
    if content is not None:
        path.write_text(content)
    assert main(["doctor", str(path)]) == 2
    said = capsys.readouterr()
    assert words in said.err and said.err.count("\n") == 1 and not said.out
