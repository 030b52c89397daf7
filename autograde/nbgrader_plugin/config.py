"""The course's nbgrader configuration: for the file in the course folder and for this process alike."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from traitlets.config import Config

from autograde.grading.settings import load_settings

CONFIG_FILE = '''"""nbgrader's configuration for this course folder, written by `autograde build`.

The stock commands work from this folder: nbgrader autograde W1, generate_feedback W1, export, formgrader.
"""

from pathlib import Path

from autograde.nbgrader_plugin.config import configure, find_commands

find_commands()
configure(get_config(), Path(__file__).parent)
'''


def find_commands() -> None:
    """Put this environment's commands on PATH: nbgrader starts `alembic`, also when nobody activated it."""
    here = str(Path(sys.executable).parent)
    path = os.environ.get("PATH", os.defpath)
    if here not in path.split(os.pathsep):
        os.environ["PATH"] = here + os.pathsep + path


def configure(config: Config, course: Path) -> Config:
    """Fill in everything that differs from nbgrader's defaults; returns the same object.

    Answers are replaced by stubs that name their exercise, submissions are repaired from the master, and
    marks come from the judge instead of a kernel that runs student code. `grading.toml` in the course folder
    says where the gradebook is, and what lateness costs.
    """
    url = load_settings(course).gradebook_url
    if url:
        config.CourseDirectory.db_url = url
    config.CourseDirectory.course_id = "lmcourse"
    config.ClearSolutions.text_stub = "*Write your answer here.*"
    config.GenerateAssignment.preprocessors = [
        "nbgrader.preprocessors.IncludeHeaderFooter",
        "nbgrader.preprocessors.LockCells",
        "autograde.nbgrader_plugin.stubs.StubSolutions",
        "nbgrader.preprocessors.ClearOutput",
        "nbgrader.preprocessors.CheckCellMetadata",
        "nbgrader.preprocessors.ComputeChecksums",
        "nbgrader.preprocessors.SaveCells",
        "nbgrader.preprocessors.ClearHiddenTests",
        "nbgrader.preprocessors.ClearMarkScheme",
        "nbgrader.preprocessors.ComputeChecksums",
        "nbgrader.preprocessors.CheckCellMetadata",
    ]
    config.Autograde.exporter_class = "autograde.nbgrader_plugin.reading.GenerousExporter"
    config.Autograde.sanitize_preprocessors = [
        "nbgrader.preprocessors.ClearOutput",
        "autograde.nbgrader_plugin.repair.RepairFromMaster",
        "nbgrader.preprocessors.OverwriteKernelspec",
        "nbgrader.preprocessors.OverwriteCells",
        "nbgrader.preprocessors.CheckCellMetadata",
    ]
    config.Autograde.autograde_preprocessors = [
        "autograde.nbgrader_plugin.execute.AskJudge",
        "nbgrader.preprocessors.LimitOutput",
        "nbgrader.preprocessors.SaveAutoGrades",
        "autograde.nbgrader_plugin.execute.FlagUndecided",
        "autograde.nbgrader_plugin.late.LatePenalty",
        "nbgrader.preprocessors.CheckCellMetadata",
    ]
    return config
