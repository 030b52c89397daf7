"""nbgrader's late step, by the days of `grading.toml` instead of seconds."""

from __future__ import annotations

from datetime import UTC
from pathlib import Path

from nbgrader.api import Gradebook
from nbgrader.preprocessors import NbGraderPreprocessor

from autograde.grading.settings import load_settings
from lmcourse import exercises as registry


class LatePenalty(NbGraderPreprocessor):
    """After the marks are saved: what lateness costs, never more than what was earned."""

    def preprocess(self, nb, resources):
        names = resources["nbgrader"]
        settings = load_settings(Path.cwd())  # nbgrader works inside the course folder while it converts
        week = registry.week(names["assignment"])
        with Gradebook(names["db_url"]) as gradebook:
            submission = gradebook.find_submission(week.id, names["student"])
            notebook = gradebook.find_submission_notebook(names["notebook"], week.id, names["student"])
            handed_in = submission.timestamp
            seconds = 0.0 if handed_in is None else handed_in.replace(tzinfo=UTC).timestamp()
            late = settings.late(names["student"], week.id, seconds, week.points)
            notebook.late_submission_penalty = min(late.penalty, notebook.score) or None
            gradebook.db.commit()
        return nb, resources
