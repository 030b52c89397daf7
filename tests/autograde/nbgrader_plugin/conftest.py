"""A course folder with week W0 released, and submissions to it."""

from __future__ import annotations

import shutil

import nbformat
import pytest

from autograde.build.assemble import assemble
from autograde.build.release import release
from autograde.build.source import read_source, source_path
from autograde.judge.verdict import SubmissionVerdict, Verdict
from autograde.nbgrader_plugin.course_root import CourseRoot
from autograde.project import SOLUTIONS
from lmcourse import exercises as registry


@pytest.fixture
def week():
    return registry.week("W0")


@pytest.fixture(scope="session")
def released(tmp_path_factory) -> CourseRoot:
    week = registry.week("W0")
    root = CourseRoot(tmp_path_factory.mktemp("released") / "course")
    release(week, assemble(week, read_source(source_path(week, SOLUTIONS))), root)
    return root


@pytest.fixture
def root(released, tmp_path) -> CourseRoot:
    """A fresh copy of the released course folder."""
    shutil.copytree(released.path, tmp_path / "course")
    return CourseRoot(tmp_path / "course")


@pytest.fixture
def handed_out(released, week):
    """The student's notebook as released."""
    return nbformat.read(released.release(week), as_version=4)


@pytest.fixture
def verdict():
    """`verdict("ada", 1.0, 0.25)`: a verdict on W0 with these points (None: the judge could not decide)."""

    def make(student: str, *points: float | None) -> SubmissionVerdict:
        specs = registry.week("W0").exercises
        verdicts = [
            Verdict(spec.id, _state(p, spec.points), p, float(spec.points), message="said in words")
            for spec, p in zip(specs, points, strict=True)
        ]
        return SubmissionVerdict(student, "W0", tuple(verdicts))

    return make


def _state(points: float | None, full: float) -> str:
    if points is None:
        return "harness_fault"
    return "right" if points == full else "partly" if points else "student_error"
