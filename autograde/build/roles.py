"""What a cell of a week can be: its role decides its type, its place in an exercise and who may change it."""

from __future__ import annotations

from dataclasses import dataclass

PROSE = "prose"


@dataclass(frozen=True)
class Role:
    """`rank` is the place among the cells of an exercise; 0 for a role that may stand anywhere."""

    name: str
    kind: str  # "code" or "markdown"
    rank: int = 0
    locked: bool = False
    needs_exercise: bool = False


ROLES = {
    role.name: role
    for role in (
        Role(PROSE, "markdown"),
        Role("setup", "code", locked=True),
        Role("show", "code", locked=True),
        Role("play", "code"),
        Role("why", "markdown", rank=2, needs_exercise=True),
        Role("contract", "markdown", rank=3, locked=True, needs_exercise=True),
        Role("answer", "code", rank=4, needs_exercise=True),
        Role("predict", "code", rank=5, needs_exercise=True),
        Role("hint", "markdown", rank=7, needs_exercise=True),
        Role("question", "markdown", rank=9, locked=True, needs_exercise=True),
        Role("written", "markdown", rank=10, needs_exercise=True),
        Role("after", "markdown", rank=11, needs_exercise=True),
    )
}

# Cells that the build itself adds; the registry and the exercise's id are all they need.
GENERATED = {
    role.name: role
    for role in (
        Role("title", "markdown", rank=1, locked=True, needs_exercise=True),
        Role("check", "code", rank=6, locked=True, needs_exercise=True),
        Role("grade", "code", rank=8, locked=True, needs_exercise=True),
    )
}
