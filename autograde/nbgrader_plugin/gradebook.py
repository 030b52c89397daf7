"""Fill nbgrader's course folder and gradebook with the verdicts of a class, in one process."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path

from nbformat import NotebookNode
from nbgrader.api import Gradebook
from nbgrader.converters import Autograde
from traitlets import Dict

from autograde.grading.one import Graded
from autograde.nbgrader_plugin.course_root import CourseRoot
from autograde.nbgrader_plugin.execute import VERDICT
from autograde.nbgrader_plugin.steps import StepFailed, run_step
from lmcourse import exercises as registry
from lmcourse.errors import CourseError


class Recorder(Autograde):
    """nbgrader's Autograde for given students, whose ids are names and never patterns."""

    graded = Dict(help="student id to Graded")

    def init_notebooks(self) -> None:
        self.assignments = {}
        week = registry.week(self.coursedir.assignment_id)
        for student in self.graded:
            folder = self._format_source(week.id, student)
            self.assignments[folder] = [os.path.join(folder, f"{week.notebook}.ipynb")]

    def init_single_notebook_resources(self, notebook_filename: str) -> dict:
        resources = super().init_single_notebook_resources(notebook_filename)
        resources[VERDICT] = self.graded[resources["nbgrader"]["student"]].verdict
        return resources


def record(course: Path, week_id: str, submissions: Iterable[Graded]) -> list[str]:
    """Stage the notebooks under `submitted/`, run nbgrader's Autograde on them and so fill the gradebook.

    Recording the same submission again changes nothing but the time stamps of files; a new verdict replaces
    the old one, and points that a person gave by hand stay. Students without a readable notebook are entered
    into the gradebook without a submission.

    Returns:
        The ids of the students whose submissions were recorded.

    Raises:
        CourseError: the week has not been released in this course folder, a student id that cannot be the
            name of a folder, or nbgrader failed.
    """
    week = registry.week(week_id)
    root = CourseRoot(Path(course))
    if not root.release(week).is_file() or not root.gradebook.is_file():
        raise CourseError(f"{root.path} has no released {week.id}; run `autograde build {week.id}` first")
    graded = {item.student: item for item in submissions}
    for student in graded:
        if not is_folder_name(student):
            raise CourseError(f"student id {student!r} cannot be the name of a folder; rename the submission")
    staged = {student: item for student, item in graded.items() if item.notebook is not None}
    for student, item in staged.items():
        _stage(item.notebook, root.submitted(student, week))
    with Gradebook(f"sqlite:///{root.gradebook.resolve()}") as gradebook:
        for student in graded:
            gradebook.update_or_create_student(student)
    if staged:
        try:
            run_step(root, week, Recorder, graded=staged)
        except StepFailed as failed:
            raise CourseError(f"nbgrader could not record {week.id}: {failed.reason}") from None
    return list(staged)


def is_folder_name(student: str) -> bool:
    """Whether nbgrader can keep a folder under this id."""
    odd = student in ("", ".", "..") or student != student.strip()
    return not odd and not any(c in student for c in "/\\\0\n")


def _stage(notebook: NotebookNode, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    for old in path.parent.glob("*.ipynb"):
        old.unlink()
    # As it came: nbformat would renew ids that are there twice; ASCII escapes what UTF-8 cannot hold.
    path.write_text(json.dumps(notebook, indent=1), encoding="ascii")
