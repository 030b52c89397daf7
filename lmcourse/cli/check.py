"""`lmcourse check`: run a week's notebook in a fresh kernel and say what its public checks find."""

from __future__ import annotations

import argparse
import math
from pathlib import Path

HELP = "Run a notebook and its public checks in a fresh kernel; name cells that fail, are slow or never end."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("week", metavar="WEEK", help="a week (W1), or one exercise (W1.4)")
    parser.add_argument(
        "notebook",
        metavar="NOTEBOOK",
        nargs="?",
        type=Path,
        help="the notebook; by default the week's one in this folder or in notebooks/, whatever its name",
    )
    parser.add_argument("--timeout", metavar="SECONDS", default="60", help="limit for one cell (default: 60)")


def run(args: argparse.Namespace) -> int:
    """Exit status 0 only if every public check passed, every cell ran to its end and no locked cell differs.

    Raises:
        CourseError: an unknown week or exercise, or a notebook that cannot be found or read.
    """
    from lmcourse import exercises
    from lmcourse.checks.notebook.check import check_notebook
    from lmcourse.checks.notebook.progress import cell_progress
    from lmcourse.checks.notebook.read import find_notebook

    only = exercises.exercise(args.week) if "." in args.week else None
    week = exercises.week(only.week if only else args.week)
    seconds = _seconds(args.timeout)
    path = args.notebook or find_notebook(week, Path.cwd())
    with cell_progress() as progress:
        verdict = check_notebook(path, week, only, cell_seconds=seconds, progress=progress)
    print(f"{week.id} {week.title}: {path}\n")
    print("\n".join(verdict.lines()))
    return 0 if verdict.passed else 1


def _seconds(text: str) -> float:
    from lmcourse.errors import CourseError

    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not (seconds > 0 and math.isfinite(seconds)):
        raise CourseError(f"--timeout must be a number of seconds above 0, not {text!r}")
    return seconds
