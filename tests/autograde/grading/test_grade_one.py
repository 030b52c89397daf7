"""One submission from folder to store, with the toy week in place of W1."""

import nbformat
import pytest
import small_course

from autograde.grading import keys as keys_module
from autograde.grading import one
from autograde.grading.store import Store
from autograde.judge import session
from autograde.judge.limits import Limits
from autograde.judge.verdict import SubmissionVerdict, Verdict
from autograde.project import PROJECT

MASTER = small_course.master()


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
        return SubmissionVerdict(student, week, verdicts, repairs=("something was repaired",))

    monkeypatch.setattr(one, "judge_notebook", judge)
    return asked


def task(tmp_path, notebook, **options):
    folder = tmp_path / "in" / "ada"
    folder.mkdir(parents=True, exist_ok=True)
    text = notebook if isinstance(notebook, str) else nbformat.writes(notebook)
    (folder / "w.ipynb").write_text(text, encoding="utf-8")
    return one.Task("ada", (folder,), "W1", "s", tmp_path / "verdicts", Limits(), **options)


ALL = [e.id for e in small_course.WEEK.exercises]


def test_what_did_not_change_is_not_judged_again(tmp_path, judged):
    notebook = small_course.submission()
    first = one.grade_one(task(tmp_path, notebook))
    assert judged == [ALL] and first.judged == tuple(ALL)
    notebook.cells[1].source += " (the student wrote into the text)"
    notebook.cells[3].source = "check('W1.1')  # again"
    again = one.grade_one(task(tmp_path, notebook))
    assert judged == [ALL] and again.judged == () and again.verdict.points == first.verdict.points
    one.grade_one(task(tmp_path, notebook, force=True))
    assert judged == [ALL, ALL]


def test_a_changed_cell_or_secret_is_judged_again(tmp_path, judged):
    one.grade_one(task(tmp_path, small_course.submission()))
    one.grade_one(task(tmp_path, small_course.submission(W1_3="def pack(x): return x")))
    assert len(judged) == 2
    other = task(tmp_path, small_course.submission(W1_3="def pack(x): return x"))
    one.grade_one(one.replace(other, secret="t"))
    assert judged == [ALL, ALL, ALL]


def test_a_changed_hidden_test_reruns_its_own_exercise_only(tmp_path, judged, monkeypatch):
    one.grade_one(task(tmp_path, small_course.submission()))
    changed = PROJECT / "autograde" / "weeks" / "week01" / "w1_4.py"
    original = keys_module.source_hash

    def source_hash(path):
        return "new" if path == changed else original(path)

    monkeypatch.setattr(keys_module, "source_hash", source_hash)
    graded = one.grade_one(task(tmp_path, small_course.submission()))
    assert judged == [ALL, ["W1.4"]]
    assert [v.exercise for v in graded.verdict.verdicts] == ALL


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
    again = one.grade_one(task(tmp_path, small_course.submission()))
    assert asked[2] == ["W1.3"] and asked[3] == ["W1.3"]
    assert not again.verdict.undecided and again.verdict.points == 8.0


def test_a_grader_that_fails_scores_nobody_zero(tmp_path, monkeypatch):
    def judge(*args, **options):
        raise ZeroDivisionError("a slip of the grader")

    monkeypatch.setattr(one, "judge_notebook", judge)
    graded = one.grade_one(task(tmp_path, small_course.submission()))
    assert {v.state for v in graded.verdict.verdicts} == {"harness_fault"}
    assert "a slip of the grader" in graded.verdict.notes[0]
    assert Store(tmp_path / "verdicts").load("ada") is None


def test_a_submission_that_cannot_even_be_read_stops_no_class(tmp_path, monkeypatch):
    def collect(*args):
        raise RecursionError("a slip of the reader")

    monkeypatch.setattr(one, "collect", collect)
    graded = one.grade_one(task(tmp_path, small_course.submission()))
    assert {v.state for v in graded.verdict.verdicts} == {"harness_fault"} and graded.notebook is None
    assert "a slip of the reader" in graded.verdict.notes[0]


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
    graded = one.grade_one(given)
    assert judged == [] and graded.notebook is None and words in graded.verdict.problem
    assert {v.state for v in graded.verdict.verdicts} == {state} and graded.verdict.points == 0.0
    (tmp_path / "in" / "ada" / "w.ipynb").write_text(nbformat.writes(small_course.submission()))
    better = one.grade_one(given)
    assert judged == [ALL] and not better.verdict.problem


def test_a_submission_is_judged_for_real_and_stored(tmp_path):
    graded = one.grade_one(task(tmp_path, small_course.submission(W1_3="def pack(x):\n    return x - 3")))
    assert graded.verdict.verdict("W1.3").points == 3.0
    assert Store(tmp_path / "verdicts").load("ada").verdict == graded.verdict
