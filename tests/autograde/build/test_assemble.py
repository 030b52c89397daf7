"""The instructor's notebook: headings from the registry, nbgrader metadata, ids that never wander."""

from __future__ import annotations

import re
from dataclasses import replace

import nbformat
import pytest
from nbgrader.nbgraderformat import MetadataValidator

from autograde.build.assemble import assemble
from autograde.build.release import dumps


@pytest.fixture
def notebook(week, cells_of, text):
    return assemble(week, cells_of(text))


def _cell(notebook, cell_id):
    return next(cell for cell in notebook.cells if cell.id == cell_id)


def test_it_is_a_valid_notebook_for_jupyter_and_nbgrader(notebook):
    nbformat.validate(notebook)
    MetadataValidator().validate_nb(notebook)
    assert notebook.metadata.lmcourse == {"week": "W0"}
    assert "widgets" not in notebook.metadata
    assert all(not cell.get("outputs") for cell in notebook.cells)


def test_the_header_sums_points_and_minutes_of_the_registry(week, notebook):
    header = notebook.cells[0].source
    assert header.startswith("# Week 0: Start here\n")
    assert f"**{week.points} points** · depth 30 minutes" in header
    assert (
        "| W0.2 | Write a test that catches a wrong ReLU | write a test | 1 | 20 | depth | 1 of 4 |" in header
    )


def test_an_exercise_title_says_id_kind_points_minutes_and_difficulty(notebook):
    assert _cell(notebook, "w0-1-title").source == (
        "## W0.1 Say hello to the check\n\nfunction · 1 point · 10 minutes (depth) · difficulty 1 of 4"
    )


def test_written_points_are_named_beside_those_of_the_checks(week, cells_of, text):
    text = text.replace(
        '# %% [markdown] exercise="W0.1" role="after"',
        '# %% [markdown] exercise="W0.1" role="question"\n# Why?\n\n'
        '# %% [markdown] exercise="W0.1" role="written"\n# Because.\n\n'
        '# %% [markdown] exercise="W0.1" role="after"',
    )
    first = replace(week.exercises[0], written_points=4)
    notebook = assemble(replace(week, exercises=(first, week.exercises[1])), cells_of(text))
    assert "5 points (1 by the checks, 4 for the written answer)" in _cell(notebook, "w0-1-title").source
    assert "| 1 + 4 |" in notebook.cells[0].source
    assert "**6 points**" in notebook.cells[0].source
    written = _cell(notebook, "w0-1-written").metadata.nbgrader
    assert (written.grade, written.solution, written.locked, written.points) == (True, True, False, 4)


def test_flags_say_who_may_change_a_cell(notebook):
    flags = {
        cell.metadata.nbgrader.grade_id: (
            cell.metadata.nbgrader.grade,
            cell.metadata.nbgrader.solution,
            cell.metadata.nbgrader.locked,
        )
        for cell in notebook.cells
        if "nbgrader" in cell.metadata
    }
    assert flags["W0-1"] == (True, False, True)
    assert flags["W0-1-answer"] == (False, True, False)
    locked = {name for name, values in flags.items() if values == (False, False, True)}
    assert locked == {"W0-title-1", "W0-setup-1"} | {
        f"W0-{n}-{role}" for n in (1, 2) for role in ("title", "contract", "check")
    }
    assert _cell(notebook, "w0-1").metadata.nbgrader.points == 1
    assert "nbgrader" not in _cell(notebook, "w0-play-1").metadata
    assert "nbgrader" not in _cell(notebook, "w0-1-predict").metadata


def test_the_grade_cell_says_that_more_runs_and_names_the_exercise_in_the_hidden_region(notebook):
    lines = _cell(notebook, "w0-2").source.splitlines()
    assert lines[0].startswith("# More checks run here when you hand in.")
    assert lines[1:] == [
        "### BEGIN HIDDEN TESTS",
        "import autograde",
        'autograde.run("W0.2", globals())',
        "### END HIDDEN TESTS",
    ]


def test_hints_are_folded_and_numbered(notebook):
    hint = _cell(notebook, "w0-1-hint-3").source
    assert hint.startswith("<details>\n<summary>Hint 3 of 3</summary>\n\nDouble it")
    assert hint.endswith("\n\n</details>")


def test_ids_are_unique_and_fit_the_formats(notebook):
    ids = [cell.id for cell in notebook.cells]
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch(r"[a-z0-9-]{1,64}", name) for name in ids)


def test_an_id_depends_only_on_cells_of_its_own_kind(week, cells_of, text, notebook):
    more = text.replace("# %% [markdown]\n# Between", '# %% role="show"\n1 + 1\n\n# %% [markdown]\n# Between')
    longer = assemble(week, cells_of(more))
    assert {cell.id for cell in longer.cells} - {cell.id for cell in notebook.cells} == {"w0-show-1"}


def test_the_same_source_gives_the_same_bytes(week, cells_of, text, notebook):
    assert dumps(assemble(week, cells_of(text))) == dumps(notebook)
