"""Read the single source of a week, a jupytext percent file, into cells with a role each."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import jupytext
from nbformat import ValidationError

from autograde.build.roles import PROSE, ROLES
from lmcourse.errors import CourseError
from lmcourse.exercises import Week

ATTRIBUTES = {"exercise", "role"}
MARKS = ("BEGIN SOLUTION", "END SOLUTION")
# What jupytext itself notes about a cell's layout.
LAYOUT = {"lines_to_next_cell", "lines_to_end_of_cell_marker"}


@dataclass(frozen=True)
class SourceCell:
    """One cell as the author wrote it; `where` names file and cell for messages."""

    kind: str
    role: str
    exercise: str | None
    text: str
    where: str


def source_path(week: Week, solutions: Path) -> Path:
    return solutions / f"{week.notebook}.py"


def read_source(path: Path) -> list[SourceCell]:
    """All cells of a percent file that are not empty.

    Raises:
        CourseError: no such file, not UTF-8, a code cell without a role, or a role that is unknown, on the
            wrong type of cell or without its exercise. The message names file and cell.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise CourseError(f"there is no {path}: the week's source is missing") from None
    except OSError as error:
        raise CourseError(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise CourseError(f"{path} is not UTF-8 (byte {error.start}); save it as UTF-8") from None
    try:
        notebook = jupytext.reads(text, fmt="py:percent")
    except (ValueError, ValidationError) as error:
        raise CourseError(f"{path} is no percent file: {str(error).splitlines()[0]}") from None
    cells = []
    for number, cell in enumerate(notebook.cells, start=1):
        if cell.source.strip():
            cells.append(_read_cell(cell, f"{path.name}, cell {number}"))
    if not cells:
        raise CourseError(f"{path} holds no cells; a cell begins with a line '# %%'")
    return cells


def _read_cell(cell, where: str) -> SourceCell:
    first_line = cell.source.strip().splitlines()[0]
    where = f"{where} ({first_line[:40]!r})"
    unknown = set(cell.metadata) - ATTRIBUTES - LAYOUT
    if unknown:
        raise CourseError(
            f"{where}: unknown attribute {sorted(unknown)[0]!r}; a cell has exercise= and role="
        )
    if cell.cell_type not in ("code", "markdown"):
        raise CourseError(f"{where}: a {cell.cell_type} cell; only code and markdown cells are built")
    name = cell.metadata.get("role") or (PROSE if cell.cell_type == "markdown" else "")
    if not name:
        raise CourseError(f"{where}: a code cell without a role; add role=, one of {_names('code')}")
    role = ROLES.get(name)
    if role is None:
        raise CourseError(
            f"{where}: unknown role {name!r}; the roles are {_names('code')}, {_names('markdown')}"
        )
    if role.kind != cell.cell_type:
        raise CourseError(f"{where}: role {name!r} is for {role.kind} cells, this is a {cell.cell_type} cell")
    exercise = cell.metadata.get("exercise")
    if role.needs_exercise and not exercise:
        raise CourseError(f'{where}: role {name!r} needs exercise=, as exercise="W1.4"')
    if name == "answer" and not _has_solution(cell.source):
        raise CourseError(f"{where}: an answer has {' and '.join(MARKS)} around its solution, in this order")
    return SourceCell(cell.cell_type, name, exercise, cell.source, where)


def _has_solution(text: str) -> bool:
    """Whether the marks come in pairs, at least one: nbgrader takes a cell without for all solution."""
    found = [mark for line in text.splitlines() for mark in MARKS if mark in line]
    return bool(found) and found == list(MARKS) * (len(found) // 2)


def _names(kind: str) -> str:
    return ", ".join(role.name for role in ROLES.values() if role.kind == kind and role.name != PROSE)
