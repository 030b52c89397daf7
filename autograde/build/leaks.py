"""Find lines of the hidden side in files that students get."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import nbformat

RUN = 3  # this many neighboring lines in common are no accident ...
RUN_LENGTH = 80  # ... when they hold at least this many characters together
MARKS = ("HIDDEN TESTS", "BEGIN SOLUTION", "END SOLUTION")
IMPORT = re.compile(r"^\s*(?:import|from)\s+autograde\b", re.MULTILINE)


def hidden_runs(weeks: Path) -> dict[str, str]:
    """Each run of neighboring code lines under `autograde/weeks`, with the place where it stands."""
    runs = {}
    for path in sorted(weeks.rglob("*.py")):
        for number, run in _runs(path.read_text(encoding="utf-8")):
            runs[run] = f"{path.relative_to(weeks.parent.parent)}, line {number}"
    return runs


def leaks(files: Mapping[str, str], runs: Mapping[str, str]) -> list[str]:
    """One message a file that shows something of the hidden side.

    Args:
        files: what students get: name to text, of Python files and of notebooks (names ending in `.ipynb`).
        runs: from `hidden_runs`.
    """
    found = []
    for name, text in files.items():
        if name.endswith(".ipynb"):
            cells = nbformat.reads(text, as_version=4).cells
            text = "\n".join(cell.source for cell in cells)
            found += [f"{name}: the mark {mark!r} reaches the students" for mark in MARKS if mark in text]
        if IMPORT.search(text):
            found.append(f"{name}: imports autograde, which students do not have")
        place = next((runs[run] for _, run in _runs(text) if run in runs), None)
        if place:
            found.append(f"{name}: lines of the hidden side reach the students ({place})")
    return found


def _runs(text: str) -> Iterator[tuple[int, str]]:
    lines = [(i, line.strip()) for i, line in enumerate(text.splitlines(), start=1)]
    code = [(i, line) for i, line in lines if line and not line.startswith(("#", "import ", "from ", "@"))]
    for start in range(len(code) - RUN + 1):
        run = "\n".join(line for _, line in code[start : start + RUN])
        if len(run) >= RUN_LENGTH:
            yield code[start][0], run
