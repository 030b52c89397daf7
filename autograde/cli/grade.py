"""`autograde grade`: judge a class, print its table, write reports, fill nbgrader's gradebook."""

from __future__ import annotations

import argparse
from pathlib import Path

from lmcourse.errors import CourseError

HELP = "grade a folder of submissions"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("week", metavar="WEEK", help="as W1")
    parser.add_argument(
        "--submissions",
        type=Path,
        required=True,
        metavar="DIR",
        help="a folder, an .ipynb or a .zip for each student",
    )
    parser.add_argument(
        "--jobs", type=int, metavar="N", help="judge processes side by side (default: the cores)"
    )
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="verdicts and reports (default: build/grades/WEEK)"
    )
    parser.add_argument("--course", type=Path, metavar="DIR", help="nbgrader's course folder (build/course)")
    parser.add_argument("--force", action="store_true", help="judge again what has not changed, too")
    parser.add_argument(
        "--time-limit",
        type=float,
        default=60.0,
        metavar="S",
        help="seconds of processor time for one cell (default: 60)",
    )


def run(args: argparse.Namespace) -> int:
    from rich.console import Console

    from autograde.grading import batch
    from autograde.judge.limits import Limits
    from autograde.project import COURSE, PROJECT, cores, shown
    from autograde.reports.class_table import class_table
    from lmcourse import exercises as registry

    jobs = cores() if args.jobs is None else args.jobs
    if jobs < 1:
        raise CourseError(f"--jobs must be 1 or more, but is {args.jobs}")
    if not 0 < args.time_limit <= 3600:
        raise CourseError(f"--time-limit must lie in 0..3600 seconds, but is {args.time_limit:g}")
    week = registry.week(args.week)
    out = args.out or PROJECT / "build" / "grades" / week.id
    limits = Limits(cell_seconds=args.time_limit)
    plan = batch.plan(week.id, args.submissions, args.course or COURSE, out, limits, args.force)
    console = Console(highlight=False)
    graded = _with_progress(console, plan, jobs)
    console.print(class_table(week, [g.verdict for g in graded]))
    reports = batch.publish(plan, graded)
    _print_notes(console, graded)
    console.print(f"class:    {shown(reports.class_page)}", markup=False, soft_wrap=True)
    console.print(f"students: {shown(reports.students)}", markup=False, soft_wrap=True)
    console.print(f"marks:    {shown(reports.marks)}", markup=False, soft_wrap=True)
    console.print(batch.fill_gradebook(plan, graded), markup=False, soft_wrap=True)
    return 0


def _with_progress(console, plan, jobs: int) -> list:
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    from autograde.grading import batch
    from autograde.reports.words import number, printable

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left:"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, disable=not console.is_terminal, transient=True) as progress:
        bar = progress.add_task(f"grading {plan.week.id}", total=len(plan.tasks))

        def finished(graded) -> None:
            v = graded.verdict
            source = "judged" if graded.judged else "not graded" if v.problem else "unchanged"
            line = f"{v.student}: {number(v.points)} of {number(v.max_points)} ({source})"
            console.print(printable(line), markup=False, soft_wrap=True)
            progress.advance(bar)

        return batch.grade_class(plan, jobs, finished=finished)


def _print_notes(console, graded: list) -> None:
    """What a person has to look at."""
    from autograde.reports.words import printable

    for g in graded:
        if g.verdict.problem:
            line = f"not graded: {g.student}: {g.verdict.problem}"
            console.print(printable(line), style="red", markup=False, soft_wrap=True)
        for verdict in g.verdict.undecided:
            line = f"undecided: {g.student}, {verdict.exercise}: {verdict.message}"
            console.print(printable(line), style="red", markup=False, soft_wrap=True)
