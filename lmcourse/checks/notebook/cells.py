"""The cells of a student's notebook, each with its place in the course, also where marks were lost."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass

from nbformat import NotebookNode

from lmcourse.exercises import WEEKS, Exercise

_ID = re.compile(r"(W\d+)-(\d+)(?:-([a-z]+))?(?:-\d+)?$")
_CHECK_CALL = re.compile(r"""check\(\s*["'](W\d+\.\d+)["']""")


@dataclass(frozen=True)
class CourseCell:
    """A cell with its number (from 1, all kinds counted), exercise id and role as far as they are known.

    `grade_id` is nbgrader's id of the cell, None where the cell has none. `node` is the cell itself.
    """

    number: int
    node: NotebookNode
    exercise: str | None
    role: str | None
    grade_id: str | None

    @property
    def is_code(self) -> bool:
        return self.node.cell_type == "code" and bool(self.node.source.strip())

    @property
    def label(self) -> str:
        """`cell 14 (W1.4 answer)`, as messages name it."""
        place = " ".join(part for part in (self.exercise, self.role) if part)
        if not place:
            first = self.node.source.strip().partition("\n")[0]
            place = first if len(first) <= 40 else first[:37] + "..."
        return f"cell {self.number} ({place})" if place else f"cell {self.number}"


def course_cells(notebook: NotebookNode) -> list[CourseCell]:
    """All cells in order. Marks come from the course's own metadata, else nbgrader's, else from the code."""
    return [_course_cell(number, node) for number, node in enumerate(notebook.cells, 1)]


def check_places(cells: list[CourseCell], exercises: Iterable[Exercise]) -> dict[str, int]:
    """For each exercise the index of the cell at which its check runs: the check cell itself, else its last
    answer cell, else the end of the notebook."""
    places = {}
    for exercise in exercises:
        mine = [
            (i, cell.role) for i, cell in enumerate(cells) if cell.exercise == exercise.id and cell.is_code
        ]
        checks = [i for i, role in mine if role == "check"]
        answers = [i for i, role in mine if role == "answer"]
        places[exercise.id] = checks[0] if checks else answers[-1] if answers else len(cells) - 1
    return places


def _course_cell(number: int, node: NotebookNode) -> CourseCell:
    course, nbgrader = (_as_dict(node.metadata.get(key)) for key in ("lmcourse", "nbgrader"))
    grade_id = nbgrader.get("grade_id") if isinstance(nbgrader.get("grade_id"), str) else None
    exercise, role = course.get("exercise"), course.get("role")
    if exercise is None and role is None:
        exercise, role = _from_id(grade_id or "") or _from_source(node)
    return CourseCell(number, node, exercise, role, grade_id)


def _from_id(grade_id: str) -> tuple[str, str] | None:
    match = _ID.match(grade_id)
    return (f"{match[1]}.{match[2]}", match[3] or "grade") if match else None


def _from_source(node: NotebookNode) -> tuple[str | None, str | None]:
    """What a code cell without marks is: a call of `check`, or a definition that an exercise asks for."""
    if node.cell_type != "code":
        return None, None
    call = _CHECK_CALL.search(node.source)
    if call:
        return call[1], "check"
    defined = _defined_names(node.source)
    for week in WEEKS:
        for exercise in week.exercises:
            if defined & set(exercise.names):
                return exercise.id, "answer"
    return None, None


def _defined_names(source: str) -> set[str]:
    try:
        body = ast.parse(source).body
    except (SyntaxError, ValueError):
        return set(re.findall(r"^def (\w+)", source, re.MULTILINE))
    names = {node.name for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    for node in body:
        if isinstance(node, ast.Assign):
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return names


def _as_dict(value: object) -> dict:
    return value if isinstance(value, dict) else {}
