"""The gradebook on a real PostgreSQL server, which the tests start for themselves."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path

import fake_judge
import pytest
from nbgrader.api import Gradebook

from autograde.build.assemble import assemble
from autograde.build.release import release
from autograde.build.source import read_source, source_path
from autograde.grading import batch
from autograde.nbgrader_plugin.course_root import CourseRoot
from autograde.project import SOLUTIONS
from lmcourse import exercises as registry

pytest.importorskip("psycopg", reason="the package psycopg is not installed")
pytestmark = pytest.mark.usefixtures("fake_judging")


def _programs() -> Path | None:
    """The folder with initdb and postgres: on the path, or where Debian keeps each version."""
    found = shutil.which("initdb")
    places = [Path(found).resolve().parent] if found else []
    places += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((p for p in places if (p / "postgres").exists()), None)


@pytest.fixture(scope="module")
def server():
    """The address of an empty database; the server refuses to run as root, so root lends it a user."""
    programs = _programs()
    if programs is None:
        pytest.skip("PostgreSQL is not installed (Debian: apt-get install postgresql)")
    # Not below pytest's folder, which other users may not enter.
    folder = Path(tempfile.mkdtemp(prefix="pg-", dir="/tmp"))
    user = {"user": "postgres"} if os.getuid() == 0 else {}
    if user:
        shutil.chown(folder, "postgres")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    run = lambda *argv: subprocess.run(argv, cwd=folder, check=True, capture_output=True, **user)  # noqa: E731
    data = str(folder / "data")
    options = f"-p {port} -k {folder} -c listen_addresses=127.0.0.1 -c fsync=off"
    try:
        run(programs / "initdb", "-D", data, "-U", "grader", "-A", "trust", "-E", "UTF8")
        log = str(folder / "log")
        # Its output must not hold our pipe open.
        subprocess.run(
            [programs / "pg_ctl", "-D", data, "-l", log, "-w", "-o", options, "start"],
            cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **user,
        )  # fmt: skip
        run(programs / "createdb", "-h", "127.0.0.1", "-p", str(port), "-U", "grader", "course")
        yield f"postgresql+psycopg://grader@127.0.0.1:{port}/course"
    finally:
        subprocess.run([programs / "pg_ctl", "-D", data, "-m", "immediate", "stop"], cwd=folder, **user)
        shutil.rmtree(folder, ignore_errors=True)


def test_marks_reach_the_server_and_the_stock_commands_read_them(server, make_class, tmp_path):
    course = CourseRoot(tmp_path / "pg course")
    course.path.mkdir()
    (course.path / "grading.toml").write_text(
        f'[gradebook]\nurl = "{server}"\n[due]\nW0 = 2020-01-01T00:00:00\n[late]\npercent_per_day = 50\n'
    )
    week = registry.week("W0")
    release(week, assemble(week, read_source(source_path(week, SOLUTIONS))), course)
    assert not course.gradebook.exists()
    folder = make_class("ada", "ben", "Žofie, [x]")
    outcome = fake_judge.run(folder, course.path, tmp_path / "out")
    assert "3 submissions recorded in postgresql" in outcome.gradebook
    judged = {row.student: row.verdict for row in outcome.rows}
    with Gradebook(server) as book:
        submissions = {s.student.id: s for s in book.assignment_submissions("W0")}
        assert set(submissions) == set(judged)
        for student, submission in submissions.items():
            given = {g.name: g.auto_score for n in submission.notebooks for g in n.grades}
            assert given == {v.exercise.replace(".", "-"): v.points for v in judged[student].verdicts}
            assert submission.late_submission_penalty == pytest.approx(judged[student].points)
    again = fake_judge.run(folder, course.path, tmp_path / "out", force=True)
    assert [row.points for row in again.rows] == [0, 0, 0] and not again.changes
    command = shutil.which("nbgrader", path=os.pathsep.join([str(Path(os.sys.executable).parent)]))
    done = subprocess.run([command, "export"], cwd=course.path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "Žofie, [x]" in (course.path / "grades.csv").read_text(encoding="utf-8")


def test_a_server_that_is_gone_is_one_line(make_class, tmp_path, course):
    (course / "grading.toml").write_text(
        '[gradebook]\nurl = "postgresql+psycopg://g:pw@127.0.0.1:1/course"\n'
    )
    with pytest.raises(batch.CourseError, match=r"the gradebook postgresql\+psycopg://g:\*\*\*@") as info:
        fake_judge.run(make_class("ada"), course, tmp_path / "out")
    assert "pw" not in str(info.value) and "\n" not in str(info.value)
