"""`lmcourse doctor`: what is wrong with a notebook before it is handed in, or with the curve of a run."""

from __future__ import annotations

import argparse
from pathlib import Path

from lmcourse.errors import CourseError

HELP = "Say what is wrong with a notebook, without running it, or with the curves of a training run."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument(
        "notebook", metavar="NOTEBOOK", nargs="?", type=Path, help="the notebook you want to hand in"
    )
    what.add_argument("--run", metavar="RUN", help="a training run instead: is its curve normal?")
    parser.add_argument(
        "--fix", action="store_true", help="write a repaired copy beside it (NAME-repaired.ipynb)"
    )


def run(args: argparse.Namespace) -> int:
    """Exit status 0 when nothing had to be said, or with --fix when only repairs had; else 1.

    Raises:
        CourseError: the file is no notebook of this course, the copy exists already, or there is no such run.
    """
    if args.run is not None:
        if args.fix:
            raise CourseError("--fix: repairs a notebook; leave it out with --run")
        from lmcourse.cli.doctor_run import examine_run

        return examine_run(args.run)
    return _notebook(args.notebook, args.fix)


def _notebook(path: Path, fix: bool) -> int:
    from lmcourse.handin.examine import examine

    found = examine(path)
    week = found.week
    print(f"{week.id} {week.title}: {path}")
    _list("Grading will repair, and take no points for it", found.repairs)
    _list("Look at these yourself", found.warnings)
    _list("Not attempted yet", [f"{e} {_title(week, e)}" for e in found.not_attempted])
    if not found.repairs and not found.warnings:
        print("\nNothing is wrong with the file. Run `lmcourse check` to see what its answers are worth.")
    if fix and found.repairs:
        print(f"\nrepaired copy: {_write(path, found.notebook)} (without outputs)")
    elif found.repairs:
        print("\nWith --fix, a repaired copy is written beside the notebook.")
    return 1 if found.warnings or (found.repairs and not fix) else 0


def _title(week, exercise_id: str) -> str:
    return next(e.title for e in week.exercises if e.id == exercise_id)


def _list(title: str, lines) -> None:
    if lines:
        print(f"\n{title}:")
        for line in lines:
            print(f"  {line}")


def _write(path: Path, notebook) -> Path:
    import nbformat

    copy = path.with_name(f"{path.stem}-repaired.ipynb")
    try:
        with open(copy, "x", encoding="utf-8", errors="replace") as file:
            file.write(nbformat.writes(notebook) + "\n")
    except FileExistsError:
        raise CourseError(f"{copy} exists already; move it away, so that no work in it is lost") from None
    except OSError as error:
        raise CourseError(f"cannot write {copy}: {error.strerror}") from None
    return copy
