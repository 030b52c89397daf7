"""Which exercises of a repaired notebook were not attempted."""

from __future__ import annotations

from nbformat import NotebookNode

from lmcourse import exercises as registry
from lmcourse.handin.code import defined_names, same_code
from lmcourse.handin.master import Master


def untouched(notebook: NotebookNode, master: Master) -> set[str]:
    """Exercises whose answer cells are as released, and that no other cell of the student answers either."""
    own_names: set[str] = set()
    answers: dict[str, list[str]] = {}
    for cell in notebook.cells:
        own = cell.metadata.get("lmcourse", {})
        if own.get("role") == "answer":
            answers.setdefault(own.get("exercise", ""), []).append(cell.source)
        elif not own and cell.cell_type == "code":
            own_names |= defined_names(cell.source)
    result = set()
    for exercise in registry.week(master.week).exercises:
        stubs = [c.cell.source for c in master.answers(exercise.id)]
        given = answers.get(exercise.id, [])
        as_released = len(stubs) == len(given) and all(map(same_code, given, stubs))
        if as_released and not own_names & set(exercise.names):
            result.add(exercise.id)
    return result
