"""Run a student's notebook cell by cell in a fresh kernel; check each exercise where its check cell is."""

from __future__ import annotations

import logging
import os
import re
import subprocess
import sysconfig
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty
from time import perf_counter
from typing import Any

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import DeadKernelError
from nbclient.util import run_sync
from nbformat import NotebookNode

from lmcourse.checks.limits import CALL_SECONDS
from lmcourse.checks.notebook.cells import CourseCell, check_places
from lmcourse.checks.report import MIME
from lmcourse.errors import CourseError
from lmcourse.exercises import Exercise

CELL_SECONDS = 60.0
DONE, FAILED, ENDLESS, DEADLY = "done", "failed", "never ended", "kernel died"
_OUT_OF_TIME = "OutOfTime"
_GRACE_SECONDS = 5


@dataclass(frozen=True)
class CellRun:
    """One code cell: its state, seconds, and what went wrong in one line."""

    cell: CourseCell
    state: str
    seconds: float
    message: str = ""


@dataclass
class NotebookRun:
    """All code cells that ran, the report of each checked exercise (as `Report.to_json` gives it), and why
    the run stopped early, if it did."""

    runs: list[CellRun] = field(default_factory=list)
    reports: dict[str, dict[str, Any]] = field(default_factory=dict)
    stopped: str = ""


def run_notebook(
    cells: Sequence[CourseCell],
    exercises: Sequence[Exercise],
    folder: Path,
    *,
    cell_seconds: float = CELL_SECONDS,
    call_seconds: float = CALL_SECONDS,
    progress: Callable[[int, str], None] = lambda done, label: None,
) -> NotebookRun:
    """Run the cells in order in a fresh kernel whose working folder is `folder`.

    Check cells themselves do not run: in their place the public check of their exercise does, so that an
    edited or deleted check cell changes nothing. A cell over `cell_seconds` is interrupted and the run goes
    on; where an interrupt does not help, or the kernel dies, the run stops.

    Args:
        exercises: those to check.
        progress: called before each cell with the number of cells done and the label of the next one.

    Raises:
        CourseError: no kernel starts.
    """
    places = check_places(list(cells), exercises)
    result = NotebookRun()
    client = _Client(cell_seconds)
    try:
        # The kernel's own log lines do not belong between ours; what cells print goes another way.
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        with client.setup_kernel(cwd=str(folder), env=_environment(), **quiet):
            for i, cell in enumerate(cells):
                progress(i, cell.label)
                if cell.is_code and cell.role != "check" and not result.stopped:
                    result.runs.append(_run_cell(client, cell, cell_seconds, result))
                for exercise in exercises:
                    if places[exercise.id] == i and not result.stopped:
                        _check(client, exercise, call_seconds, result)
    except (OSError, RuntimeError) as error:
        raise CourseError(f"no Jupyter kernel could be started: {error}") from None
    return result


class _Client(NotebookClient):
    """A client that keeps only check reports of all outputs, so that endless printing costs no memory."""

    def __init__(self, seconds: float) -> None:
        super().__init__(
            nbformat.v4.new_notebook(),
            kernel_name="python3",
            allow_errors=True,
            interrupt_on_timeout=True,
            error_on_timeout={"ename": _OUT_OF_TIME, "evalue": "", "traceback": []},
            shutdown_kernel="immediate",
            store_widget_state=False,
            on_cell_error=self._note_error,
        )
        self.log = logging.getLogger("lmcourse.checks.notebook")
        self.log.setLevel(logging.CRITICAL)
        self.error: dict[str, Any] | None = None
        self.seconds = seconds

    def run(self, source: str, seconds: float) -> NotebookNode:
        """The executed cell; `error` then holds the error of its reply, or None."""
        self.error = None
        self.timeout_func = lambda cell: seconds
        cell = nbformat.v4.new_code_cell(source)
        self.nb.cells = [cell]
        return self.execute_cell(cell, 0)

    def output(self, outs: list, msg: dict, display_id: str | None, cell_index: int) -> NotebookNode | None:
        wanted = msg["msg_type"] == "display_data" and MIME in msg["content"].get("data", {})
        return super().output(outs, msg, display_id, cell_index) if wanted else None

    def answers(self) -> bool:
        """Whether the kernel is there and idle within a few seconds."""
        return run_sync(self._answers)()

    async def _answers(self) -> bool:
        wanted = self.kc.kernel_info()
        try:
            while True:
                message = await self.kc.get_shell_msg(timeout=_GRACE_SECONDS)
                if message["parent_header"].get("msg_id") == wanted:
                    return True
        except Empty:
            return False

    def _note_error(self, cell: NotebookNode, cell_index: int, execute_reply: dict) -> None:
        self.error = execute_reply["content"]


def _run_cell(client: _Client, cell: CourseCell, seconds: float, result: NotebookRun) -> CellRun:
    start = perf_counter()
    try:
        client.run(cell.node.source, seconds)
    except DeadKernelError:
        result.stopped = f"the kernel died in {cell.label}: out of memory, or the code ended the process"
        return CellRun(cell, DEADLY, perf_counter() - start, "the kernel died")
    taken = perf_counter() - start
    if client.error is None:
        return CellRun(cell, DONE, taken)
    if client.error["ename"] != _OUT_OF_TIME:
        return CellRun(cell, FAILED, taken, _error_line(client.error, cell))
    if not client.answers():
        result.stopped = f"{cell.label} did not end after {seconds:g} s and could not be interrupted"
        return CellRun(cell, ENDLESS, taken, f"stopped after {seconds:g} s; an interrupt did not help")
    return CellRun(cell, ENDLESS, taken, f"interrupted after {seconds:g} s")


def publish_source(exercise_id: str, call_seconds: float) -> str:
    """The code that checks an exercise in a student's kernel and sends the report; it leaves no name."""
    module = "__import__('lmcourse.checks.public', fromlist=['publish'])"
    return f"{module}.publish({exercise_id!r}, {call_seconds!r})"


def _check(client: _Client, exercise: Exercise, call_seconds: float, result: NotebookRun) -> None:
    source = publish_source(exercise.id, call_seconds)
    try:
        # The check ends a slow call by itself; the second limit is for code that no exception can end.
        cell = client.run(source, 2 * call_seconds + 60)
    except DeadKernelError:
        result.stopped = f"the kernel died in the check of {exercise.id}: out of memory, or the code ended it"
        return
    reports = [output["data"][MIME] for output in cell.outputs if MIME in output.get("data", {})]
    if reports:
        result.reports[exercise.id] = reports[-1]
    if client.error and client.error["ename"] == _OUT_OF_TIME and not client.answers():
        result.stopped = f"the check of {exercise.id} did not end and could not be interrupted"


def _error_line(error: dict[str, Any], cell: CourseCell) -> str:
    """`line 9: ZeroDivisionError: division by zero`, with the line of this cell."""
    message = next(iter(str(error.get("evalue", "")).splitlines()), "")
    message = re.sub(r" \([^()]*\.py, line \d+\)$", "", message)  # a file name that only the kernel knows
    text = f"{error['ename']}: {message}" if message else str(error["ename"])
    if error["ename"] == "StdinNotImplementedError":
        text = "it calls input(), and nobody answers when a notebook is graded"
    trace = re.sub(r"\x1b\[[0-9;]*m", "", "\n".join(error.get("traceback") or []))
    line = re.search(r"Cell In\[\d+\], line (\d+)", trace)
    return f"line {line[1]}: {text}" if line else text


def _environment() -> dict[str, str]:
    """The environment of the kernel, in which this very package can be imported, installed or not."""
    root = Path(__file__).resolve().parents[3]
    if str(root) == sysconfig.get_path("purelib"):
        return dict(os.environ)
    known = os.environ.get("PYTHONPATH")
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(root), known] if known else [str(root)])}
