"""A whole class with a judge that decides at once: what is judged again, what is kept, what is told."""

from __future__ import annotations

import csv
import os
import random
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import fake_judge
import psutil
import pytest
from fake_judge import points, run
from nbgrader.api import Gradebook

from autograde.cli.main import main
from autograde.grading import batch
from autograde.grading.journal import open_journal
from autograde.judge.verdict import Verdict
from lmcourse.errors import CourseError

pytestmark = pytest.mark.usefixtures("fake_judging")


def marks(out: Path) -> dict[str, float]:
    with open(out / "marks.csv", encoding="utf-8-sig", newline="") as file:
        return {row["student"]: float(row["points"]) for row in csv.DictReader(file)}


def book(course: Path) -> dict[str, dict[str, float]]:
    with Gradebook(f"sqlite:///{course / 'gradebook.db'}") as gradebook:
        return {
            s.student.id: {g.name: g.auto_score for n in s.notebooks for g in n.grades}
            for s in gradebook.assignment_submissions("W0")
        }


def judged(outcomes):
    return {heard.verdict.student: heard.judged for heard in outcomes}


def grade(folder, course, out, **options):
    heard = []
    outcome = run(folder, course, out, heard.append, **options)
    return outcome, judged(heard)


def test_the_gradebook_and_the_reports_say_the_same(make_class, course, tmp_path):
    outcome, heard = grade(make_class("ada", "[x]", "a,b"), course, tmp_path / "out")
    assert heard == dict.fromkeys(["[x]", "a,b", "ada"], ("W0.1", "W0.2"))
    assert set(marks(tmp_path / "out")) == {"ada", "[x]", "a,b"}
    for student, given in book(course).items():
        assert sum(given.values()) == pytest.approx(marks(tmp_path / "out")[student], abs=0.005)
    assert "3 submissions recorded" in outcome.gradebook and not outcome.changes
    assert (tmp_path / "out" / "students" / "ada.html").is_file()


def test_a_second_run_does_nothing_again_and_a_late_one_is_judged_alone(make_class, course, tmp_path):
    folder, out = make_class("ada", "ben"), tmp_path / "out"
    grade(folder, course, out)
    graded = course / "autograded" / "ada" / "W0" / "week00_start.ipynb"
    before = graded.stat().st_mtime_ns
    assert grade(folder, course, out)[1] == {"ada": (), "ben": ()}
    make_class("cyd")
    assert grade(folder, course, out)[1] == {"ada": (), "ben": (), "cyd": ("W0.1", "W0.2")}
    assert graded.stat().st_mtime_ns == before and set(book(course)) == {"ada", "ben", "cyd"}


def test_only_some_exercises_and_students(make_class, course, tmp_path):
    folder, out = make_class("ada", "ben", "a,b"), tmp_path / "out"
    outcome, heard = grade(folder, course, out, only=["W0.2"], students=["a,b", "ada,ben"])
    assert heard == dict.fromkeys(["a,b", "ada", "ben"], ("W0.2",))
    assert {v.exercise for row in outcome.rows for v in row.verdict.undecided} == {"W0.1"}
    assert book(course)["ada"]["W0-1"] is None and book(course)["ada"]["W0-2"] > 0
    outcome, heard = grade(folder, course, out, students=["ben"])
    assert heard == {"ben": ("W0.1",)} and len(outcome.rows) == 3
    with pytest.raises(CourseError, match="no submission of 'zoe'"):
        grade(folder, course, out, students=["ada,zoe"])
    with pytest.raises(CourseError, match=r"--only W1.1: W0 has no such exercise"):
        grade(folder, course, out, only=["W1.1"])


def test_changed_marks_are_told_with_the_reason_until_a_run_came_to_its_end(make_class, course, tmp_path):
    folder, out = make_class("ada", "ben"), tmp_path / "out"
    grade(folder, course, out)
    make_class("ben", extra="another answer")
    outcome, _ = grade(folder, course, out)
    assert {(c.student, c.exercise) for c in outcome.changes} == {("ben", "W0.1"), ("ben", "W0.2")}
    assert {c.why for c in outcome.changes} == {"the submission changed"}
    with open(out / "changes.csv", encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    assert float(rows[0]["after"]) == pytest.approx(book(course)["ben"]["W0-1"], abs=0.005)
    assert "Changed marks" in (out / "class.html").read_text(encoding="utf-8")
    assert not grade(folder, course, out)[0].changes


def test_a_changed_hidden_test_is_the_reason(make_class, course, tmp_path, monkeypatch):
    folder, out = make_class("ada"), tmp_path / "out"
    grade(folder, course, out)
    real = batch.sources_of

    def changed(week):
        sources = real(week)
        return replace(sources, tests={**sources.tests, "W0.2": "new"})

    monkeypatch.setattr(batch, "sources_of", changed)
    monkeypatch.setattr(fake_judge, "points", lambda *args: 0.125)
    outcome, heard = grade(folder, course, out)
    assert heard == {"ada": ("W0.2",)}
    assert [c.why for c in outcome.changes] == ["its hidden tests changed"] and outcome.changes[
        0
    ].after == 0.125


@pytest.mark.parametrize("failure", ["infrastructure", "harness", "exception", "unreadable", "gone"])
def test_a_failed_regrade_takes_no_mark_away(make_class, course, tmp_path, monkeypatch, failure):
    folder, out = make_class("ada", "ben"), tmp_path / "out"
    grade(folder, course, out)
    before, in_book, good = marks(out), book(course), fake_judge.judge

    def fails(notebook, week, student, secret, *, only, **options):
        if failure == "exception":
            raise ZeroDivisionError("a slip")
        given = fake_judge.SubmissionVerdict(student, week, ())
        return replace(
            given, verdicts=tuple(Verdict(e, f"{failure}_fault", None, 1.0, "no memory") for e in only)
        )

    if failure == "unreadable":
        (folder / "ada" / "w.ipynb").write_text("<html>Log in</html>")
    elif failure == "gone":
        (folder / "ada" / "w.ipynb").unlink()
    else:
        monkeypatch.setattr(fake_judge, "judge", fails)
    outcome, _ = grade(folder, course, out, force=True, students=["ada"])
    monkeypatch.setattr(fake_judge, "judge", good)
    assert marks(out) == before and book(course) == in_book and not outcome.changes
    verdict = next(row.verdict for row in outcome.rows if row.student == "ada")
    assert all(v.kept for v in verdict.verdicts)
    assert any("the mark of an earlier run was kept" in note for note in verdict.notes)
    make_class("ada")
    outcome, _ = grade(folder, course, out)
    assert marks(out) == before and not any(v.kept for row in outcome.rows for v in row.verdict.verdicts)


def test_a_fault_of_the_machine_is_tried_once_more_at_the_end(make_class, course, tmp_path, monkeypatch):
    asked = []
    good = fake_judge.judge

    def judge(notebook, week, student, secret, *, only, **options):
        asked.append(student)
        made = good(notebook, week, student, secret, only=only)
        if student == "ada" and asked.count("ada") < 4:
            faults = tuple(
                Verdict(v.exercise, "infrastructure_fault", None, 1.0, "busy") for v in made.verdicts
            )
            return replace(made, verdicts=faults)
        return made

    monkeypatch.setattr(fake_judge, "judge", judge)
    outcome, _ = grade(make_class("ada", "ben"), course, tmp_path / "out")
    assert asked == ["ada", "ada", "ben", "ada", "ada"]
    assert not any(row.verdict.undecided for row in outcome.rows)
    assert book(course)["ada"]["W0-1"] == points("ada", "W0.1", "hello_check = test_relu = 'ada'  # " * 2)


def test_two_commands_do_not_write_the_same_verdicts(make_class, course, tmp_path):
    with (
        open_journal(course / "verdicts" / "W0"),
        pytest.raises(CourseError, match="another command is grading"),
    ):
        grade(make_class("ada"), course, tmp_path / "out")


@pytest.mark.parametrize("force", [False, True])
def test_killed_at_any_moment_and_started_again_it_ends_as_if_undisturbed(
    make_class, course, tmp_path, force
):
    folder, out = make_class(12), tmp_path / "out"
    if force:
        run(folder, course, out)
    rng = random.Random(3)
    here = str(Path(__file__).parent)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([here, *filter(None, sys.path)])}
    arguments = [sys.executable, "-m", "fake_judge", str(folder), str(course), str(out), "0.05"]
    told: list[str] = []
    for attempt in range(3):
        command = subprocess.Popen(
            [*arguments, *(["--force"] if force else [])], env=env, stdout=subprocess.PIPE, text=True
        )
        for _ in range(3 * attempt + rng.randrange(2, 5)):
            told.append(command.stdout.readline())
        command.kill()
        command.communicate()
    last = subprocess.run(
        [*arguments, *(["--force"] if force else [])], env=env, capture_output=True, text=True, check=True
    )
    assert "the end" in last.stdout
    # What was told was on the disk: nobody is judged a second time after that.
    seen = [line.split()[0] for line in told if line.strip() and not line.endswith(" 0\n")]
    assert len(seen) == len(set(seen)) >= 6
    undisturbed = tmp_path / "undisturbed"
    run(folder, tmp_path / "other", undisturbed)
    assert marks(out) == marks(undisturbed) and len(marks(out)) == 12
    for student, given in book(course).items():
        assert sum(given.values()) == pytest.approx(marks(out)[student], abs=0.005)
    assert len(book(course)) == 12


@pytest.mark.slow
def test_a_thousand_submissions_take_bounded_descriptors_and_memory(make_class, course, tmp_path):
    folder = make_class(1000)
    process = psutil.Process()
    descriptors, memory = [], []

    def told(heard):
        descriptors.append(process.num_fds())
        memory.append(process.memory_info().rss)

    run(folder, course, tmp_path / "out", told)
    assert len(marks(tmp_path / "out")) == len(book(course)) == 1000
    assert max(descriptors) - descriptors[20] <= 5
    assert max(memory[200:]) - memory[200] < 64 * 2**20


def test_the_command_says_what_is_wrong_with_its_new_options(make_class, course, tmp_path, capsys):
    arguments = ["grade", "W0", "--submissions", str(make_class("ada")), "--course", str(course)]
    assert main([*arguments, "--scheduler", "tcp://127.0.0.1:1"]) == 2
    assert "no Dask scheduler answers at tcp://127.0.0.1:1" in capsys.readouterr().err
    (course / "grading.toml").write_text("[late]\nper_day = 3\n")
    assert main(arguments) == 2
    assert "there is no setting late.per_day" in capsys.readouterr().err
