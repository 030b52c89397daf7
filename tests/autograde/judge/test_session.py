"""Whole submissions to the toy week of `small_course`, in real workers."""

import nbformat
import psutil
import pytest
import small_course

from autograde.judge import session as session_module
from autograde.judge.limits import Limits
from autograde.judge.session import judge_notebook

EXERCISES = small_course.hidden_exercises()
MASTER = small_course.master()
LIMITS = Limits(cell_seconds=1.5, patience=20)


def judge(notebook, **options):
    options = {"master": MASTER, "exercises": EXERCISES, "limits": LIMITS, **options}
    return judge_notebook(notebook, "W1", "ada", "secret", **options)


def outcome(verdict):
    return {v.exercise: (v.state, v.points) for v in verdict.verdicts}


@pytest.fixture(scope="module")
def right():
    return judge(small_course.submission())


def test_a_right_submission_gets_everything(right):
    assert {v.state for v in right.verdicts} == {"right"}
    assert right.points == right.max_points == sum(e.points for e in small_course.WEEK.exercises)
    assert not right.repairs and not right.notes and not right.problem
    isolation = right.verdicts[0].isolation
    assert {v.isolation for v in right.verdicts} == {isolation}
    assert isolation.startswith("process") and "limits" in isolation
    assert right.cpu_seconds > 0 and right.peak_bytes > 50e6


def test_a_regrade_is_identical_but_for_the_cost(right):
    again = judge(small_course.submission())
    assert [(v.state, v.points, v.seed) for v in again.verdicts] == [
        (v.state, v.points, v.seed) for v in right.verdicts
    ]


@pytest.fixture(scope="module")
def mixed():
    """An untouched stub, a wrong answer, and four ways of not coming back."""
    return judge(
        small_course.submission(
            W1_1=None,
            W1_2="def split_tail(x):\n    return x - 2\noverlap_share = 0.75",
            W1_3="def pack(x):\n    while True:\n        pass",
            W1_4="import os\nos._exit(3)",
            W1_5="while True:\n    pass",
            W1_6="def ffd_pack(x):\n    import ctypes\n    ctypes.string_at(0)",
            W1_8="leak = {'a': 1}\nthis is no Python",
        )
    )


@pytest.mark.parametrize(
    ("exercise", "state", "points", "words"),
    [
        ("W1.1", "not_attempted", 0, "as it was handed out"),
        ("W1.2", "partly", 3, "You subtract 2."),
        ("W1.3", "time_out", 0, "`pack` ran longer than 1 s"),
        ("W1.4", "student_error", 0, "the answer cell ended the whole Python process"),
        ("W1.5", "time_out", 0, "the answer cell ran longer than 1.5 s"),
        ("W1.6", "student_error", 0, "SIGSEGV"),
        ("W1.7", "right", 24, ""),
        ("W1.8", "student_error", 0, "invalid syntax"),
    ],
)
def test_each_failure_costs_its_own_exercise_only(mixed, exercise, state, points, words):
    verdict = mixed.verdict(exercise)
    assert (verdict.state, verdict.points) == (state, points) and words in verdict.message


def test_nothing_is_left_running_and_no_folder_is_left(mixed, tmp_path_factory):
    children = psutil.Process().children(recursive=True)
    assert not [c for c in children if "worker.main" in " ".join(c.cmdline())]


@pytest.fixture(scope="module")
def unusual():
    """Answers that are fine although the notebook is not as it was handed out."""
    notebook = small_course.submission(W1_2=None, W1_3="def pack(x):\n    return HELPER + x\nassert False")
    own = [
        nbformat.v4.new_code_cell("HELPER = 3"),
        nbformat.v4.new_code_cell("1 / 0"),
        nbformat.v4.new_code_cell("while True:\n    pass"),
        nbformat.v4.new_code_cell("t = x = answer = exercise = result = 5"),
        nbformat.v4.new_code_cell("print('text', file=__import__('sys').stderr)"),
    ]
    notebook.cells[1:1] = own
    elsewhere = nbformat.v4.new_code_cell("def split_tail(x):\n    return x + 2\noverlap_share = 0.75")
    stub = next(i for i, c in enumerate(notebook.cells) if c.get("id") == "w1-2-answer")
    notebook.cells.insert(stub + 1, elsewhere)
    notebook.cells.append(nbformat.v4.new_code_cell("def pack(x):\n    return 'reused later'"))
    notebook.cells.append(nbformat.v4.new_code_cell("import os\nos._exit(1)"))
    return judge(notebook)


def test_the_students_own_cells_run_and_cost_nothing(unusual):
    assert {v.state for v in unusual.verdicts} == {"right"}, [v.message for v in unusual.verdicts]
    assert any("ZeroDivisionError" in note for note in unusual.notes)
    assert any("ran longer than 1.5 s" in note and "skipped" in note for note in unusual.notes)


def test_only_what_is_asked_for_is_judged_and_a_missing_hidden_side_is_a_fault():
    exercises = {k: v for k, v in EXERCISES.items() if k != "W1.1"}
    verdict = judge(small_course.submission(), exercises=exercises, only=["W1.1", "W1.2"])
    assert outcome(verdict) == {"W1.1": ("harness_fault", None), "W1.2": ("right", 6.0)}
    assert [v.exercise for v in verdict.undecided] == ["W1.1"]


def test_a_worker_that_does_not_start_scores_nobody_zero(monkeypatch):
    def cannot_start(limits):
        from autograde.judge.ended import AnswerEnded

        raise AnswerEnded("infrastructure_fault", "no memory for a process")

    monkeypatch.setattr(session_module, "RemoteWorker", cannot_start)
    verdict = judge(small_course.submission(W1_2=None))
    assert {v.state for v in verdict.verdicts if v.exercise != "W1.2"} == {"infrastructure_fault"}
    assert {v.points for v in verdict.undecided} == {None} and verdict.verdict("W1.2").points == 0.0


def test_when_an_earlier_cell_kills_every_replay_the_rest_is_not_run(monkeypatch):
    """A cell that lets its first run pass and ends the process whenever it runs again."""

    class Replayed(session_module.RemoteWorker):
        count = 0

        def run_cell(self, source):
            if "HELPER" in source:
                Replayed.count += 1
                source = "import os\nos._exit(1)" if Replayed.count > 1 else source
            return super().run_cell(source)

    monkeypatch.setattr(session_module, "RemoteWorker", Replayed)
    notebook = small_course.submission(W1_2="import os\nos._exit(2)")
    notebook.cells.insert(1, nbformat.v4.new_code_cell("HELPER = 1"))
    states = outcome(verdict := judge(notebook))
    assert states["W1.1"] == ("right", 8.0) and states["W1.2"] == ("student_error", 0.0)
    assert {state for exercise, (state, _) in states.items() if exercise > "W1.2"} == {"not_run"}
    assert "an earlier cell, run again" in verdict.verdict("W1.3").message
