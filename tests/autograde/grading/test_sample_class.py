"""The committed sample class, graded as an instructor would, with judge processes and workers."""

import csv
import shutil

import pytest

from autograde.cli.main import main
from autograde.grading import sample_class
from autograde.grading.store import Store
from lmcourse import exercises as registry

WEEK = registry.week("W1")
FULL = {e.id: ("right", float(e.points)) for e in WEEK.exercises}
UNTRIED = dict.fromkeys(FULL, ("not_attempted", 0.0))

EXPECTED = {
    "ada": FULL,
    "ben": {**FULL, "W1.1": ("partly", 4.0)},
    "chloe": {**FULL, "W1.4": ("partly", 3.0)},
    "dmitri": {**FULL, "W1.7": ("partly", 24 * 10 / 19)},
    "eva": {**UNTRIED, **{e: FULL[e] for e in sample_class.HALF}},
    "mallory": {
        "W1.1": ("wrong", 0.0),
        "W1.2": ("student_error", 0.0),
        "W1.3": ("student_error", 0.0),
        "W1.4": ("forbidden", 0.0),
        "W1.5": ("student_error", 0.0),
        "W1.6": ("student_error", 0.0),
        "W1.7": ("wrong", 0.0),
        "W1.8": ("student_error", 0.0),
    },
    "petr": dict.fromkeys(FULL, ("not_run", 0.0)),
    "zeno": {**FULL, "W1.2": ("time_out", 0.0), "W1.6": ("time_out", 0.0)},
}

REASONS = {
    ("ben", "W1.1"): "last possible start is never drawn",
    ("chloe", "W1.4"): "no token sees itself",
    ("dmitri", "W1.7"): "finds 10 of 19",
    ("mallory", "W1.4"): "the grader's own channel",
    ("mallory", "W1.5"): "ended the whole Python process",
    ("petr", "W1.1"): "web page",
    ("zeno", "W1.2"): "the answer cell ran longer than 5 s",
    ("zeno", "W1.6"): "`ffd_pack` ran longer than 5 s",
}


def grade(out, course, *options):
    arguments = ["grade", "W1", "--submissions", str(sample_class.FOLDER / "W1"), "--time-limit", "5"]
    return main([*arguments, "--out", str(out), "--course", str(course), *options])


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    folder = tmp_path_factory.mktemp("graded")
    assert grade(folder / "out", folder / "course", "--jobs", "2") == 0
    return folder


def test_the_committed_class_is_what_the_script_makes(tmp_path):
    made = {p.relative_to(tmp_path): p.read_bytes() for p in sample_class.write(tmp_path)}
    committed = {
        p.relative_to(sample_class.FOLDER): p.read_bytes()
        for p in (sample_class.FOLDER / "W1").rglob("*")
        if p.is_file()
    }
    assert made == committed, "run `python -m autograde.grading.sample_class` after `autograde build`"


@pytest.mark.slow
@pytest.mark.parametrize("student", EXPECTED)
def test_every_exercise_has_the_state_and_the_points_it_should(graded, student):
    expected = EXPECTED[student]
    verdict = Store(graded / "course" / "verdicts" / "W1").load(student).verdict
    assert {v.exercise: v.state for v in verdict.verdicts} == {e: state for e, (state, _) in expected.items()}
    for v in verdict.verdicts:
        assert v.points == pytest.approx(expected[v.exercise][1]), (v.exercise, v.message)


@pytest.mark.slow
@pytest.mark.parametrize(("student", "exercise"), REASONS)
def test_the_reason_is_said_in_words(graded, student, exercise):
    verdict = Store(graded / "course" / "verdicts" / "W1").load(student).verdict.verdict(exercise)
    assert REASONS[student, exercise] in verdict.message


@pytest.mark.slow
def test_reports_and_marks_are_there_and_nothing_hidden_is_in_them(graded):
    out = graded / "out"
    with open(out / "marks.csv", encoding="utf-8-sig", newline="") as file:
        marks = {row["student"]: float(row["points"]) for row in csv.DictReader(file)}
    for student, expected in EXPECTED.items():
        assert marks[student] == pytest.approx(sum(points for _, points in expected.values()), abs=0.01)
        page = (out / "students" / f"{student}.html").read_text(encoding="utf-8")
        assert "HiddenExercise" not in page and "autograde/weeks" not in page and "<script" not in page
    assert "last start never" in (out / "class.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_second_run_judges_nothing_again_and_says_the_same(graded, capsys, tmp_path):
    out = tmp_path / "out"
    shutil.copytree(graded, tmp_path, dirs_exist_ok=True)
    before = (out / "marks.csv").read_bytes()
    assert grade(out, tmp_path / "course", "--jobs", "1") == 0
    said = capsys.readouterr().out
    assert "(judged)" not in said and said.count("(unchanged)") == len(EXPECTED) - 1
    assert "gradebook: skipped" in said
    assert (out / "marks.csv").read_bytes() == before
