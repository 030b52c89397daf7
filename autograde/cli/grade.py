"""`autograde grade`: judge a class, print its table, write reports, fill nbgrader's gradebook."""

from __future__ import annotations

import argparse
from functools import partial
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
        help="a folder, an .ipynb or a .zip for each student; a download of Moodle or Canvas, packed or not",
    )
    parser.add_argument(
        "--jobs", type=int, metavar="N", help="judge processes side by side (default: the cores)"
    )
    parser.add_argument(
        "--scheduler", metavar="ADDRESS", help="judge on a Dask cluster instead, as tcp://host:8786"
    )
    parser.add_argument(
        "--only", action="append", default=[], metavar="W1.4", help="judge these exercises (W1.2,W1.4)"
    )
    parser.add_argument(
        "--students", action="append", default=[], metavar="IDS", help="grade these students (ada,ben)"
    )
    parser.add_argument("--force", action="store_true", help="judge again what has not changed, too")
    parser.add_argument(
        "--allow-unconfined", action="store_true", help="grade where nothing confines student code, too"
    )
    parser.add_argument("--out", type=Path, metavar="DIR", help="reports (default: build/grades/WEEK)")
    parser.add_argument(
        "--course",
        type=Path,
        metavar="DIR",
        help="nbgrader's course folder, with the verdicts (build/course)",
    )
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
    from autograde.grading.cluster import grade_on_cluster
    from autograde.grading.pool import grade_all
    from autograde.intake.entries import opened
    from autograde.judge import confinement
    from autograde.judge.limits import Limits
    from autograde.project import COURSE, PROJECT, cores
    from lmcourse import exercises as registry

    jobs = cores() if args.jobs is None else args.jobs
    if jobs < 1:
        raise CourseError(f"--jobs must be 1 or more, but is {args.jobs}")
    if not 0 < args.time_limit <= 3600:
        raise CourseError(f"--time-limit must lie in 0..3600 seconds, but is {args.time_limit:g}")
    week = registry.week(args.week)
    limits = Limits(cell_seconds=args.time_limit, allow_unconfined=args.allow_unconfined)
    if args.scheduler:
        crew = partial(grade_on_cluster, address=args.scheduler)
    else:
        confinement.require(limits)
        crew = partial(grade_all, jobs=jobs)
    with opened(args.submissions) as folder:
        plan = batch.plan(
            week.id,
            folder,
            args.course or COURSE,
            args.out or PROJECT / "build" / "grades" / week.id,
            limits,
            force=args.force,
            only=[e for value in args.only for e in value.split(",")],
            students=args.students,
            remote=bool(args.scheduler),
        )
        console = Console(highlight=False)
        outcome = _with_progress(console, plan, crew)
    _print_outcome(console, week, outcome)
    return 0


def _with_progress(console, plan, crew):
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
        bar = progress.add_task(f"grading {plan.week.id}", total=len(plan.chosen))

        def told(heard) -> None:
            v = heard.verdict
            source = "not graded" if v.problem else "judged" if heard.judged else "unchanged"
            line = f"{v.student}: {number(v.points)} of {number(v.max_points)} ({source})"
            console.print(printable(line), markup=False, soft_wrap=True)
            progress.advance(bar)

        return batch.grade_class(plan, crew, told)


def _print_outcome(console, week, outcome) -> None:
    from autograde.project import shown
    from autograde.reports.class_table import class_table

    if outcome.continued:
        console.print(
            f"an interrupted run was continued: {outcome.continued} submissions were judged already"
        )
    console.print(class_table(week, outcome.rows))
    _print_notes(console, outcome.rows)
    if outcome.changes:
        console.print(
            f"{len(outcome.changes)} marks changed: {shown(outcome.reports.changes)}", soft_wrap=True
        )
    for title in ("class_page", "students", "marks", "exports"):
        path = shown(getattr(outcome.reports, title))
        console.print(f"{title.partition('_')[0] + ':':<9} {path}", markup=False, soft_wrap=True)
    console.print(outcome.gradebook, markup=False, soft_wrap=True)


def _print_notes(console, rows) -> None:
    """What a person has to look at."""
    from autograde.grading.one import NOT_YET
    from autograde.reports.words import printable

    not_yet = 0
    lines = []
    for row in rows:
        if row.verdict.problem:
            lines.append(f"not graded: {row.student}: {row.verdict.problem}")
        for verdict in row.verdict.verdicts:
            if verdict.kept:
                lines.append(f"kept: {row.student}, {verdict.exercise}: {verdict.kept}")
        reasons: dict[str, list[str]] = {}
        for verdict in row.verdict.undecided:
            if verdict.message == NOT_YET:
                not_yet += 1
            else:
                reasons.setdefault(verdict.message, []).append(verdict.exercise)
        lines += [f"undecided: {row.student}, {', '.join(ids)}: {why}" for why, ids in reasons.items()]
    if not_yet:
        lines.append(f"{not_yet} exercises were not asked for in this run and have no mark yet")
    for line in lines:
        console.print(printable(line), style="red", markup=False, soft_wrap=True)
