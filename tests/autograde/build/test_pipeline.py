"""A week from its source to its files: what refuses it shows up, and only a sound week has files."""

from __future__ import annotations

import pytest

from autograde.build.pipeline import build_week, package_faults
from autograde.project import NOTEBOOKS, TABLES
from lmcourse.errors import CourseError
from lmcourse.handin.master import MASTERS


@pytest.fixture
def build(week, hidden, root, tmp_path):
    def run(text: str):
        (tmp_path / "week00_start.py").write_text(text, encoding="utf-8")
        return build_week(week, tmp_path, root, hidden)

    return run


def test_a_sound_week_gives_a_notebook_and_a_table(build, text):
    built = build(text)
    assert built.faults == []
    assert set(built.files) == {NOTEBOOKS / "week00_start.ipynb", TABLES / "W0.json", MASTERS / "W0.json"}


def test_a_stub_that_earns_points_is_refused(build, text):
    solved = text.replace(
        "    ### BEGIN SOLUTION\n    return 2 * x + 1\n    ### END SOLUTION",
        "    return 2 * x + 1\n    ### BEGIN SOLUTION\n    ### END SOLUTION",
    )
    assert build(solved).faults == ["W0.1: the stub as released earns 1 of 1 points"]


def test_a_stub_of_a_test_that_already_finds_mistakes_is_refused(build, text):
    solved = text.replace(
        "def test_relu(impl):\n",
        "def test_relu(impl):\n    assert impl(torch.tensor([-2.0])) == 0\n    return\n",
    )
    assert build(solved).faults == ["W0.2: the stub as released earns 1 of 1 points"]


def test_faults_of_the_hidden_side_come_before_any_release(build, text, hidden, root):
    hidden("W0.1").mutants.clear()
    built = build(text)
    assert built.faults == ["W0.1 has no mutants"] and built.files == {}
    assert not root.path.exists()


def test_a_cell_that_fails_as_released_is_refused(build, text):
    with pytest.raises(CourseError, match=r"cell w0-setup-1 fails as released: ModuleNotFoundError"):
        build(text.replace("import torch\n", "import torch_that_nobody_has\n"))


def test_the_package_shows_nothing_of_the_hidden_side():
    assert package_faults() == []
