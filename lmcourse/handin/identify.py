"""Which cell of the master a submission's cell is: by what is left of its marks, its text or its names."""

from __future__ import annotations

from collections import Counter

from nbformat import NotebookNode

from lmcourse import exercises as registry
from lmcourse.handin.code import defined_names, normalized
from lmcourse.handin.master import Master, MasterCell

MIN_TEXT = 12  # characters that a text must have to be recognized by itself


def identify(notebook: NotebookNode, master: Master) -> list[MasterCell | None]:
    """For each cell of the submission the cell of the master that it is, or None for a student's own.

    Tried in turn: nbgrader's id, the notebook format's cell id, exercise and role in the metadata, equal
    text, for answers the names that the cell defines, and at last the place between known cells. Several
    cells can be the same one: copies.
    """
    by_marks = _Marks(master)
    found = [by_marks(cell) for cell in notebook.cells]
    taken = {m.index for m in found if m is not None}
    _by_text(notebook, master, found, taken)
    _by_names(notebook, master, found, taken)
    _by_place(notebook, master, found, taken)
    _swap_back(notebook, master, found)
    return found


class _Marks:
    """Finds a cell of the master by nbgrader's id, by the notebook format's id, or by exercise and role."""

    def __init__(self, master: Master) -> None:
        cells = master.cells
        self.by_name = {c.name: c for c in reversed(cells)}
        self.by_id = {c.cell.id: c for c in reversed(cells)}
        roles = Counter((c.exercise, c.role) for c in cells)
        self.by_role = {(c.exercise, c.role): c for c in cells if roles[c.exercise, c.role] == 1}

    def __call__(self, cell: NotebookNode) -> MasterCell | None:
        marks, own = (cell.metadata.get(key) for key in ("nbgrader", "lmcourse"))
        name = marks.get("grade_id") if isinstance(marks, dict) else None
        if isinstance(name, str) and name in self.by_name:
            return self.by_name[name]
        if cell.get("id") in self.by_id:
            return self.by_id[cell["id"]]
        if not isinstance(own, dict) or not own:
            return None
        place = (own.get("exercise", ""), own.get("role"))
        return self.by_role.get(place) if all(isinstance(part, str) for part in place) else None


def _by_text(notebook: NotebookNode, master: Master, found: list[MasterCell | None], taken: set[int]) -> None:
    texts = {normalized(c.cell.source): c for c in reversed(master.cells) if c.index not in taken}
    for place, cell in enumerate(notebook.cells):
        text = normalized(cell.source)
        if found[place] is None and len(text) >= MIN_TEXT and text in texts:
            found[place] = texts.pop(text)
            taken.add(found[place].index)


def _by_names(
    notebook: NotebookNode, master: Master, found: list[MasterCell | None], taken: set[int]
) -> None:
    """An answer whose marks are gone is the cell that defines what the exercise asks for."""
    for exercise in registry.week(master.week).exercises:
        free = [c for c in master.answers(exercise.id) if c.index not in taken]
        places = [
            place
            for place, cell in enumerate(notebook.cells)
            if found[place] is None and defined_names(cell.source) & set(exercise.names)
        ]
        for place, answer in zip(places, free, strict=False):
            found[place] = answer
            taken.add(answer.index)


def _by_place(
    notebook: NotebookNode, master: Master, found: list[MasterCell | None], taken: set[int]
) -> None:
    """An answer without marks or names, as a written one, is the only unknown cell of its kind at its place.

    Its place is between the nearest known cells before and behind it in the master.
    """
    for lost in (c for c in master.cells if c.role in ("answer", "written") and c.index not in taken):
        known = {m.index: place for place, m in enumerate(found) if m is not None}
        before = [known[i] for i in known if i < lost.index]
        behind = [known[i] for i in known if i > lost.index]
        inside = range(max(before, default=-1) + 1, min(behind, default=len(found)))
        free = [p for p in inside if found[p] is None and notebook.cells[p].cell_type == lost.cell.cell_type]
        if len(free) == 1 and notebook.cells[free[0]].source.strip():
            found[free[0]] = lost
            taken.add(lost.index)


def _swap_back(notebook: NotebookNode, master: Master, found: list[MasterCell | None]) -> None:
    """Answers that sit under each other's ids, told by the names that they define."""
    owner = {name: e.id for e in registry.week(master.week).exercises for name in e.names}
    wrong: dict[int, str] = {}
    for place, cell in enumerate(notebook.cells):
        is_answer = found[place] is not None and found[place].role == "answer"
        owners = {owner[name] for name in defined_names(cell.source) if name in owner} if is_answer else set()
        if len(owners) == 1 and found[place].exercise not in owners:
            wrong[place] = owners.pop()
    vacated = {found[place].exercise for place in wrong}
    for place, exercise in wrong.items():
        answers = master.answers(exercise)
        if exercise in vacated and len(answers) == 1:
            found[place] = answers[0]
