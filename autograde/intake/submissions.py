"""From what a student handed in to the one notebook that is graded, or to the reason why there is none."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from nbformat import NotebookNode

from autograde.intake.archives import Budget, TooMuch, notebooks
from autograde.intake.gather import MAX_TOTAL, File, Gathered, gather
from lmcourse.errors import CourseError
from lmcourse.exercises import Week
from lmcourse.handin.match import week_of
from lmcourse.handin.read import read_notebook


@dataclass(frozen=True)
class Submission:
    """One student's work for a week: a notebook, or the problem that stands in its place.

    `source` says where it was found, `remarks` which files were passed over and why. `nothing` is true when
    there is no file at all, as opposed to one that cannot be read. `digest` is a hash of the file's bytes,
    `handed_in` the time in seconds since 1970, 0 where nothing tells it.
    """

    student: str
    notebook: NotebookNode | None = None
    source: str = ""
    problem: str = ""
    remarks: tuple[str, ...] = ()
    nothing: bool = False
    digest: str = ""
    handed_in: float = 0.0


def collect(student: str, paths: list[Path], week: Week) -> Submission:
    """The submission of one student from these files and folders; never raises for what they hold."""
    return choose(student, gather(student, paths), week)


def choose(student: str, gathered: Gathered, week: Week) -> Submission:
    """The newest notebook of the week among the files; never raises for what they hold."""
    problems = list(gathered.problems)
    others: list[str] = []
    newest: tuple[tuple[float, str], NotebookNode, File] | None = None  # order, notebook, the outermost file
    n_matching = 0
    budget = Budget(MAX_TOTAL)
    try:
        for outer in gathered.files:
            for file in notebooks(outer, budget, problems):
                try:
                    notebook = read_notebook(file.data, file.name)
                except CourseError as error:
                    problems.append(str(error))
                    continue
                found = week_of(notebook)
                if found == week.id:
                    n_matching += 1
                    order = (file.changed, file.name)
                    newest = (order, notebook, outer) if newest is None or order > newest[0] else newest
                else:
                    what = f"belongs to {found}" if found else "is no notebook of this course"
                    others.append(f"{file.name} {what}")
    except TooMuch:
        problems.append(f"more than {MAX_TOTAL / 2**20:.0f} MiB were handed in; the rest was not looked at")
    if newest is None:
        return _none(student, problems + others, gathered)
    (_, name), notebook, outer = newest
    if n_matching > 1:
        problems.append(f"{n_matching} notebooks of {week.id} were handed in; the newest, {name}, counts")
    # Dates inside an archive are the student's own clock; the archive itself came when it was handed in.
    handed_in = _stamped(gathered.stamp) or outer.changed
    digest = hashlib.sha256(outer.data).hexdigest()
    return Submission(student, notebook, name, "", tuple(problems), False, digest, handed_in)


def _none(student: str, problems: list[str], gathered: Gathered) -> Submission:
    if problems:
        return Submission(student, problem="; ".join(problems[:3]))
    names = ", ".join(gathered.others[:3]) + (", ..." if len(gathered.others) > 3 else "")
    found = f"; found only {names}" if names else ""
    return Submission(student, problem=f"nothing was handed in{found}", nothing=True)


def _stamped(text: str) -> float:
    """Seconds since 1970 of nbgrader's time stamp (`2026-10-05 21:59:00.5 UTC`); 0 for anything else."""
    if not text.strip():
        return 0.0
    plain = text.strip().removesuffix(" UTC")
    try:
        moment = datetime.fromisoformat(plain)
    except ValueError:
        return 0.0
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
