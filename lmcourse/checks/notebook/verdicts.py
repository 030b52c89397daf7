"""From a run to what the terminal says: one line an exercise, then the cells that need attention."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lmcourse.checks.notebook.cells import CourseCell
from lmcourse.checks.notebook.integrity import Integrity
from lmcourse.checks.notebook.run import DEADLY, DONE, ENDLESS, NotebookRun
from lmcourse.checks.notebook.run import FAILED as CELL_FAILED
from lmcourse.checks.rows import ERROR, NOT_CHECKED, NOT_STARTED, PASSED
from lmcourse.exercises import Exercise

SLOW_SECONDS = 20.0
_SLOWEST = 3
_WORTH_NAMING = 0.5


@dataclass(frozen=True)
class ExerciseVerdict:
    """State of one exercise (a word of `lmcourse.checks.rows`) and a message; `has_check` is False where the
    exercise has no public check at all."""

    exercise: Exercise
    state: str
    message: str
    has_check: bool = True


@dataclass(frozen=True)
class NotebookVerdict:
    """All that `lmcourse check` says about a notebook."""

    exercises: tuple[ExerciseVerdict, ...]
    run: NotebookRun
    integrity: Integrity
    slow_seconds: float = SLOW_SECONDS

    @property
    def passed(self) -> bool:
        """Every public check passed, every cell ran to its end, and the notebook is as it was released."""
        return (
            all(verdict.state == PASSED or not verdict.has_check for verdict in self.exercises)
            and all(run.state == DONE for run in self.run.runs)
            and not self.run.stopped
            and self.integrity.intact
        )

    def lines(self) -> Iterator[str]:
        """The text for the terminal."""
        width = max(len(v.exercise.title) for v in self.exercises)
        for verdict in self.exercises:
            head = f"{verdict.exercise.id:<6}{verdict.exercise.title:<{width}}  {verdict.state:<12}"
            yield f"{head}{verdict.message}".rstrip()
        for title, entries in self._sections():
            if entries:
                yield f"\n{title}:"
                yield from (f"  {entry}" for entry in entries)
        checked = [v for v in self.exercises if v.has_check]
        count = sum(v.state == PASSED for v in checked)
        noun = "exercise passes its" if len(checked) == 1 else "exercises pass their"
        yield f"\n{count} of {len(checked)} {noun} public checks. More checks run when you hand in."

    def _sections(self) -> Iterator[tuple[str, Sequence[str]]]:
        runs = self.run.runs
        yield "Stopped early", [self.run.stopped] if self.run.stopped else []
        yield (
            "Cells that failed",
            [f"{r.cell.label}, {r.message}" for r in runs if r.state in (CELL_FAILED, DEADLY)],
        )
        yield "Cells that never ended", [f"{r.cell.label}, {r.message}" for r in runs if r.state == ENDLESS]
        yield "Locked, but changed (restore them before handing in)", self.integrity.edited
        yield "Deleted (restore them before handing in)", self.integrity.deleted
        yield "Copied (keep one of each)", self.integrity.copied
        lost = "no cell carries the marks that grading goes by; an editor or a converter has dropped them"
        yield "Lost marks", [lost] if self.integrity.marks_lost else []
        yield "Slowest cells", self._slow()

    def _slow(self) -> list[str]:
        ended = (r for r in self.run.runs if r.state != ENDLESS and r.seconds >= _WORTH_NAMING)
        by_time = sorted(ended, key=lambda r: -r.seconds)
        slow = [r for i, r in enumerate(by_time) if i < _SLOWEST or r.seconds > self.slow_seconds]
        return [
            f"{r.cell.label}, {r.seconds:.1f} s"
            + (f", longer than {self.slow_seconds:g} s" if r.seconds > self.slow_seconds else "")
            for r in slow
        ]


def judge(
    run: NotebookRun,
    exercises: Sequence[Exercise],
    cells: Sequence[CourseCell],
    integrity: Integrity,
    slow_seconds: float = SLOW_SECONDS,
) -> NotebookVerdict:
    """The verdict from a finished run."""
    verdicts = tuple(_exercise_verdict(exercise, run, cells) for exercise in exercises)
    return NotebookVerdict(verdicts, run, integrity, slow_seconds)


def _exercise_verdict(exercise: Exercise, run: NotebookRun, cells: Sequence[CourseCell]) -> ExerciseVerdict:
    report = run.reports.get(exercise.id)
    if report is None:
        return ExerciseVerdict(exercise, NOT_CHECKED, run.stopped or "its check gave no result")
    if not report["checks"]:
        return ExerciseVerdict(exercise, NOT_CHECKED, report["summary"], has_check=False)
    state, message = report["state"], report["reason"]
    if state == PASSED:
        return ExerciseVerdict(exercise, PASSED, f"{report['passed']} of {report['checks']} public checks")
    if state == NOT_STARTED:
        answers = [r for r in run.runs if r.cell.exercise == exercise.id and r.cell.role == "answer"]
        broken = next((r for r in answers if r.state != DONE), None)
        if broken is not None:
            return ExerciseVerdict(exercise, ERROR, f"its answer cell did not run: {broken.message}")
        if not any(cell.exercise == exercise.id and cell.role == "answer" for cell in cells):
            message = "its answer cell is gone"
    return ExerciseVerdict(exercise, state, message)
