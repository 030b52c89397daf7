"""Restart and run all: each kind of fault is found, and a sound notebook has none."""

from __future__ import annotations

import nbformat
import pytest

from autograde.build.execute import execute

GRADE = {"nbgrader": {"grade": True, "points": 3}}


def _notebook(*cells):
    code = [nbformat.v4.new_code_cell(s, id=f"cell-{i}", metadata=m) for i, (s, m) in enumerate(cells)]
    return nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("# Title"), *code])


@pytest.fixture(scope="module")
def faulty(tmp_path_factory):
    """One run of a notebook with one fault a cell: a kernel takes seconds to start."""
    progress = []
    notebook = _notebook(
        ("x = 1", {}),
        ("raise ValueError('first line\\nsecond')", {}),
        ("import sys; print('careful', file=sys.stderr)", {}),
        ("x + 2.0", GRADE),
        ("x + 1.5", GRADE),
        ("print('3.0')", GRADE),
        ("'three'", GRADE),
        ("import pathlib; list(pathlib.Path('.').iterdir())", {}),
        ("import time; time.sleep(60)", {}),
        ("x = 2", {}),
    )
    folder = tmp_path_factory.mktemp("empty")
    execution = execute(notebook, folder, limit=5, progress=lambda *counts: progress.append(counts))
    return execution, notebook, progress


def test_every_fault_is_named_with_its_cell(faulty):
    assert faulty[0].faults == [
        "cell-1: ValueError: first line",
        "cell-2: wrote to stderr: careful",
        "cell-4: the solution gets 2.5 of 3 points",
        "cell-5: the solution gets 0 of 3 points",
        "cell-6: the solution gets 0 of 3 points",
        "cell-8: still running after 5 s",
    ]


def test_cells_are_timed_in_order_up_to_the_one_that_never_ended(faulty):
    execution, _, progress = faulty
    assert list(execution.cell_seconds) == [f"cell-{i}" for i in range(8)]
    assert execution.seconds == pytest.approx(sum(execution.cell_seconds.values()))
    assert [s for _, s in execution.slowest(3)] == sorted(execution.cell_seconds.values(), reverse=True)[:3]
    assert progress == [(i, 10) for i in range(1, 9)]


def test_the_kernel_works_in_the_given_folder(faulty):
    assert faulty[1].cells[8].outputs[0]["data"]["text/plain"] == "[]"


def test_a_kernel_that_dies_is_a_fault(tmp_path):
    execution = execute(_notebook(("import os; os._exit(1)", {}), ("x = 1", {})), tmp_path)
    assert execution.faults == ["cell-0: the kernel died"]
    assert execution.cell_seconds == {}
