"""Make the instructor's notebook of a week: the course's anatomy with nbgrader's metadata."""

from __future__ import annotations

import nbformat
from nbformat import NotebookNode

from autograde.build.anatomy import HINTS, check_anatomy, with_generated
from autograde.build.headings import week_header
from autograde.build.ids import Numbering, cell_id
from autograde.build.roles import GENERATED, ROLES
from autograde.build.source import SourceCell
from lmcourse.exercises import Exercise, Week


def assemble(week: Week, cells: list[SourceCell]) -> NotebookNode:
    """The notebook in nbgrader's source format (schema 3), without outputs, the same for the same source.

    Raises:
        CourseError: the source does not follow the anatomy (see `check_anatomy`).
    """
    check_anatomy(week, cells)
    header = SourceCell("markdown", "title", None, week_header(week), f"the header of {week.id}")
    numbering = Numbering(week.id)
    notebook = nbformat.v4.new_notebook(
        cells=[_notebook_cell(cell, week, numbering) for cell in (header, *with_generated(week, cells))],
        metadata={
            "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
            "lmcourse": {"week": week.id},
        },
    )
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    nbformat.validate(notebook)
    return notebook


def _notebook_cell(cell: SourceCell, week: Week, numbering: Numbering) -> NotebookNode:
    name = numbering.next(cell.exercise, cell.role)
    text = _folded(cell.text, name) if cell.role == "hint" else cell.text
    metadata: dict = {"lmcourse": {"role": cell.role}}
    exercise = next((e for e in week.exercises if e.id == cell.exercise), None)
    if exercise:
        metadata["lmcourse"]["exercise"] = exercise.id
    nbgrader = _nbgrader_metadata(cell.role, name, exercise)
    if nbgrader:
        metadata["nbgrader"] = nbgrader
    make = nbformat.v4.new_code_cell if cell.kind == "code" else nbformat.v4.new_markdown_cell
    return make(text, id=cell_id(name), metadata=metadata)


def _nbgrader_metadata(role: str, name: str, exercise: Exercise | None) -> dict | None:
    """Flags of nbgrader's schema 3; None for a cell that nbgrader leaves alone."""
    flags = {"schema_version": 3, "grade_id": name, "task": False}
    if role == "grade":
        return {**flags, "grade": True, "solution": False, "locked": True, "points": exercise.points}
    if role == "written":
        return {**flags, "grade": True, "solution": True, "locked": False, "points": exercise.written_points}
    if role == "answer":
        return {**flags, "grade": False, "solution": True, "locked": False}
    if (ROLES.get(role) or GENERATED[role]).locked:
        return {**flags, "grade": False, "solution": False, "locked": True}
    return None


def _folded(text: str, name: str) -> str:
    number = name.rpartition("-")[2]
    return f"<details>\n<summary>Hint {number} of {HINTS}</summary>\n\n{text.strip()}\n\n</details>"
