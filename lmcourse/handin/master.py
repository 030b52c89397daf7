"""The notebook as it was handed out: what a submission is compared with and repaired from."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from lmcourse import exercises as registry
from lmcourse.errors import CourseError

# Generated with the notebooks. Students work in those, so what was handed out is kept here as well.
MASTERS = Path(__file__).parent / "masters"

# Roles that a submission is judged by; other cells may be changed or deleted at will.
NEEDED = ("setup", "answer", "grade", "written")


@dataclass(frozen=True)
class MasterCell:
    """A cell of the master under the name by which submissions refer to it."""

    index: int
    name: str
    role: str
    exercise: str
    cell: NotebookNode

    @property
    def locked(self) -> bool:
        return bool(self.cell.metadata.get("nbgrader", {}).get("locked", False))

    @property
    def needed(self) -> bool:
        return "nbgrader" in self.cell.metadata or self.role in NEEDED

    @property
    def words(self) -> str:
        """`the answer cell of W1.4`, `the setup cell`, `a locked cell with figures`."""
        if self.role in ("show", ""):
            return "a locked cell with figures" if self.role else "a cell of text"
        return f"the {self.role} cell" + (f" of {self.exercise}" if self.exercise else "")


@dataclass(frozen=True)
class Master:
    """The released notebook of a week."""

    week: str
    notebook: NotebookNode
    cells: tuple[MasterCell, ...]

    @classmethod
    def from_notebook(cls, notebook: NotebookNode) -> Master:
        """Raises: CourseError: the notebook's metadata names no week of this course."""
        week_id = notebook.metadata.get("lmcourse", {}).get("week")
        week = registry.week(week_id)
        cells = []
        for index, cell in enumerate(notebook.cells):
            own = cell.metadata.get("lmcourse", {})
            name = cell.metadata.get("nbgrader", {}).get("grade_id") or cell.id
            cells.append(MasterCell(index, name, own.get("role", ""), own.get("exercise", ""), cell))
        return cls(week.id, notebook, tuple(cells))

    @classmethod
    def load(cls, week_id: str, folder: Path | None = None) -> Master:
        """The master of a week: the package's own, or the notebook of that week in `folder`.

        Raises:
            CourseError: no such week, or its notebook has not been built or is damaged.
        """
        week = registry.week(week_id)
        path = MASTERS / f"{week.id}.json" if folder is None else folder / f"{week.notebook}.ipynb"
        if not path.is_file():
            raise CourseError(f"{path} does not exist: build the notebooks with `autograde build`")
        try:
            return cls.from_notebook(nbformat.read(path, as_version=4))
        except (OSError, ValueError, nbformat.reader.NotJSONError) as error:
            raise CourseError(f"{path} cannot be read ({error}): install the course again") from None

    def answers(self, exercise: str) -> tuple[MasterCell, ...]:
        return tuple(c for c in self.cells if c.exercise == exercise and c.role == "answer")


def master_text(released: NotebookNode) -> str:
    """The file in `MASTERS` for a released notebook: its cells with all marks, without outputs."""
    plain = nbformat.from_dict(released)
    for cell in plain.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    return json.dumps(plain, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
