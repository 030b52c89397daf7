"""The stock nbgrader commands in the course folder: marks to the point, feedback, export."""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbgrader.api import Gradebook
from nbgrader.apps.api import NbGraderAPI
from nbgrader.coursedir import CourseDirectory

from autograde.judge.seeds import course_secret
from autograde.judge.session import judge_notebook
from autograde.nbgrader_plugin.course_root import CourseRoot
from autograde.weeks import hidden
from lmcourse import exercises as registry
from lmcourse.handin.master import Master
from lmcourse.handin.read import read_notebook

RIGHT = {
    "w0-1-answer": "def hello_check(x):\n    return 2 * x + 1",
    "w0-2-answer": (
        "def test_relu(impl):\n    x = torch.tensor([-3.0, -0.25, 0.0, 0.25, 4.0])\n"
        "    assert torch.equal(impl(x), torch.relu(x))"
    ),
}


def _nbgrader(course: CourseRoot, *argv: str) -> subprocess.CompletedProcess:
    command = Path(sys.executable).with_name("nbgrader")
    # A shell in which nobody activated the environment.
    env = {**os.environ, "PATH": os.defpath, "OMP_NUM_THREADS": "1"}
    return subprocess.run([command, *argv], cwd=course.path, env=env, capture_output=True, text=True)


@pytest.fixture(scope="module")
def course(released, tmp_path_factory):
    """Three submissions, graded by `nbgrader autograde`, with feedback and export: one run for all tests."""
    root = CourseRoot(tmp_path_factory.mktemp("stock") / "course")
    shutil.copytree(released.path, root.path)
    week = registry.week("W0")
    for student, data in _submissions(released.release(week)).items():
        root.submitted(student, week).parent.mkdir(parents=True)
        root.submitted(student, week).write_bytes(data)
    done = {
        "autograde": _nbgrader(root, "autograde", "W0"),
        "feedback": _nbgrader(root, "generate_feedback", "W0"),
        "export": _nbgrader(root, "export"),
    }
    return root, week, done


def _submissions(release: Path) -> dict[str, bytes]:
    """A right one, one with a hostile and a weak answer, and a damaged one in another encoding."""

    def notebook(answers):
        made = nbformat.read(release, as_version=4)
        for cell in made.cells:
            cell.source = answers.get(cell.id, cell.source)
        return made

    weak = {
        "w0-1-answer": "print(1.0)\nhello_check = lambda x: float('nan')",
        "w0-2-answer": "def test_relu(impl):\n    assert impl(torch.tensor(-1.0)).item() <= 0",
    }
    damaged = notebook(RIGHT)
    damaged.cells = [cell for cell in damaged.cells if cell.id not in ("w0-1", "w0-2-check")]
    for cell in damaged.cells:
        if cell.id == "w0-2":
            cell.metadata.nbgrader.update(grade=False, solution=True, points=50)
        if cell.id == "w0-1-answer":
            cell.metadata = {}
    damaged.cells.append(nbformat.from_dict(damaged.cells[2]))
    damaged.metadata.kernelspec = None
    return {
        "ada": nbformat.writes(notebook(RIGHT)).encode("utf-8"),
        "ben": nbformat.writes(notebook(weak)).encode("utf-8"),
        "dan": json.dumps(damaged).encode("utf-16"),
    }


def _marks(root, week) -> dict[str, dict[str, float]]:
    with Gradebook(f"sqlite:///{root.gradebook}") as book:
        return {
            s.student.id: {g.name: g.auto_score for n in s.notebooks for g in n.grades}
            for s in book.assignment_submissions(week.id)
        }


def test_autograde_gives_the_judges_marks_to_the_point(course):
    root, week, done = course
    assert done["autograde"].returncode == 0, done["autograde"].stderr
    marks = _marks(root, week)
    assert set(marks) == {"ada", "ben", "dan"}
    master = Master.load(week.id, root.release(week).parent)
    for student in marks:
        handed_in = read_notebook(root.submitted(student, week).read_bytes(), "x.ipynb")
        judged = judge_notebook(handed_in, week.id, student, course_secret(root.path), master=master)
        assert marks[student] == {v.exercise.replace(".", "-"): v.points for v in judged.verdicts}
    assert marks["ada"] == marks["dan"] == {"W0-1": 1.0, "W0-2": 1.0}
    assert marks["ben"]["W0-1"] == 0.0 and 0 < marks["ben"]["W0-2"] < 1


def test_the_maximum_comes_from_the_master(course):
    root, week, _ = course
    with Gradebook(f"sqlite:///{root.gradebook}") as book:
        assert {s.max_score for s in book.assignment_submissions(week.id)} == {2.0}
        assert not any(s.needs_manual_grade for s in book.assignment_submissions(week.id))


def test_formgrader_sees_every_submission_as_graded(course):
    root, week, _ = course
    api = NbGraderAPI(CourseDirectory(root=str(root.path)))
    seen = {s["student"]: s for s in api.get_submissions(week.id)}
    assert set(seen) == {"ada", "ben", "dan"}
    assert all(s["autograded"] and s["submitted"] and not s["needs_manual_grade"] for s in seen.values())
    assert seen["ada"]["score"] == seen["ada"]["max_score"] == 2.0


def test_feedback_shows_words_and_nothing_hidden(course):
    root, week, done = course
    assert done["feedback"].returncode == 0, done["feedback"].stderr
    for student in ("ada", "ben", "dan"):
        page = root.path / "feedback" / student / week.id / f"{week.notebook}.html"
        text = page.read_text(encoding="utf-8")
        assert "W0.2: " in text and "passed" in text
        assert "autograde" not in text.lower().replace("autograded", "")
        assert "HIDDEN TESTS" not in text
        for exercise in week.exercises:
            notes = [s.note for s in hidden(exercise.id).variants + hidden(exercise.id).accept]
            assert not any(note and note in text for note in notes)


def test_export_writes_every_mark(course):
    root, _, done = course
    assert done["export"].returncode == 0, done["export"].stderr
    with open(root.path / "grades.csv", newline="", encoding="utf-8") as file:
        rows = {row["student_id"]: float(row["score"]) for row in csv.DictReader(file)}
    marks = _marks(root, course[1])
    assert rows == {student: pytest.approx(sum(values.values())) for student, values in marks.items()}


def test_a_second_run_changes_nothing(course):
    root, week, _ = course
    before = _marks(root, week)
    assert _nbgrader(root, "autograde", "W0", "--student", "ben", "--force").returncode == 0
    assert _marks(root, week) == before


def test_a_file_that_is_no_notebook_stops_nobody_else(course):
    root, week, _ = course
    path = root.submitted("zoe", week)
    path.parent.mkdir(parents=True)
    path.write_text("<!doctype html><title>Log in</title>")
    done = _nbgrader(root, "autograde", "W0", "--student", "zoe")
    assert done.returncode != 0 and "is a web page" in done.stderr
    assert set(_marks(root, week)) >= {"ada", "ben", "dan"}
