"""One submission through intake, judge and store. Runs in a judge process."""

from __future__ import annotations

import traceback
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from nbformat import NotebookNode

from autograde.grading.keys import verdict_keys
from autograde.grading.store import Store, Stored
from autograde.intake.submissions import Submission, collect
from autograde.judge.limits import Limits
from autograde.judge.seeds import exercise_seed
from autograde.judge.session import judge_notebook
from autograde.judge.verdict import FAULTS, SubmissionVerdict, Verdict, versions
from lmcourse import exercises as registry
from lmcourse.handin.master import Master
from lmcourse.handin.repair import repair


@dataclass(frozen=True)
class Task:
    """Everything that a judge process needs to know about one submission."""

    student: str
    paths: tuple[Path, ...]
    week: str
    secret: str
    verdicts: Path
    limits: Limits
    force: bool = False


@dataclass(frozen=True)
class Graded:
    """The outcome: the notebook as handed in (None if unreadable), its verdict, and what was judged anew."""

    student: str
    notebook: NotebookNode | None
    verdict: SubmissionVerdict
    judged: tuple[str, ...] = ()


def grade_one(task: Task) -> Graded:
    """Grade one submission. Whatever goes wrong becomes a verdict; only the disk and the user can stop it."""
    torch.set_num_threads(1)
    store = Store(task.verdicts)
    week = registry.week(task.week)
    try:
        submission = collect(task.student, list(task.paths), week)
    except Exception as error:
        message = f"reading it failed: {type(error).__name__}: {error}; {_place(error)}"
        return Graded(task.student, None, failed(task, "harness_fault", message))
    if submission.notebook is None:
        graded = Graded(task.student, None, _unreadable(submission, week, task))
        store.save(task.student, Stored(graded.verdict))
        return graded
    try:
        return _judge(task, store, submission)
    except OSError:
        raise
    except Exception as error:
        verdict = failed(task, "harness_fault", f"{type(error).__name__}: {error}; {_place(error)}")
        return Graded(task.student, submission.notebook, verdict)


def failed(task: Task, state: str, message: str) -> SubmissionVerdict:
    """A verdict for a submission that the grader could not judge: no points, to be looked at by a person."""
    week = registry.week(task.week)
    verdicts = tuple(_plain(e, state, None, message, task) for e in week.exercises)
    return SubmissionVerdict(task.student, week.id, verdicts, notes=(f"the grader failed: {message}",))


def _judge(task: Task, store: Store, submission: Submission) -> Graded:
    master = Master.load(task.week)
    keys = verdict_keys(submission.notebook, master, task.student, task.secret, task.limits)
    old = None if task.force else store.load(task.student)
    known = _still_valid(old, keys)
    stale = [exercise for exercise in keys if exercise not in known]
    if not stale and old is not None:
        repairs = submission.remarks + repair(submission.notebook, master).repairs
        verdict = replace(old.verdict, repairs=repairs, problem="")
        return Graded(task.student, submission.notebook, verdict)
    verdict = _judge_stale(task, submission.notebook, master, stale)
    merged = {**known, **{v.exercise: v for v in verdict.verdicts}}
    verdict = replace(
        verdict,
        verdicts=tuple(merged[exercise] for exercise in keys),
        repairs=submission.remarks + verdict.repairs,
    )
    decided = {v.exercise: keys[v.exercise] for v in verdict.verdicts if v.state not in FAULTS}
    store.save(task.student, Stored(verdict, decided))
    return Graded(task.student, submission.notebook, verdict, tuple(stale))


def _still_valid(old: Stored | None, keys: dict[str, str]) -> dict[str, Verdict]:
    if old is None:
        return {}
    return {
        v.exercise: v for v in old.verdict.verdicts if old.keys.get(v.exercise) == keys.get(v.exercise, "")
    }


def _judge_stale(task: Task, notebook: NotebookNode, master: Master, stale: list[str]) -> SubmissionVerdict:
    """Judge; what failed for a reason outside the submission is judged a second time."""
    options = {"master": master, "limits": task.limits}
    first = judge_notebook(notebook, task.week, task.student, task.secret, only=stale, **options)
    again = [v.exercise for v in first.verdicts if v.state == "infrastructure_fault"]
    if not again:
        return first
    second = judge_notebook(notebook, task.week, task.student, task.secret, only=again, **options)
    better = {v.exercise: v for v in second.verdicts}
    verdicts = tuple(better.get(v.exercise, v) for v in first.verdicts)
    return replace(first, verdicts=verdicts, notes=first.notes + second.notes)


def _unreadable(submission: Submission, week: registry.Week, task: Task) -> SubmissionVerdict:
    state = "not_attempted" if submission.nothing else "not_run"
    verdicts = tuple(_plain(e, state, 0.0, submission.problem, task) for e in week.exercises)
    return SubmissionVerdict(submission.student, week.id, verdicts, problem=submission.problem)


def _plain(
    exercise: registry.Exercise, state: str, points: float | None, message: str, task: Task
) -> Verdict:
    return Verdict(
        exercise.id,
        state,
        points,
        float(exercise.points),
        message,
        seed=exercise_seed(task.secret, task.student, exercise.id),
        versions=versions(),
    )


def _place(error: Exception) -> str:
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{Path(frame.filename).name}, line {frame.lineno}"
