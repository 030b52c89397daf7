"""From the instructor's notebook to the student's, by nbgrader's own release step."""

from __future__ import annotations

import nbformat
from nbformat import NotebookNode
from nbgrader.converters import GenerateAssignment

from autograde.nbgrader_plugin.course_root import CourseRoot
from autograde.nbgrader_plugin.steps import StepFailed, run_step
from lmcourse.errors import CourseError
from lmcourse.exercises import Week


def dumps(notebook: NotebookNode) -> str:
    """A notebook as text; the same notebook always gives the same bytes."""
    return nbformat.writes(notebook) + "\n"


def release(week: Week, notebook: NotebookNode, root: CourseRoot) -> NotebookNode:
    """Put the notebook into the course folder, run `generate_assignment` there, return the student's one.

    Raises:
        CourseError: nbgrader refused, with its reason; or the folder cannot be written.
    """
    root.prepare()
    try:
        root.source(week).parent.mkdir(parents=True, exist_ok=True)
        root.source(week).write_text(dumps(notebook), encoding="utf-8")
    except OSError as error:
        raise CourseError(f"cannot write {root.source(week)}: {error.strerror}") from None
    try:
        run_step(root, week, GenerateAssignment)
    except StepFailed as failed:
        if "there are submissions associated" in failed.log:
            raise CourseError(
                f"{root.path} holds marks for an earlier {week.id} whose cells were others; build into a new "
                "course folder (--course DIR), or delete that one if its marks are not needed"
            ) from None
        raise CourseError(f"nbgrader could not release {week.id}: {failed.reason}") from None
    return nbformat.read(root.release(week), as_version=4)
