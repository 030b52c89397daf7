"""Lines of the hidden side are found in whatever students get, wherever they were copied to."""

from __future__ import annotations

import nbformat
import pytest

from autograde.build.leaks import hidden_runs, leaks

HIDDEN = '''"""Hidden side."""

import torch


@EXERCISE.property("values", 2)
def _(answer, draw):
    numbers = torch.from_numpy(draw.rng.normal(size=(3, 5)))
    got = answer(numbers)
    # Compare with the definition.
    expect.close(got, 2 * numbers + 1, what="the line", case=f"{draw.seed}")
'''


@pytest.fixture
def runs(tmp_path):
    folder = tmp_path / "autograde" / "weeks" / "week00"
    folder.mkdir(parents=True)
    (folder / "w0_1.py").write_text(HIDDEN)
    return hidden_runs(tmp_path / "autograde" / "weeks")


def _notebook(*sources: str) -> str:
    return nbformat.writes(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(s) for s in sources]))


def test_a_hidden_test_in_the_package_is_named_with_its_place(runs):
    body = "\n".join("    " + line for line in HIDDEN.splitlines()[6:])
    (fault,) = leaks({"lmcourse/checks/week00.py": f"def copied():\n{body}\n"}, runs)
    assert fault.startswith("lmcourse/checks/week00.py: lines of the hidden side reach the students")
    assert "autograde/weeks/week00/w0_1.py, line 7" in fault


def test_a_hidden_test_in_a_notebook_is_found_without_its_comments_and_indentation(runs):
    lines = [line.strip() for line in HIDDEN.splitlines()[6:] if "#" not in line]
    assert len(leaks({"notebooks/week00_start.ipynb": _notebook("x = 1", "\n".join(lines))}, runs)) == 1


@pytest.mark.parametrize("mark", ["### BEGIN HIDDEN TESTS", "### BEGIN SOLUTION", "### END SOLUTION"])
def test_a_mark_that_nbgrader_should_have_removed_is_found(runs, mark):
    (fault,) = leaks({"notebooks/week00_start.ipynb": _notebook(mark)}, runs)
    assert "the mark" in fault and "reaches the students" in fault


@pytest.mark.parametrize(
    "line", ["import autograde", "from autograde.weeks import hidden", "  import autograde.judge"]
)
def test_an_import_of_the_instructors_side_is_found(runs, line):
    (fault,) = leaks({"lmcourse/x.py": f"x = 1\n{line}\n"}, runs)
    assert "imports autograde, which students do not have" in fault


def test_ordinary_student_files_pass(runs):
    prose = "The word autograde may stand in prose, and `numbers` too."
    two = "\n".join(HIDDEN.splitlines()[7:9])
    assert (
        leaks({"lmcourse/x.py": two, "notebooks/a.ipynb": _notebook(prose, "got = answer(numbers)")}, runs)
        == []
    )
