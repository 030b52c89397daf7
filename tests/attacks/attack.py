"""What an attack is, and the class that all of them are tried on.

An attack is written against nothing but an ordinary notebook: a cell that a student adds, answers, or a
change of the notebook itself. So the same corpus can be tried on any grader that runs notebooks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from nbformat import NotebookNode

GAIN, READ, HARM = "gain points", "read what is hidden", "do harm"


@dataclass(frozen=True)
class Attack:
    """One idea of how to cheat, spy or break something.

    `cell` runs before the answers. `answers` are by exercise id, where NAME stands for the function that is
    asked for; exercises without one are answered wrongly. `change` edits the notebook in place. `@PROJECT@`
    and `@COURSE@` in code stand for the course tree and the folder with gradebook and submissions. An attack
    that looks for something raises an error that begins with `looked:` and holds what it found. `state` is
    how the attacked exercise should end, where that is the point of it.
    """

    name: str
    aim: str
    idea: str
    cell: str = ""
    answers: dict[str, str] = field(default_factory=dict)
    change: Callable[[NotebookNode], None] | None = None
    state: str = ""


def answer(code: str, exercise: str = "W1.3") -> dict[str, str]:
    """One function as the answer to one exercise: the body of `NAME(x)`, indented here."""
    body = "\n".join(f"    {line}" for line in code.strip("\n").split("\n"))
    return {exercise: f"def NAME(x):\n{body}\n    return 'wrong'"}


def looking(code: str) -> dict[str, str]:
    """An answer that collects texts in `found` and tries to get them out with its error message."""
    body = "\n".join(f"    {line}" for line in code.strip("\n").split("\n"))
    return {
        "W1.3": f"import os, sys\ndef NAME(x):\n    found = []\n{body}\n"
        "    raise RuntimeError('looked: ' + ' '.join(map(str, found))[:1500])"
    }
