"""`autograde matrix`: which hidden test kills which mutant; fails when one survives."""

from __future__ import annotations

import argparse
import json
import sys

from lmcourse import exercises as registry
from lmcourse.errors import CourseError

HELP = "print which hidden test kills which mutant; fail on a survivor, a failing variant or a passing stub"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "names", nargs="*", metavar="WEEK_OR_EXERCISE", help="as W1 or W1.4; all when none is named"
    )
    parser.add_argument("--json", action="store_true", help="print the matrices as JSON instead of tables")
    parser.add_argument("--jobs", type=int, metavar="N", help="processes side by side (default: the cores)")


def run(args: argparse.Namespace) -> int:
    from autograde.matrix.run import matrices, stub_rows
    from autograde.matrix.table import LEGEND, render
    from autograde.project import cores

    jobs = cores() if args.jobs is None else args.jobs
    if jobs < 1:
        raise CourseError(f"--jobs must be 1 or more, but is {args.jobs}")
    wanted = _wanted(args.names)
    stubs, faults = stub_rows(wanted)
    found = []
    for matrix in matrices(wanted, stubs, jobs):
        found.append(matrix)
        faults += matrix.faults
        if not args.json:
            print(render(matrix), end="\n\n", flush=True)
    if args.json:
        print(json.dumps({"matrices": [matrix.to_dict() for matrix in found], "faults": faults}, indent=1))
    else:
        killed = sum(row.expected == "wrong" for matrix in found for row in matrix.rows)
        print(LEGEND)
        noun = "exercise" if len(found) == 1 else "exercises"
        print(f"{len(found)} {noun}, {killed} wrong solutions, {len(faults)} faults")
    for fault in faults:
        print(f"autograde: {fault}", file=sys.stderr)
    return 1 if faults else 0


def _wanted(names: list[str]) -> list[registry.Exercise]:
    """Exercises by id or by week, in the registry's order, each once."""
    wanted = {}
    for name in names or [week.id for week in registry.WEEKS]:
        chosen = [registry.exercise(name)] if "." in name else registry.week(name).exercises
        wanted.update({exercise.id: exercise for exercise in chosen})
    order = [exercise.id for week in registry.WEEKS for exercise in week.exercises]
    return sorted(wanted.values(), key=lambda exercise: order.index(exercise.id))
