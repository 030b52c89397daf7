"""A judge that decides by the student's id and code, at once; and the command that a test can kill."""

from __future__ import annotations

import sys
import time
from hashlib import sha256
from pathlib import Path

from autograde.grading import batch, one
from autograde.grading.batch import Heard, grade_class, plan
from autograde.grading.keys import Sources
from autograde.judge.limits import Limits
from autograde.judge.verdict import SubmissionVerdict, Verdict
from lmcourse import exercises as registry


def points(student: str, exercise: str, source: str = "") -> float:
    """In 0..1, the same at each run."""
    return sha256(f"{student} {exercise} {source}".encode()).digest()[0] / 255


def judge(notebook, week, student, secret, *, only, **options) -> SubmissionVerdict:
    """In place of `judge_notebook`."""
    own = "".join(c.source for c in notebook.cells if c.metadata.get("lmcourse", {}).get("role") == "answer")
    verdicts = []
    for e in registry.week(week).exercises:
        if e.id in only:
            share = points(student, e.id, own)
            verdicts.append(Verdict(e.id, "partly", share * e.points, float(e.points), "said in words"))
    return SubmissionVerdict(student, week, tuple(verdicts), wall_seconds=0.1, cpu_seconds=0.1)


def sources_of(week: str) -> Sources:
    """The same in every process, also while somebody works on the course."""
    return Sources("environment", {e.id: "tests" for e in registry.week(week).exercises})


def crew(tasks, seconds: float = 0.0):
    """In place of judge processes."""
    one.judge_notebook = judge
    for task in tasks:
        time.sleep(seconds)
        yield one.grade_one(task)


def run(folder: Path, course: Path, out: Path, told=lambda heard: None, seconds: float = 0.0, **options):
    made = plan("W0", folder, course, out, Limits(), **options)
    return grade_class(made, lambda tasks: crew(tasks, seconds), told)


def say(heard: Heard) -> None:
    print(f"{heard.verdict.student} {len(heard.judged)}", flush=True)


if __name__ == "__main__":
    folder, course, out, seconds, *rest = sys.argv[1:]
    batch.sources_of = sources_of
    run(Path(folder), Path(course), Path(out), say, float(seconds), force="--force" in rest)
    print("the end", flush=True)
