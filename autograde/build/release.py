"""From the instructor's notebook to the student's, by nbgrader's own release step."""

from __future__ import annotations

import re

import nbformat
from nbformat import NotebookNode

from autograde.nbgrader_plugin.course_root import CourseRoot
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
    result = root.nbgrader().generate_assignment(week.id)
    if not result["success"]:
        raise CourseError(_reason(week, root, result))
    return nbformat.read(root.release(week), as_version=4)


def _reason(week: Week, root: CourseRoot, result: dict) -> str:
    said = "\n".join(result.get(part) or "" for part in ("log", "error")).strip()
    if "there are submissions associated" in said:
        return (
            f"{root.path} holds marks for an earlier {week.id} whose cells were others; "
            "build into a new course folder (--course DIR), or delete that one if its marks are not needed"
        )
    reasons = re.findall(r"^ *[\w.]*(?:Error|Exception): .*$", result.get("log") or said, re.MULTILINE)
    return f"nbgrader could not release {week.id}: {reasons[-1].strip() if reasons else said[-200:]}"
