"""One submission through reading, judge and back. Runs in a judge process, here or on another machine.

It reads and writes no file of the course: what it needs comes with the task, and what it found goes back.
"""

from __future__ import annotations

import traceback
from dataclasses import dataclass, field, replace
from pathlib import Path

import torch
from nbformat import NotebookNode

from autograde.grading.keys import Parts, Sources, key_of, sources_of, verdict_parts
from autograde.grading.prints import fingerprints
from autograde.grading.store import Stored
from autograde.intake.gather import Gathered
from autograde.intake.submissions import Submission, choose
from autograde.judge.limits import Limits
from autograde.judge.seeds import exercise_seed
from autograde.judge.session import judge_notebook
from autograde.judge.verdict import FAULTS, SubmissionVerdict, Verdict, versions
from lmcourse import exercises as registry
from lmcourse.handin.master import Master
from lmcourse.handin.repair import repair

NOT_YET = "not judged yet: this run was for other exercises"


@dataclass(frozen=True)
class Task:
    """Everything that a judge process needs to know about one submission.

    `known` is what an earlier run decided, `force` to judge that again too, `only` the exercises to judge
    (all when empty). `sources` are those of whoever asks; when the judge is `remote`, they must be its own.
    """

    student: str
    gathered: Gathered
    week: str
    secret: str
    limits: Limits
    sources: Sources
    known: Stored | None = None
    force: bool = False
    only: frozenset[str] = frozenset()
    remote: bool = False


@dataclass(frozen=True)
class Graded:
    """The outcome: the notebook as handed in (None if unreadable), its verdict, and what was judged anew.

    `parts`, `digest`, `handed_in`, `source` and `prints` are as in `Stored`.
    """

    student: str
    notebook: NotebookNode | None
    verdict: SubmissionVerdict
    judged: tuple[str, ...] = ()
    parts: dict[str, Parts] = field(default_factory=dict)
    digest: str = ""
    handed_in: float = 0.0
    source: str = ""
    prints: dict[str, tuple[int, ...]] = field(default_factory=dict)


def grade_one(task: Task) -> Graded:
    """Grade one submission. Whatever goes wrong becomes a verdict; only the user can stop it."""
    torch.set_num_threads(1)
    if task.remote and task.sources != sources_of(task.week):
        message = "this judge has another version of the course or its libraries than the one that asks"
        return Graded(task.student, None, failed(task, "infrastructure_fault", message))
    try:
        submission = choose(task.student, task.gathered, registry.week(task.week))
        if submission.notebook is None:
            return Graded(task.student, None, _unreadable(submission, task))
        return _judge(task, submission)
    except Exception as error:
        message = f"{type(error).__name__}: {error}; {_place(error)}"
        return Graded(task.student, None, failed(task, "harness_fault", message))


def failed(task: Task, state: str, message: str) -> SubmissionVerdict:
    """A verdict for a submission that the grader could not judge: no points, to be looked at by a person."""
    week = registry.week(task.week)
    verdicts = tuple(_plain(e, state, None, message, task) for e in week.exercises)
    return SubmissionVerdict(task.student, week.id, verdicts, notes=(f"the grader failed: {message}",))


def _judge(task: Task, submission: Submission) -> Graded:
    master = Master.load(task.week)
    repaired = repair(submission.notebook, master)
    parts = verdict_parts(repaired.notebook, master, task.student, task.secret, task.limits, task.sources)
    known = _known(task, parts)
    stale = [e for e in parts if e not in known and (not task.only or e in task.only)]
    made = SubmissionVerdict(task.student, task.week, ())
    if stale:
        made = _judge_stale(task, submission.notebook, master, stale)
        known |= {v.exercise: v for v in made.verdicts}
    week = registry.week(task.week)
    verdicts = tuple(
        known.get(e.id) or _plain(e, "infrastructure_fault", None, NOT_YET, task) for e in week.exercises
    )
    if task.known is not None and len(stale) < len(verdicts):  # what the whole submission cost is known
        old = task.known.verdict
        made = replace(made, **{k: getattr(old, k) for k in ("wall_seconds", "cpu_seconds", "peak_bytes")})
        made = replace(made, notes=tuple(dict.fromkeys(old.notes + made.notes)) if stale else old.notes)
    verdict = replace(made, verdicts=verdicts, repairs=submission.remarks + repaired.repairs)
    return Graded(
        task.student,
        submission.notebook,
        verdict,
        tuple(stale),
        parts,
        submission.digest,
        submission.handed_in,
        submission.source,
        fingerprints(repaired.notebook, master),
    )


def _known(task: Task, parts: dict[str, Parts]) -> dict[str, Verdict]:
    """Exercises that need no judge: decided under the same key, or not asked for in this run.

    What is not asked for keeps its verdict, and `parts` what that one depended on.
    """
    if task.known is None:
        return {}
    known: dict[str, Verdict] = {}
    current = {v.exercise: v for v in task.known.verdict.verdicts if v.state not in FAULTS}
    for exercise, now in parts.items():
        asked = not task.only or exercise in task.only
        if (not task.force or not asked) and key_of(now) in task.known.decided:
            known[exercise] = task.known.decided[key_of(now)]
        elif not asked and exercise in current and exercise in task.known.parts:
            known[exercise] = current[exercise]
            parts[exercise] = task.known.parts[exercise]
    return known


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
    return replace(
        first,
        verdicts=verdicts,
        notes=first.notes + second.notes,
        wall_seconds=first.wall_seconds + second.wall_seconds,
        cpu_seconds=first.cpu_seconds + second.cpu_seconds,
        peak_bytes=max(first.peak_bytes, second.peak_bytes),
    )


def _unreadable(submission: Submission, task: Task) -> SubmissionVerdict:
    week = registry.week(task.week)
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
