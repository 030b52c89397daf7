"""Names of cells: nbgrader ids (letters, digits, '_' and '-' only) and notebook cell ids, always the same."""

from __future__ import annotations

from collections import Counter


def nbgrader_id(exercise: str, role: str = "grade", number: int = 1) -> str:
    """`W1-4-answer` for the answer cell of W1.4, `W1-4-hint-2` for a hint, `W1-4` for its grade cell."""
    stem = exercise.replace(".", "-")
    if role == "grade":
        return stem
    return f"{stem}-{role}" if number == 1 and role != "hint" else f"{stem}-{role}-{number}"


class Numbering:
    """Hands out ids in order of appearance: an id depends on the place among cells of its own kind only."""

    def __init__(self, week: str) -> None:
        self._week = week
        self._seen: Counter[tuple[str, str]] = Counter()

    def next(self, exercise: str | None, role: str) -> str:
        owner = exercise or self._week
        self._seen[owner, role] += 1
        if exercise is None:
            return f"{owner}-{role}-{self._seen[owner, role]}"
        return nbgrader_id(exercise, role, self._seen[owner, role])


def cell_id(name: str) -> str:
    """The notebook format's cell id for an nbgrader id."""
    return name.lower()
