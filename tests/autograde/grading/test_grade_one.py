"""One submission from its files to its outcome, with the toy week in place of W1."""

from dataclasses import replace

import nbformat
import pytest
import small_course

from autograde.grading import one
from autograde.grading.keys import Sources
from autograde.grading.settle import settle
from autograde.intake.gather import gather
from autograde.judge import session
from autograde.judge.limits import Limits
from autograde.judge.verdict import SubmissionVerdict, Verdict

MASTER = small_course.master()
ALL = [e.id for e in small_course.WEEK.exercises]
SOURCES = Sources("environment", {e: "tests" for e in ALL})


@pytest.fixture(autouse=True)
def toy_week(monkeypatch):
    exercises = small_course.hidden_exercises()
    monkeypatch.setattr(one.Master, "load", lambda week: MASTER)
    monkeypatch.setattr(session, "hidden", exercises.__getitem__)


@pytest.fixture
def judged(monkeypatch):
    """Counts what the judge is asked, and answers without a worker."""
    asked = []

    def judge(notebook, week, student, secret, *, only, **options):
        asked.append(list(only))
        verdicts = tuple(
            Verdict(e.id, "right", float(e.points), float(e.points))
            for e in small_course.WEEK.exercises
            if e.id in only
        )
        return SubmissionVerdict(student, week, verdicts, cpu_seconds=float(len(only)))

    monkeypatch.setattr(one, "judge_notebook", judge)
    return asked


def task(tmp_path, notebook, known=None, **options):
    folder = tmp_path / "in" / "ada"
    folder.mkdir(parents=True, exist_ok=True)
    text = notebook if isinstance(notebook, str) else nbformat.writes(notebook)
    (folder / "w.ipynb").write_text(text, encoding="utf-8")
    options = {"sources": SOURCES, **options}
    return one.Task("ada", gather("ada", [folder]), "W1", "s", Limits(), known=known, **options)


def stored(graded, earlier=None):
    return settle(graded, earlier)[0]


def test_what_did_not_change_is_not_judged_again(tmp_path, judged):
    notebook = small_course.submission()
    first = one.grade_one(task(tmp_path, notebook))
    assert judged == [ALL] and first.judged == tuple(ALL)
    notebook.cells[1].source += " (the student wrote into the text)"
    notebook.cells[3].source = "check('W1.1')  # again"
    known = stored(first)
    again = one.grade_one(task(tmp_path, notebook, known))
    assert judged == [ALL] and again.judged == () and again.verdict.verdicts == first.verdict.verdicts
    assert again.verdict.cpu_seconds == first.verdict.cpu_seconds
    one.grade_one(task(tmp_path, notebook, known, force=True))
    assert judged == [ALL, ALL]


def test_a_changed_cell_is_judged_again_from_there_on(tmp_path, judged):
    first = stored(one.grade_one(task(tmp_path, small_course.submission())))
    other = small_course.submission(W1_3="def pack(x): return x")
    second = one.grade_one(task(tmp_path, other, first))
    assert judged == [ALL, ALL[2:]]
    one.grade_one(task(tmp_path, small_course.submission(), stored(second, first)))
    assert len(judged) == 2, "the first answers are known"


@pytest.mark.parametrize("what", ["secret", "environment", "limits"])
def test_what_decides_every_verdict_reruns_all(tmp_path, judged, what):
    known = stored(one.grade_one(task(tmp_path, small_course.submission())))
    other = task(tmp_path, small_course.submission(), known)
    changed = {
        "secret": {"secret": "t"},
        "environment": {"sources": Sources("new", SOURCES.tests)},
        "limits": {"limits": Limits(cell_seconds=1)},
    }
    one.grade_one(replace(other, **changed[what]))
    assert judged == [ALL, ALL]


def test_a_changed_hidden_test_reruns_its_own_exercise_only(tmp_path, judged):
    known = stored(one.grade_one(task(tmp_path, small_course.submission())))
    sources = Sources("environment", {**SOURCES.tests, "W1.4": "new"})
    graded = one.grade_one(task(tmp_path, small_course.submission(), known, sources=sources))
    assert judged == [ALL, ["W1.4"]]
    assert [v.exercise for v in graded.verdict.verdicts] == ALL
    one.grade_one(task(tmp_path, small_course.submission(), stored(graded, known)))
    assert judged == [ALL, ["W1.4"]], "with the old test back, the old verdict is there again"


def test_only_some_exercises_are_judged_and_the_others_keep_what_they_have(tmp_path, judged):
    first = one.grade_one(task(tmp_path, small_course.submission(), only=frozenset({"W1.4"})))
    assert judged == [["W1.4"]] and first.verdict.points == 14
    assert {v.message for v in first.verdict.undecided} == {one.NOT_YET}
    known = stored(first)
    rest = one.grade_one(task(tmp_path, small_course.submission(), known))
    assert judged[1] == [e for e in ALL if e != "W1.4"] and not rest.verdict.undecided
    other = small_course.submission(W1_1="def sample_windows(x): return x")
    known = stored(rest, known)
    again = one.grade_one(task(tmp_path, other, known, only=frozenset({"W1.4"}), force=True))
    assert judged[2] == ["W1.4"] and again.verdict.points == 90
    assert again.parts["W1.1"] == known.parts["W1.1"], "it has to be judged in the next full run"


def test_another_machine_with_another_course_judges_nothing(tmp_path, judged):
    graded = one.grade_one(task(tmp_path, small_course.submission(), remote=True))
    assert judged == [] and {v.state for v in graded.verdict.verdicts} == {"infrastructure_fault"}
    assert "another version" in graded.verdict.verdicts[0].message


def test_a_fault_of_the_machine_is_tried_again_and_then_kept_for_the_next_run(tmp_path, monkeypatch):
    asked = []

    def judge(notebook, week, student, secret, *, only, **options):
        asked.append(list(only))
        bad = "W1.2" if len(asked) == 1 else "W1.3" if len(asked) < 4 else ""
        verdicts = tuple(
            Verdict(e, "infrastructure_fault", None, 8.0) if e in ("W1.2", "W1.3") and e >= bad > ""
            else Verdict(e, "right", 1.0, 8.0)
            for e in only
        )  # fmt: skip
        return SubmissionVerdict(student, week, verdicts)

    monkeypatch.setattr(one, "judge_notebook", judge)
    first = one.grade_one(task(tmp_path, small_course.submission()))
    assert asked == [ALL, ["W1.2", "W1.3"]]
    assert [v.exercise for v in first.verdict.undecided] == ["W1.3"]
    again = one.grade_one(task(tmp_path, small_course.submission(), stored(first)))
    assert asked[2] == ["W1.3"] and asked[3] == ["W1.3"]
    assert not again.verdict.undecided and again.verdict.points == 8.0


@pytest.mark.parametrize("broken", ["judge_notebook", "choose", "repair", "verdict_parts"])
def test_a_grader_that_fails_scores_nobody_zero(tmp_path, monkeypatch, broken):
    def fail(*args, **options):
        raise RecursionError("a slip of the grader")

    monkeypatch.setattr(one, broken, fail)
    graded = one.grade_one(task(tmp_path, small_course.submission()))
    assert {v.state for v in graded.verdict.verdicts} == {"harness_fault"} and graded.verdict.points == 0
    assert all(v.points is None for v in graded.verdict.verdicts)
    assert "a slip of the grader" in graded.verdict.notes[0]


@pytest.mark.parametrize(
    ("content", "state", "words"),
    [
        ("<html></html>", "not_run", "web page"),
        ("", "not_run", "is empty"),
        (None, "not_attempted", "nothing was"),
    ],
)
def test_what_cannot_be_read_gets_a_row(tmp_path, judged, content, state, words):
    given = task(tmp_path, content or "")
    if content is None:
        (tmp_path / "in" / "ada" / "w.ipynb").unlink()
        given = replace(given, gathered=gather("ada", [tmp_path / "in" / "ada"]))
    graded = one.grade_one(given)
    assert judged == [] and graded.notebook is None and words in graded.verdict.problem
    assert {v.state for v in graded.verdict.verdicts} == {state} and graded.verdict.points == 0.0
    better = one.grade_one(task(tmp_path, small_course.submission(), stored(graded)))
    assert judged == [ALL] and not better.verdict.problem


def test_a_submission_is_judged_for_real(tmp_path):
    graded = one.grade_one(task(tmp_path, small_course.submission(W1_3="def pack(x):\n    return x - 3")))
    assert graded.verdict.verdict("W1.3").points == 3.0
    assert graded.verdict.points == 90 - 9 and graded.prints["W1.7"]
