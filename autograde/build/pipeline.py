"""One week from its source file to everything that is generated from it, with the reasons to refuse it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from nbformat import NotebookNode

from autograde.build.assemble import assemble
from autograde.build.leaks import hidden_runs, leaks
from autograde.build.refuse import hidden_faults, registry_faults
from autograde.build.release import dumps, release
from autograde.build.source import read_source, source_path
from autograde.build.stubs import judge_stub, released_names
from autograde.build.tables import week_table
from autograde.exercise import HiddenExercise
from autograde.nbgrader_plugin.course_root import CourseRoot
from autograde.project import NOTEBOOKS, PROJECT, TABLES, shown
from lmcourse.exercises import Week
from lmcourse.handin.master import MASTERS, master_text


@dataclass(frozen=True)
class BuiltWeek:
    """`files` are the generated texts by path; they may be written only when there are no `faults`."""

    week: Week
    files: dict[Path, str]
    faults: list[str]


def build_week(
    week: Week, solutions: Path, root: CourseRoot, hidden: Callable[[str], HiddenExercise]
) -> BuiltWeek:
    """Assemble, release and examine one week. Writes into the course folder `root` only.

    Raises:
        CourseError: a source that cannot be built at all; faults of what was built are returned instead.
    """
    cells = read_source(source_path(week, solutions))
    faults = registry_faults(week)
    exercises = [hidden(spec.id) for spec in week.exercises]
    for exercise in exercises:
        faults += hidden_faults(exercise)
    if faults:
        return BuiltWeek(week, {}, faults)
    student = release(week, assemble(week, cells), root)
    faults += _stub_faults(exercises, student)
    files = {NOTEBOOKS / f"{week.notebook}.ipynb": dumps(student)}
    files[MASTERS / f"{week.id}.json"] = master_text(student)
    table = week_table(week, hidden)
    if table:
        files[TABLES / f"{week.id}.json"] = table
    faults += leaks(
        {shown(path): text for path, text in files.items() if path.suffix == ".ipynb"}, _hidden_runs()
    )
    return BuiltWeek(week, files, faults)


def package_faults() -> list[str]:
    """Lines of the hidden side in the package that students import."""
    files = {shown(path): path.read_text(encoding="utf-8") for path in (PROJECT / "lmcourse").rglob("*.py")}
    return leaks(files, _hidden_runs())


def _hidden_runs() -> dict[str, str]:
    return hidden_runs(PROJECT / "autograde" / "weeks")


def _stub_faults(exercises: list[HiddenExercise], student: NotebookNode) -> list[str]:
    namespace = released_names(student)
    return [fault for exercise in exercises for fault in judge_stub(exercise, student, namespace)]
