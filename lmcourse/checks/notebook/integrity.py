"""Differences between a student's notebook and the released one that handing in would trip over."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import nbformat

from lmcourse.checks.notebook.cells import CourseCell, course_cells
from lmcourse.exercises import Exercise, Week


@dataclass(frozen=True)
class Integrity:
    """Each list holds one line a cell. `marks_lost`: no cell has the marks that grading goes by."""

    edited: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()
    copied: tuple[str, ...] = ()
    marks_lost: bool = False

    @property
    def intact(self) -> bool:
        return not (self.edited or self.deleted or self.copied or self.marks_lost)


def released_cells(week: Week, student_file: Path) -> list[CourseCell] | None:
    """The cells of the released notebook that lies beside the package; None where there is none, or where the
    student works in that very file."""
    path = Path(__file__).resolve().parents[3] / "notebooks" / f"{week.notebook}.ipynb"
    if not path.is_file() or path.samefile(student_file):
        return None
    return course_cells(nbformat.read(path, as_version=4))


def compare(
    cells: list[CourseCell], exercises: tuple[Exercise, ...], released: list[CourseCell] | None
) -> Integrity:
    """What was edited though locked, deleted or copied.

    With `released` None, edits show by the checksums inside the notebook, and deletions by the cells that
    every exercise has (answer, check and grade cell).
    """
    wanted = {exercise.id for exercise in exercises}
    marked = [cell for cell in cells if cell.grade_id]
    if not marked:
        return Integrity(marks_lost=True)
    mine = [cell for cell in marked if cell.exercise in wanted or cell.exercise is None]
    originals = {cell.grade_id: cell for cell in released or [] if cell.grade_id}
    edited = [cell.label for cell in mine if _is_edited(cell, originals.get(cell.grade_id))]
    count = Counter(cell.grade_id for cell in mine)
    copied = [f"{name} ({times} times)" for name, times in count.items() if times > 1]
    if released is not None:
        expected = {
            cell.grade_id: _name(cell.exercise, cell.role)
            for cell in originals.values()
            if cell.exercise in wanted or cell.exercise is None
        }
    else:
        expected = {}
        for exercise in exercises:
            stem = exercise.id.replace(".", "-")
            expected |= {
                f"{stem}-answer": _name(exercise.id, "answer"),
                f"{stem}-check": _name(exercise.id, "check"),
            }
            expected |= {stem: _name(exercise.id, "grade")}
    deleted = [name for grade_id, name in expected.items() if grade_id not in count]
    return Integrity(tuple(edited), tuple(deleted), tuple(copied))


def _name(exercise: str | None, role: str | None) -> str:
    return f"the {role or 'text'} cell of {exercise}" if exercise else f"a {role or 'text'} cell"


def _is_edited(cell: CourseCell, original: CourseCell | None) -> bool:
    from nbgrader.utils import compute_checksum

    marks = (original or cell).node.metadata.nbgrader
    if not marks.get("locked"):
        return False
    if original is not None:
        return cell.node.source.rstrip() != original.node.source.rstrip()
    checksum = marks.get("checksum")
    return bool(checksum) and compute_checksum(cell.node) != checksum
