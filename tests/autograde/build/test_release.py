"""nbgrader's release step: what students get, and what nbgrader says when it cannot."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import nbformat
import pytest
from nbgrader.api import Gradebook

from autograde.build.assemble import assemble
from autograde.build.release import dumps, release
from lmcourse.errors import CourseError


@pytest.fixture
def master(week, cells_of, text):
    return assemble(week, cells_of(text))


def _sources(notebook):
    return {cell.id: cell.source for cell in notebook.cells}


def test_students_get_stubs_and_no_hidden_region(week, master, root):
    student = release(week, master, root)
    sources = _sources(student)
    assert sources["w0-1-answer"].splitlines()[-1] == (
        '    raise NotImplementedError("W0.1: replace this line with your answer")'
    )
    assert "return 2 * x + 1" not in dumps(student)
    assert "autograde.run" not in dumps(student) and "HIDDEN" not in dumps(student)
    assert sources["w0-2"].startswith("# More checks run here")
    # The master keeps both, for the judge's side.
    assert (
        "autograde.run" in root.source(week).read_text()
        and "return 2 * x + 1" in root.source(week).read_text()
    )


def test_a_stub_at_top_level_does_not_stop_the_notebook(week, cells_of, text, root):
    value = "limit = None\n### BEGIN SOLUTION\nlimit = 3\n### END SOLUTION\n"
    mark = '# %% exercise="W0.1" role="predict"'
    cells = cells_of(text.replace(mark, f'# %% exercise="W0.1" role="answer"\n{value}\n{mark}'))
    student = release(week, assemble(week, cells), root)
    assert _sources(student)["w0-1-answer-2"] == "limit = None\n# W0.1: replace this line with your answer"


def test_the_same_source_gives_the_same_bytes_again_and_elsewhere(week, master, root, tmp_path):
    first = dumps(release(week, master, root))
    again = dumps(release(week, master, root))
    assert again == first
    assert first.endswith("}\n") and nbformat.reads(first, as_version=4).nbformat_minor == 5


def test_nbgraders_own_command_releases_the_same_from_the_course_folder(week, master, root):
    ours = dumps(release(week, master, root))
    nbgrader = Path(sys.executable).with_name("nbgrader")
    done = subprocess.run(
        [nbgrader, "generate_assignment", "W0", "--force"],
        cwd=root.path,
        # A shell in which nobody activated the environment, so that `alembic` is not on PATH.
        env={**os.environ, "PATH": os.defpath},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert root.release(week).read_text().rstrip("\n") == ours.rstrip("\n")


def test_an_unclosed_solution_region_is_reported_in_one_line(week, cells_of, text, root):
    cells = cells_of(text)
    first = next(i for i, cell in enumerate(cells) if cell.role == "answer")
    cells[first] = replace(cells[first], text=cells[first].text.replace("    ### END SOLUTION", ""))
    with pytest.raises(
        CourseError, match=r"could not release W0: .*no end solution statement found"
    ) as refused:
        release(week, assemble(week, cells), root)
    assert "\n" not in str(refused.value)


@pytest.mark.filterwarnings("ignore:Object of type")  # nbgrader's own use of its database library
def test_marks_for_other_cells_stop_a_new_release_and_stay(week, master, cells_of, text, root):
    release(week, master, root)
    with Gradebook(f"sqlite:///{root.gradebook}") as gradebook:
        gradebook.add_student("ada")
        gradebook.add_submission("W0", "ada")
    setup = '# %% role="setup"\nimport math\n\n# %% [markdown]\n# Between'
    other = assemble(week, cells_of(text.replace("# %% [markdown]\n# Between", setup)))
    with pytest.raises(CourseError, match=r"holds marks for an earlier W0 .* \(--course DIR\)"):
        release(week, other, root)
    with Gradebook(f"sqlite:///{root.gradebook}") as gradebook:
        assert [s.student.id for s in gradebook.assignment_submissions("W0")] == ["ada"]
    release(week, master, root)


def test_a_course_folder_that_cannot_be_made_is_reported(week, master, root):
    root.path.parent.mkdir(exist_ok=True)
    root.path.write_text("a file stands here")
    with pytest.raises(CourseError, match="cannot write the course folder"):
        release(week, master, root)
