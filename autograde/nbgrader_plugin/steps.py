"""Run one of nbgrader's own steps in this process, configured as its commands are in the course folder."""

from __future__ import annotations

import io
import logging
import re
import warnings
from typing import Any

from nbgrader.converters.base import BaseConverter, NbGraderException
from nbgrader.coursedir import CourseDirectory
from traitlets.config import Config

from autograde.nbgrader_plugin.config import configure, find_commands
from autograde.nbgrader_plugin.course_root import CourseRoot
from lmcourse.exercises import Week


class StepFailed(Exception):
    """nbgrader gave up; `log` is everything it said, `reason` its last exception in one line."""

    def __init__(self, log: str) -> None:
        reasons = re.findall(r"^ *[\w.]*(?:Error|Exception): .*$", log, re.MULTILINE)
        self.log = log
        self.reason = (
            reasons[-1].strip() if reasons else (log.strip().splitlines() or ["no reason given"])[-1]
        )
        super().__init__(self.reason)


def run_step(root: CourseRoot, week: Week, step: type[BaseConverter], **traits: Any) -> None:
    """Run `step` (as nbgrader's GenerateAssignment) for the week's assignment, replacing earlier results.

    Raises:
        StepFailed: some or all of it did not work.
    """
    find_commands()
    said = io.StringIO()
    log = logging.Logger("nbgrader", logging.WARNING)
    log.addHandler(logging.StreamHandler(said))
    config = configure(Config(), root.path)
    config.CourseDirectory.root = str(root.path.resolve())
    config.CourseDirectory.assignment_id = week.id
    folders = CourseDirectory(config=config, log=log)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # nbgrader's own use of its database library
            step(coursedir=folders, config=config, log=log, force=True, **traits).start()
    except NbGraderException as error:
        log.exception(str(error))
        first = said.getvalue().partition("There was an error processing assignment '")[0]
        raise StepFailed(first or said.getvalue()) from None
