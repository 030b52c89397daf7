"""nbgrader's sanitizing step, with repairs from the master in place of `DeduplicateIds`."""

from __future__ import annotations

from pathlib import Path

from nbgrader.preprocessors import NbGraderPreprocessor

from autograde.nbgrader_plugin.course_root import CourseRoot
from lmcourse import exercises as registry
from lmcourse.handin.master import Master
from lmcourse.handin.repair import repair


class RepairFromMaster(NbGraderPreprocessor):
    """Puts back what was deleted, retyped, copied or relabeled, as released, by exercise id."""

    def preprocess(self, nb, resources):
        week = registry.week(resources["nbgrader"]["assignment"])
        # nbgrader works inside the course folder while it converts.
        release = CourseRoot(Path.cwd()).release(week)
        repaired = repair(nb, Master.load(week.id, release.parent))
        for line in repaired.repairs:
            self.log.warning("%s: %s", resources["nbgrader"]["student"], line)
        for cell in repaired.notebook.cells:
            cell.source = writable(cell.source)
        return repaired.notebook, resources


def writable(text: str) -> str:
    """Half of a surrogate pair can stand in a notebook file but in no UTF-8 text; it is replaced."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
