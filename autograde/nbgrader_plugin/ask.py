"""The verdict for a notebook that nbgrader is grading: from the store, else from the judge, now."""

from __future__ import annotations

from dataclasses import replace

from nbformat import NotebookNode

from autograde.grading.keys import key_of, sources_of, verdict_parts
from autograde.grading.store import Store, Stored
from autograde.judge.limits import Limits
from autograde.judge.seeds import course_secret
from autograde.judge.session import judge_notebook
from autograde.judge.verdict import SubmissionVerdict
from autograde.nbgrader_plugin.course_root import CourseRoot
from lmcourse import exercises as registry
from lmcourse.handin.master import Master


def verdict_for(
    repaired: NotebookNode, student: str, week_id: str, course: CourseRoot, limits: Limits | None = None
) -> SubmissionVerdict:
    """All exercises of a repaired notebook.

    What `autograde grade` decided is not judged again, whatever limits it allowed. Marks that it kept because
    a later run failed stay kept. The store is only read: it is the command that fills it.
    """
    limits = limits or Limits()
    week = registry.week(week_id)
    master = Master.load(week.id, course.release(week).parent)
    secret = course_secret(course.path)
    stored = Store(course.verdicts(week)).load(student)
    parts = verdict_parts(repaired, master, student, secret, limits, sources_of(week.id))
    known = {} if stored is None else _known(stored, parts)
    stale = [exercise for exercise in parts if exercise not in known]
    if not stale:
        return replace(
            stored.verdict, verdicts=tuple(known[e] for e in parts), repairs=(), notes=(), problem=""
        )
    made = judge_notebook(repaired, week.id, student, secret, master=master, only=stale, limits=limits)
    known |= {v.exercise: v for v in made.verdicts}
    return replace(made, verdicts=tuple(known[e.id] for e in week.exercises))


def _known(stored: Stored, parts: dict[str, dict[str, str]]) -> dict:
    for exercise, own in parts.items():
        own["limits"] = stored.parts.get(exercise, {}).get("limits", own["limits"])
    known = {e: stored.decided[key_of(p)] for e, p in parts.items() if key_of(p) in stored.decided}
    kept = {v.exercise: v for v in stored.verdict.verdicts if v.kept}
    return {**known, **{e: v for e, v in kept.items() if e in parts}}
