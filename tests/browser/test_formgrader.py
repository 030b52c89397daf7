"""nbgrader's formgrader in a browser: marks, messages, a comment, points by hand, and its own button."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import nbformat
import pytest
from conftest import ROOT, free_port, wait_until_up

from autograde.build.assemble import assemble
from autograde.build.release import release
from autograde.build.source import read_source, source_path
from autograde.grading.batch import grade_class, plan
from autograde.grading.pool import grade_all
from autograde.judge.limits import Limits
from autograde.nbgrader_plugin.course_root import CourseRoot
from autograde.project import SOLUTIONS
from lmcourse import exercises as registry
from lmcourse.handin.master import Master

pytestmark = pytest.mark.browser
WEEK = registry.week("W1")
ANSWERS = {
    "W1.2": "def split_tail(tokens, frac):\n    n = round(len(tokens) * frac)\n    return tokens, tokens[n:]"
}


def _notebook(written: str) -> str:
    """One weak answer, one written answer, the rest as handed out: quick to judge."""
    made = nbformat.from_dict(Master.load(WEEK.id).notebook)
    for cell in made.cells:
        own = cell.metadata.get("lmcourse", {})
        if own.get("role") == "answer" and own["exercise"] in ANSWERS:
            cell.source = ANSWERS[own["exercise"]]
        if own.get("role") == "written":
            cell.source = written
    return nbformat.writes(made)


def _marks(course: CourseRoot, student: str) -> dict[str, tuple[float | None, float | None]]:
    from nbgrader.api import Gradebook

    with Gradebook(f"sqlite:///{course.gradebook}") as book:
        submission = book.find_submission(WEEK.id, student)
        return {g.name: (g.auto_score, g.manual_score) for n in submission.notebooks for g in n.grades}


@pytest.fixture(scope="module")
def course(tmp_path_factory) -> tuple[CourseRoot, dict[str, float]]:
    """W1 released, ada graded by the command, ben only handed in; and ada's points by exercise."""
    folder = tmp_path_factory.mktemp("formgrader")
    root = CourseRoot(folder / "course")
    release(WEEK, assemble(WEEK, read_source(source_path(WEEK, SOLUTIONS))), root)
    (folder / "in" / "ada").mkdir(parents=True)
    (folder / "in" / "ada" / "w.ipynb").write_text(_notebook("Masks matter when neighbors are alike."))
    made = plan(WEEK.id, folder / "in", root.path, folder / "out", Limits())
    outcome = grade_class(made, partial(grade_all, jobs=1))
    root.submitted("ben", WEEK).parent.mkdir(parents=True)
    root.submitted("ben", WEEK).write_text(_notebook("I do not know."))
    points = {v.exercise.replace(".", "-"): v.points for v in outcome.rows[0].verdict.verdicts}
    return root, points


@pytest.fixture(scope="module")
def formgrader(course, tmp_path_factory) -> Iterator[str]:
    """The address of a server in the course folder, as an instructor starts it."""
    home = tmp_path_factory.mktemp("server")
    names = {"JUPYTER_CONFIG_DIR": "config", "JUPYTER_DATA_DIR": "data", "JUPYTER_RUNTIME_DIR": "runtime"}
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "HOME": str(home)}
    environment |= {variable: str(home / name) for variable, name in names.items()}
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), environment.get("PYTHONPATH", "")]))
    port = free_port()
    command = [
        *(sys.executable, "-m", "jupyter_server", "--no-browser", "--ip=127.0.0.1", f"--port={port}"),
        *("--allow-root", "--IdentityProvider.token=", "--ServerApp.port_retries=0"),
        "--ServerApp.jpserver_extensions={'nbgrader.server_extensions.formgrader': True}",
    ]
    url = f"http://127.0.0.1:{port}"
    with (home / "log").open("w") as log:
        server = subprocess.Popen(
            command, env=environment, cwd=course[0].path, stdout=log, stderr=subprocess.STDOUT
        )
    try:
        wait_until_up(server, url, home / "log")
        yield url
    finally:
        server.terminate()
        try:
            server.wait(15)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


@pytest.fixture
def page(browser):
    opened = browser.new_page()
    yield opened
    opened.close()


def _open_submission(page, url: str, student: str) -> None:
    page.goto(f"{url}/formgrader/manage_submissions/{WEEK.id}")
    page.goto(f"{url}/formgrader/gradebook/{WEEK.id}/{WEEK.notebook}")
    page.get_by_role("link", name=re.compile("Submission #")).first.wait_for()
    page.goto(f"{url}/formgrader/manage_students/{student}/{WEEK.id}")
    page.get_by_role("link", name=WEEK.notebook).click()
    page.locator("input.score").first.wait_for()


def test_a_person_sees_the_judges_marks_and_words_and_adds_points_and_a_comment(course, formgrader, page):
    root, points = course
    _open_submission(page, formgrader, "ada")
    for name, value in points.items():
        field = page.locator(f"input.score[id='{name}']")
        shown = field.get_attribute("placeholder")
        assert float(shown) == pytest.approx(value), name
    text = page.locator("body").inner_text()
    assert "W1.2: " in text and "failed" in text and "Masks matter when neighbors are alike." in text
    assert "HIDDEN TESTS" not in text and "autograde.run" not in text
    written = page.locator("input.score[id='W1-8-written']")
    written.fill("7.5")
    with page.expect_response(lambda r: "/api/grade/" in r.url and r.request.method == "PUT"):
        written.blur()
    comment = page.locator("textarea.comment").last
    comment.fill("A good first condition.")
    with page.expect_response(lambda r: "/api/comment/" in r.url and r.request.method == "PUT"):
        comment.blur()
    marks = _marks(root, "ada")
    assert marks["W1-8-written"] == (None, 7.5)
    assert {name: auto for name, (auto, _) in marks.items() if name in points} == points
    assert "A good first condition." in _comments(root, "ada")
    page.screenshot(path=str(_screenshot("formgrader")), full_page=False)


def test_the_button_autogrades_one_submission_with_the_same_marks(course, formgrader, page):
    root, points = course
    page.goto(f"{formgrader}/formgrader/manage_submissions/{WEEK.id}")
    row = page.locator("tr", has=page.get_by_text("ben", exact=True))
    row.locator(".autograde a").click()
    page.get_by_text(re.compile("Successfully autograded 'W1' for student 'ben'")).wait_for(timeout=170_000)
    marks = _marks(root, "ben")
    assert {name: auto for name, (auto, _) in marks.items() if name in points} == points
    assert marks["W1-8-written"] == (None, None)


def _comments(course: CourseRoot, student: str) -> list[str | None]:
    from nbgrader.api import Gradebook

    with Gradebook(f"sqlite:///{course.gradebook}") as book:
        submission = book.find_submission(WEEK.id, student)
        return [c.manual_comment for n in submission.notebooks for c in n.comments]


def _screenshot(name: str) -> Path:
    folder = ROOT / "build" / "screenshots"
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"{name}.png"
