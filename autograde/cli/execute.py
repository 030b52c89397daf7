"""`autograde execute`: restart and run all of the solution notebooks."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from lmcourse import exercises as registry

HELP = "run the solution notebooks from the top in a fresh kernel; fail on any error or lost point"
SLOWEST = 5
BUDGET_SECONDS = 60


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("weeks", nargs="*", metavar="WEEK", help="as W1; all weeks when none is named")


def run(args: argparse.Namespace) -> int:
    status = 0
    for week in [registry.week(name) for name in args.weeks] or registry.WEEKS:
        status |= _execute(week)
    return status


def _execute(week: registry.Week) -> int:
    from autograde.build.assemble import assemble
    from autograde.build.execute import execute
    from autograde.build.source import read_source, source_path
    from autograde.project import SOLUTIONS

    notebook = assemble(week, read_source(source_path(week, SOLUTIONS)))
    print(f"{week.id} {week.title}", flush=True)
    # An empty folder: a notebook that needs a file beside it would fail at a student's.
    with tempfile.TemporaryDirectory() as folder:
        execution = execute(notebook, Path(folder), progress=_show)
    slow = ", over the budget of a minute" if execution.seconds > BUDGET_SECONDS else ""
    print(f"  {len(execution.cell_seconds)} code cells in {execution.seconds:.1f} s{slow}; the slowest:")
    for name, seconds in execution.slowest(SLOWEST):
        print(f"  {seconds:6.1f} s  {name}")
    for fault in execution.faults:
        print(f"autograde: {week.id}: {fault}", file=sys.stderr)
    return 1 if execution.faults else 0


def _show(done: int, total: int) -> None:
    if sys.stdout.isatty():
        print(f"\r  cell {done} of {total}", end="\r" if done == total else "", flush=True)
