"""The picture of a run that is still going on, drawn again every few seconds in a notebook."""

from __future__ import annotations

import time
from pathlib import Path

from lmcourse.errors import CourseError
from lmcourse.figures.picture import Picture, in_notebook, picture_of
from lmcourse.figures.run import run_figure
from lmcourse.figures.run_data import RunData, read_run

PATIENCE = 120.0  # seconds without a new step, after which the run is taken for ended


def run_picture(run: RunData, theme: str = "light") -> Picture:
    """The picture of a run with its alt text."""
    figure, alt = run_figure(run, theme)
    return picture_of(figure, alt, f"{len(run.records)} of {run.config.steps} steps")


def watch_run(folder: Path | str, seconds: float = 5.0, patience: float = PATIENCE) -> None:
    """Show a run in a notebook, and draw it again until it is complete or stands still.

    The training runs in another process, or in a thread; interrupting the cell ends the watching only.

    Args:
        folder: of the run.
        seconds: between two pictures.
        patience: seconds without a new step, after which the run is taken for ended.

    Raises:
        CourseError: not in a notebook, or no run with at least one step there.
    """
    if not in_notebook():
        raise CourseError("watch_run draws in a notebook; in a terminal take `lmcourse show RUN`")
    from IPython.display import display

    run = read_run(Path(folder))
    handle = display(run_picture(run), display_id=True)
    moved = time.monotonic()
    try:
        while len(run.records) < run.config.steps and time.monotonic() - moved < patience:
            time.sleep(seconds)
            newer = read_run(Path(folder))
            if len(newer.records) != len(run.records):
                run, moved = newer, time.monotonic()
                handle.update(run_picture(run))
    except KeyboardInterrupt:
        return
