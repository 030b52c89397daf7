"""Check one notebook: read, run, compare with the release, and judge."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from lmcourse.checks.limits import CALL_SECONDS
from lmcourse.checks.notebook.cells import CourseCell, check_places, course_cells
from lmcourse.checks.notebook.integrity import compare, released_cells
from lmcourse.checks.notebook.read import read_notebook
from lmcourse.checks.notebook.run import CELL_SECONDS, run_notebook
from lmcourse.checks.notebook.verdicts import SLOW_SECONDS, NotebookVerdict, judge
from lmcourse.exercises import Exercise, Week


def check_notebook(
    path: Path,
    week: Week,
    only: Exercise | None = None,
    *,
    cell_seconds: float = CELL_SECONDS,
    call_seconds: float = CALL_SECONDS,
    slow_seconds: float = SLOW_SECONDS,
    progress: Callable[[int, int, str], None] = lambda done, total, label: None,
) -> NotebookVerdict:
    """Run a notebook of this week in a fresh kernel and judge it.

    Args:
        only: check this exercise alone; then the cells up to its check run, without places to play.
        cell_seconds: limit of one cell; call_seconds: of one call in a check; slow_seconds: cells that take
            longer are named.
        progress: called before each cell with cells done, cells in all and the label of the next one.

    Raises:
        CourseError: the notebook cannot be read, belongs to another week, or no kernel starts.
    """
    cells = course_cells(read_notebook(path, week))
    exercises = (only,) if only else week.exercises
    integrity = compare(cells, exercises, released_cells(week, path))
    if only:
        cells = _needed_for(only, cells)
    run = run_notebook(
        cells,
        exercises,
        path.resolve().parent,
        cell_seconds=cell_seconds,
        call_seconds=call_seconds,
        progress=lambda done, label: progress(done, len(cells), label),
    )
    return judge(run, exercises, cells, integrity, slow_seconds)


def needed_cells(cells: list[CourseCell]) -> list[CourseCell]:
    """Without places to play and predictions, from which no answer may take anything."""
    return [cell for cell in cells if cell.role not in ("play", "predict")]


def _needed_for(exercise: Exercise, cells: list[CourseCell]) -> list[CourseCell]:
    needed = needed_cells(cells)
    return needed[: check_places(needed, [exercise])[exercise.id] + 1]
