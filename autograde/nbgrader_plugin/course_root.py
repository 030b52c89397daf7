"""The folder that nbgrader works in: source, release, submitted, autograded, feedback and the gradebook."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from autograde.nbgrader_plugin.config import CONFIG_FILE
from lmcourse.errors import CourseError
from lmcourse.exercises import Week


@dataclass(frozen=True)
class CourseRoot:
    """Paths inside a course folder; `prepare` makes it one that the stock nbgrader commands understand."""

    path: Path

    def prepare(self) -> None:
        """Write nbgrader's configuration.

        Raises:
            CourseError: the folder cannot be made or written.
        """
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            (self.path / "nbgrader_config.py").write_text(CONFIG_FILE, encoding="utf-8")
        except OSError as error:
            raise CourseError(f"cannot write the course folder {self.path}: {error.strerror}") from None

    def source(self, week: Week) -> Path:
        """The instructor's notebook with solutions and the hidden region: the master of a week."""
        return self.path / "source" / week.id / f"{week.notebook}.ipynb"

    def release(self, week: Week) -> Path:
        return self.path / "release" / week.id / f"{week.notebook}.ipynb"

    def submitted(self, student: str, week: Week) -> Path:
        return self.path / "submitted" / student / week.id / f"{week.notebook}.ipynb"

    def autograded(self, student: str, week: Week) -> Path:
        return self.path / "autograded" / student / week.id / f"{week.notebook}.ipynb"

    def verdicts(self, week: Week) -> Path:
        """What `autograde grade` decided, and its journal."""
        return self.path / "verdicts" / week.id

    @property
    def gradebook(self) -> Path:
        return self.path / "gradebook.db"
