"""Restart and run all: a solution notebook in a fresh kernel, every cell timed, nothing left unsaid."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from nbclient import NotebookClient
from nbclient.exceptions import CellTimeoutError, DeadKernelError
from nbformat import NotebookNode

CELL_SECONDS = 300  # a cell that runs longer is stopped, and so is the notebook


@dataclass
class Execution:
    """What happened: seconds by cell id in order, and one line for every fault."""

    cell_seconds: dict[str, float] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)

    @property
    def seconds(self) -> float:
        return sum(self.cell_seconds.values())

    def slowest(self, count: int) -> list[tuple[str, float]]:
        return sorted(self.cell_seconds.items(), key=lambda item: -item[1])[:count]


def execute(
    notebook: NotebookNode,
    folder: Path,
    limit: float = CELL_SECONDS,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Execution:
    """Run every code cell of a notebook in order and keep going after a cell that fails.

    A fault is an exception, anything on stderr, a grade cell without its full points, a cell that runs longer
    than `limit` seconds, or a kernel that dies. The notebook receives the outputs.

    Args:
        folder: the kernel's working directory.
        progress: called with the number of code cells done and in all.
    """
    code = [(i, cell) for i, cell in enumerate(notebook.cells) if cell.cell_type == "code"]
    client = NotebookClient(
        notebook,
        timeout=limit,
        allow_errors=True,
        resources={"metadata": {"path": str(folder)}},
        extra_arguments=["--HistoryManager.hist_file=:memory:", "--IPKernelApp.log_level=ERROR"],
    )
    execution = Execution()
    with client.setup_kernel():
        for done, (i, cell) in enumerate(code, start=1):
            started = time.monotonic()
            try:
                client.execute_cell(cell, i)
            except CellTimeoutError:
                execution.faults.append(f"{cell.id}: still running after {limit:g} s")
                break
            except DeadKernelError:
                execution.faults.append(f"{cell.id}: the kernel died")
                break
            execution.cell_seconds[cell.id] = time.monotonic() - started
            execution.faults += _faults(cell)
            progress(done, len(code))
    return execution


def _faults(cell: NotebookNode) -> list[str]:
    faults = []
    for output in cell.outputs:
        if output.output_type == "error":
            faults.append(f"{cell.id}: {output.ename}: {_first_line(output.evalue)}")
        elif output.output_type == "stream" and output.name == "stderr":
            faults.append(f"{cell.id}: wrote to stderr: {_first_line(output.text)}")
    nbgrader = cell.metadata.get("nbgrader", {})
    if nbgrader.get("grade") and not faults:
        points = _points(cell)
        if points != float(nbgrader["points"]):
            faults.append(f"{cell.id}: the solution gets {points:g} of {nbgrader['points']:g} points")
    return faults


def _points(cell: NotebookNode) -> float:
    results = [o.data["text/plain"] for o in cell.outputs if o.output_type == "execute_result"]
    try:
        return float(results[-1])
    except (IndexError, ValueError):
        return 0.0


def _first_line(text: str) -> str:
    return (text.strip().splitlines() or [""])[0][:200]
