"""Judge the student's notebook as released, before anybody has answered anything."""

from __future__ import annotations

import contextlib
import io
from typing import Any

from nbformat import NotebookNode

from autograde.build.refuse import stub_faults
from autograde.exercise import HiddenExercise
from autograde.judge.local import LocalAnswer
from autograde.judge.score import score
from lmcourse.errors import CourseError


def released_names(notebook: NotebookNode) -> dict[str, Any]:
    """What the setup and answer cells of a released notebook define when they run in order.

    Raises:
        CourseError: a cell fails as released, so that a student could not even run the notebook.
    """
    namespace: dict[str, Any] = {"__name__": "__main__"}
    for cell in notebook.cells:
        role = cell.metadata.get("lmcourse", {}).get("role")
        if role not in ("setup", "answer"):
            continue
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile(cell.source, cell.id, "exec"), namespace)
        except Exception as error:
            raise CourseError(f"cell {cell.id} fails as released: {type(error).__name__}: {error}") from None
    return namespace


def judge_stub(exercise: HiddenExercise, notebook: NotebookNode, namespace: dict[str, Any]) -> list[str]:
    """The faults of an exercise's stub, judged as an answer."""
    answers = [
        cell.source
        for cell in notebook.cells
        if cell.metadata.get("lmcourse") == {"exercise": exercise.id, "role": "answer"}
    ]
    names = {name: namespace[name] for name in exercise.spec.names if name in namespace}
    verdict = score(exercise, LocalAnswer(exercise, names), seed=0)
    return stub_faults(exercise, "\n".join(answers), verdict.points, verdict.state)
