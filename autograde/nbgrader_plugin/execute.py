"""nbgrader's executing step, which asks the judge instead of a kernel that runs student code."""

from __future__ import annotations

from pathlib import Path

from nbformat import NotebookNode
from nbgrader.api import Gradebook
from nbgrader.preprocessors import Execute, NbGraderPreprocessor

from autograde.build.anatomy import HIDDEN_BEGIN, HIDDEN_END
from autograde.judge.verdict import SubmissionVerdict
from autograde.nbgrader_plugin.ask import verdict_for
from autograde.nbgrader_plugin.course_root import CourseRoot
from autograde.nbgrader_plugin.outputs import grade_outputs

VERDICT = "lmcourse_verdict"  # under which one step hands the verdict to the next


class AskJudge(Execute):
    """Writes the judge's points and messages into the grade cells; no kernel is started here.

    The verdict is taken from the store where `autograde grade` decided it, or the judge is asked for it now.
    The hidden region is taken out, since feedback is made from this notebook.
    """

    def preprocess(self, nb, resources=None, km=None):
        names = resources["nbgrader"]
        # nbgrader works inside the course folder while it converts.
        verdict = verdict_for(nb, names["student"], names["assignment"], CourseRoot(Path.cwd()))
        resources[VERDICT] = verdict
        fill_in(nb, verdict)
        return nb, resources


class FlagUndecided(NbGraderPreprocessor):
    """After `SaveAutoGrades`: what no judge could decide waits for a person instead of scoring 0."""

    def preprocess(self, nb, resources):
        names = resources["nbgrader"]
        undecided = {verdict.exercise for verdict in resources[VERDICT].undecided}
        with Gradebook(names["db_url"]) as gradebook:
            for cell in nb.cells:
                if is_grade_cell(cell) and cell.metadata["lmcourse"]["exercise"] in undecided:
                    grade_id = cell.metadata["nbgrader"]["grade_id"]
                    grade = gradebook.find_grade(
                        grade_id, names["notebook"], names["assignment"], names["student"]
                    )
                    grade.auto_score = None
                    grade.needs_manual_grade = True
            gradebook.db.commit()
        return nb, resources


def fill_in(notebook: NotebookNode, verdict: SubmissionVerdict) -> None:
    """Put points and messages into the grade cells of a repaired notebook; hidden regions are taken out."""
    for cell in notebook.cells:
        if is_grade_cell(cell):
            given = verdict.verdict(cell.metadata["lmcourse"]["exercise"])
            cell.outputs = grade_outputs(given, float(cell.metadata["nbgrader"]["points"]))
            cell.execution_count = 1
            cell.source = _without_hidden_region(cell.source)


def is_grade_cell(cell: NotebookNode) -> bool:
    return cell.cell_type == "code" and bool(cell.metadata.get("nbgrader", {}).get("grade"))


def _without_hidden_region(source: str) -> str:
    head, begin, rest = source.partition(HIDDEN_BEGIN)
    return (head + rest.partition(HIDDEN_END)[2]).rstrip() if begin else source
