"""Reading a week's percent file: roles are found, and every fault is named with file and cell."""

from __future__ import annotations

import pytest

from autograde.build.source import read_source
from lmcourse.errors import CourseError

ANSWER = '# %% role="answer" exercise="W0.1"\n'


def test_cells_keep_their_text_role_and_exercise(cells_of, text):
    cells = cells_of(text)
    assert [c.role for c in cells[:5]] == ["prose", "setup", "why", "contract", "answer"]
    assert cells[0].text == "You start here."
    assert (cells[4].kind, cells[4].exercise) == ("code", "W0.1")
    assert cells[4].text.startswith("def hello_check") and "### END SOLUTION" in cells[4].text
    assert cells[-1].text == "Tests are code."


@pytest.mark.parametrize(
    ("cell", "reason"),
    [
        ("# %%\nx = 1", "a code cell without a role"),
        ('# %% role="sohw"\nx = 1', "unknown role 'sohw'"),
        ('# %% rol="show"\nx = 1', "unknown attribute 'rol'"),
        ('# %% [markdown] role="answer" exercise="W0.1"\n# x', "role 'answer' is for code cells"),
        ('# %% role="why" exercise="W0.1"\nx = 1', "role 'why' is for markdown cells"),
        ('# %% role="answer"\nx = 1', "role 'answer' needs exercise="),
        ("# %% [raw]\n# x", "a raw cell"),
        (ANSWER + "x = 1", "an answer has BEGIN SOLUTION and END SOLUTION around"),
        (ANSWER + "### BEGIN SOLUTION\nx = 1", "an answer has BEGIN SOLUTION and END SOLUTION"),
        (ANSWER + "x = 1\n### END SOLUTION", "an answer has BEGIN SOLUTION and END SOLUTION"),
        (ANSWER + "### BEGIN SOLUTIO\nx = 1\n### END SOLUTION", "an answer has BEGIN SOLUTION"),
        (ANSWER + "### begin solution\nx = 1\n### end solution", "an answer has BEGIN SOLUTION"),
        (ANSWER + "### END SOLUTION\nx = 1\n### BEGIN SOLUTION", "an answer has BEGIN SOLUTION"),
    ],
)
def test_a_faulty_cell_is_named(cells_of, cell, reason):
    source = f'# %% [markdown]\n# First.\n\n{cell}\n\n# %% role="play"\ny = 2\n'
    with pytest.raises(CourseError) as refused:
        cells_of(source)
    message = str(refused.value)
    assert reason in message and "week00_start.py, cell 2" in message
    assert "\n" not in message


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(CourseError, match=r"there is no .*week09_capstone\.py"):
        read_source(tmp_path / "week09_capstone.py")


def test_a_file_that_is_not_utf8_is_named(tmp_path):
    path = tmp_path / "week00_start.py"
    path.write_bytes("# %% [markdown]\n# na\u00efve\n".encode("latin-1"))
    with pytest.raises(CourseError, match=r"week00_start\.py is not UTF-8 \(byte 20\)"):
        read_source(path)


def test_a_folder_in_place_of_the_file_is_named(tmp_path):
    (tmp_path / "week00_start.py").mkdir()
    with pytest.raises(CourseError, match=r"week00_start\.py cannot be read"):
        read_source(tmp_path / "week00_start.py")


@pytest.mark.parametrize("content", ["", "\n\n", "# %% [markdown]\n\n"])
def test_a_file_without_cells_is_refused(tmp_path, content):
    path = tmp_path / "week00_start.py"
    path.write_text(content)
    with pytest.raises(CourseError, match="holds no cells"):
        read_source(path)
