"""Brings a submission back into the form in which it was handed out, and says in words what was done.

Rules. Locked cells get the master's text, type and marks again; copies of them go. Missing cells come back
from the master. An answer keeps the student's text, as code. Of several copies of an answer the last one that
was changed counts; the others stay and run as ordinary cells. Identified cells stand in the master's order,
each followed by the student's own cells that stood behind it.
"""

from __future__ import annotations

from dataclasses import dataclass

import nbformat
from nbformat import NotebookNode

from lmcourse.handin.code import normalized, same_code
from lmcourse.handin.identify import identify
from lmcourse.handin.master import Master, MasterCell

FLAGS = ("grade_id", "grade", "solution", "locked", "task", "points")


@dataclass(frozen=True)
class Repaired:
    """The notebook to grade, and one line for each thing that was repaired."""

    notebook: NotebookNode
    repairs: tuple[str, ...]


def repair(notebook: NotebookNode, master: Master) -> Repaired:
    """Repair a notebook of format 4; the argument is left as it is."""
    cells = [nbformat.from_dict(cell) for cell in notebook.cells]
    said: list[str] = []
    chosen = _choose_copies(cells, identify(notebook, master), said)
    blocks = _blocks(cells, chosen, said)
    _add_missing(blocks, master, said)
    result = nbformat.from_dict(master.notebook)
    result.cells = []
    for index in sorted(blocks):
        result.cells += blocks[index]
    _renew_ids(result, master)
    return Repaired(result, tuple(dict.fromkeys(said)))


def _choose_copies(
    cells: list[NotebookNode], found: list[MasterCell | None], said: list[str]
) -> list[MasterCell | None]:
    """One place for each identified cell; the other places of an answer become own cells (None)."""
    places: dict[int, list[int]] = {}
    for place, master in enumerate(found):
        if master is not None:
            places.setdefault(master.index, []).append(place)
    chosen: list[MasterCell | None] = list(found)
    for copies in places.values():
        master = found[copies[0]]
        if len(copies) == 1:
            continue
        keep = copies[0] if master.locked else _last_changed(cells, copies, master)
        for place in copies:
            if place != keep:
                chosen[place] = None
                if master.locked:
                    cells[place] = None
        rule = "one was kept" if master.locked else "the last one that was changed counts"
        said.append(f"{master.words} was there {len(copies)} times; {rule}")
    return chosen


def _last_changed(cells: list[NotebookNode], copies: list[int], master: MasterCell) -> int:
    changed = [p for p in copies if not same_code(cells[p].source, master.cell.source)]
    return (changed or copies)[-1]


def _blocks(
    cells: list[NotebookNode], chosen: list[MasterCell | None], said: list[str]
) -> dict[int, list[NotebookNode]]:
    """Each identified cell with the own cells behind it, under its number in the master; -1 for the head."""
    blocks: dict[int, list[NotebookNode]] = {-1: []}
    current, last_needed = -1, -1
    for cell, master in zip(cells, chosen, strict=True):
        if cell is None:
            continue
        if master is None:
            _forget_marks(cell)
            blocks[current].append(cell)
            continue
        if master.needed and master.index < last_needed:
            said.append("cells had been moved; they were run in the order of the handed-out notebook")
        last_needed = max(last_needed, master.index if master.needed else -1)
        current = master.index
        blocks[current] = [_restored(cell, master, said)]
    return blocks


def _restored(cell: NotebookNode, master: MasterCell, said: list[str]) -> NotebookNode:
    result = nbformat.from_dict(master.cell)
    if _flags(cell) != _flags(master.cell):
        said.append(f"the marks of {master.words} had been changed or lost and were restored")
    if cell.cell_type != master.cell.cell_type and master.needed:
        kind = {"code": "a code", "markdown": "a text", "raw": "a raw"}[cell.cell_type]
        said.append(f"{master.words} had been turned into {kind} cell and was turned back")
    if master.locked:
        if normalized(cell.source) != normalized(master.cell.source):
            said.append(f"{master.words} had been changed and was restored")
    else:
        result.source = cell.source
    return result


def _flags(cell: NotebookNode) -> dict:
    """What nbgrader's marks say, without the checksums that it adds itself."""
    marks = cell.metadata.get("nbgrader")
    return {key: marks.get(key) for key in FLAGS} if isinstance(marks, dict) else {}


def _forget_marks(cell: NotebookNode) -> None:
    """An own cell is nobody's answer and nobody's grade cell, whatever its metadata says."""
    cell.metadata.pop("nbgrader", None)
    cell.metadata.pop("lmcourse", None)


def _add_missing(blocks: dict[int, list[NotebookNode]], master: Master, said: list[str]) -> None:
    for cell in master.cells:
        if cell.needed and cell.index not in blocks:
            blocks[cell.index] = [nbformat.from_dict(cell.cell)]
            said.append(f"{cell.words} was missing and was put back")


def _renew_ids(notebook: NotebookNode, master: Master) -> None:
    """Each id once, and none of the master's on a student's own cell: no copy is taken for it again."""
    released = {c.cell.id for c in master.cells}
    seen: set[str] = set()
    for number, cell in enumerate(notebook.cells):
        is_own = "lmcourse" not in cell.metadata
        if cell.get("id") is None or cell.id in seen or (is_own and cell.id in released):
            cell.id = f"own-{number}"
        seen.add(cell.id)
