"""`autograde build`: student notebooks and check tables from `solutions/`, or the reasons why not."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from lmcourse import exercises as registry
from lmcourse.errors import CourseError

HELP = "build the student notebooks and the check tables from solutions/"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("weeks", nargs="*", metavar="WEEK", help="as W1; all weeks when none is named")
    parser.add_argument(
        "--check", action="store_true", help="write nothing; fail when a generated file differs"
    )
    parser.add_argument("--course", type=Path, metavar="DIR", help="nbgrader's course folder (build/course)")


def run(args: argparse.Namespace) -> int:
    from autograde.nbgrader_plugin.course_root import CourseRoot
    from autograde.project import COURSE

    weeks = [registry.week(name) for name in args.weeks] or list(registry.WEEKS)
    if not args.check:
        return _build(weeks, CourseRoot(args.course or COURSE), _write)
    if args.course:
        raise CourseError("--check builds in a folder of its own; leave --course out")
    with tempfile.TemporaryDirectory() as folder:
        return _build(weeks, CourseRoot(Path(folder)), _compare)


def _build(weeks, root, deliver) -> int:
    from autograde.build.pipeline import build_week, package_faults
    from autograde.project import SOLUTIONS
    from autograde.weeks import hidden

    refused = package_faults()
    files: dict[Path, str] = {}
    for week in weeks:
        print(f"{week.id} {week.title} ...", flush=True)
        built = build_week(week, SOLUTIONS, root, hidden)
        refused += built.faults
        files.update(built.files)
    if refused:
        for fault in refused:
            print(f"autograde: refused: {fault}", file=sys.stderr)
        return 1
    return deliver(files)


def _write(files: dict[Path, str]) -> int:
    from autograde.project import shown

    for path, text in files.items():
        if path.is_file() and path.read_text(encoding="utf-8") == text:
            print(f"  unchanged  {shown(path)}")
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        print(f"  written    {shown(path)}")
    return 0


def _compare(files: dict[Path, str]) -> int:
    from autograde.project import NOTEBOOKS, shown

    status = 0
    made = {f"{week.notebook}.ipynb" for week in registry.WEEKS}
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        if path.name not in made:
            print(f"  stray      {shown(path)} (no week of the registry makes it)")
            status = 1
    for path, text in files.items():
        if not path.is_file():
            print(f"  missing    {shown(path)}")
        elif path.read_text(encoding="utf-8") != text:
            print(f"  differs    {shown(path)}")
        else:
            print(f"  in step    {shown(path)}")
            continue
        status = 1
    if status:
        print("autograde: run `autograde build` and commit what it writes", file=sys.stderr)
    return status
