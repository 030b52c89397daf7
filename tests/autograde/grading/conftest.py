"""Classes of copies of W0's notebook, and a course folder in which W0 is released."""

from __future__ import annotations

import shutil

import fake_judge
import nbformat
import pytest

from autograde.build.assemble import assemble
from autograde.build.release import release
from autograde.build.source import read_source, source_path
from autograde.grading import batch, one
from autograde.nbgrader_plugin.course_root import CourseRoot
from autograde.project import SOLUTIONS
from lmcourse import exercises as registry


@pytest.fixture(scope="session")
def w0_released(tmp_path_factory):
    week = registry.week("W0")
    root = CourseRoot(tmp_path_factory.mktemp("released") / "course")
    release(week, assemble(week, read_source(source_path(week, SOLUTIONS))), root)
    return root


@pytest.fixture
def course(w0_released, tmp_path):
    shutil.copytree(w0_released.path, tmp_path / "course")
    return tmp_path / "course"


@pytest.fixture
def make_class(w0_released, tmp_path):
    """`make_class(3)` or `make_class("ada", "ben")`: a folder with a copy for each, with own seeds by id."""
    notebook = nbformat.read(w0_released.release(registry.week("W0")), as_version=4)

    def make(*who, extra=""):
        names = [f"s{n:04d}" for n in range(who[0])] if isinstance(who[0], int) else who
        for name in names:
            for cell in notebook.cells:
                if cell.metadata.get("lmcourse", {}).get("role") == "answer":
                    cell.source = f"hello_check = test_relu = {name!r}  # {extra}"
            path = tmp_path / "in" / name / "w.ipynb"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(nbformat.writes(notebook), encoding="utf-8")
        return tmp_path / "in"

    return make


@pytest.fixture
def fake_judging(monkeypatch):
    """The fake judge puts itself in the real one's place; that is taken back after the test."""
    monkeypatch.setattr(one, "judge_notebook", one.judge_notebook)
    monkeypatch.setattr(batch, "sources_of", fake_judge.sources_of)
