"""Attacks on the notebook itself: its test cells, its marks, its recorded outputs."""

from __future__ import annotations

import copy

import nbformat
from attack import GAIN, Attack
from nbformat import NotebookNode


def _grade_cells(notebook: NotebookNode) -> list[NotebookNode]:
    return [c for c in notebook.cells if c.metadata.get("lmcourse", {}).get("role") == "grade"]


def edit_tests(notebook):
    for cell in _grade_cells(notebook):
        cell.source = "100.0"


def more_points(notebook):
    for cell in _grade_cells(notebook):
        cell.metadata.nbgrader.points = 1000
        cell.metadata["points"] = 1000


def copy_tests(notebook):
    for cell in _grade_cells(notebook):
        twin = copy.deepcopy(cell)
        twin.source, twin.metadata.nbgrader.points = "50.0", 50
        notebook.cells.append(twin)


def delete_tests(notebook):
    wanted = _grade_cells(notebook)
    notebook.cells = [c for c in notebook.cells if not any(c is w for w in wanted)]


def retype_tests(notebook):
    for number, cell in enumerate(_grade_cells(notebook)):
        cell.cell_type = ("markdown", "raw")[number % 2]
        for key in ("outputs", "execution_count"):
            cell.pop(key, None)


def turn_flags(notebook):
    for cell in _grade_cells(notebook):
        cell.metadata.nbgrader.update(grade=False, solution=True, locked=False, task=True)


def add_tests(notebook):
    for number in range(3):
        cell = nbformat.v4.new_code_cell("100.0")
        marks = {"grade": True, "points": 100, "locked": True, "solution": False, "schema_version": 3}
        cell.metadata.update(nbgrader={**marks, "grade_id": f"bonus-{number}", "task": False})
        cell.metadata.update(lmcourse={"role": "grade", "exercise": "W1.3"})
        notebook.cells.insert(1, cell)


def swap_marks(notebook):
    cells = _grade_cells(notebook)
    first, last = cells[0].metadata, cells[-1].metadata
    cells[0].metadata, cells[-1].metadata = last, first


def forge_outputs(notebook):
    for number, cell in enumerate(c for c in notebook.cells if c.cell_type == "code"):
        text = {"text/plain": "100.0", "text/html": "<script>alert('100')</script>"}
        cell.execution_count = number
        cell.outputs = [
            nbformat.v4.new_output("execute_result", text, execution_count=number),
            nbformat.v4.new_output("stream", name="stdout", text="12 of 12 points\n"),
        ]


def claim(notebook):
    notebook.metadata.update(points=100, score=100, nbgrader={"score": 100}, kernelspec=None)
    notebook.metadata["lmcourse"] = {"week": "W1", "points": 100, "state": "right"}


IDEAS = {
    edit_tests: "Test cells are replaced by a number.",
    more_points: "Test cells say that they are worth a thousand points.",
    copy_tests: "Copies of test cells promise points of their own.",
    delete_tests: "There are no test cells any more.",
    retype_tests: "Test cells become text.",
    turn_flags: "Test cells are marked as answers of the student.",
    add_tests: "New test cells give a hundred points each.",
    swap_marks: "The marks of two test cells are exchanged.",
    forge_outputs: "The recorded outputs are full marks, with a script.",
    claim: "The notebook's own metadata claims full marks.",
}
ATTACKS = [Attack(f.__name__.replace("_", " "), GAIN, idea, change=f) for f, idea in IDEAS.items()]
