"""One submission from its first cell to its last verdict.

Cells run in order in one worker. At each exercise's grade cell the exercise is judged against the state at
that point. Student code that kills its worker or takes too long costs the exercise that it belongs to: a new
worker replays the cells that were good and goes on behind the guilty one.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from dataclasses import replace

from nbformat import NotebookNode

from autograde.exercise import HiddenExercise
from autograde.judge.ended import AnswerEnded
from autograde.judge.limits import Limits
from autograde.judge.on_demand import ON_DEMAND, OnDemand
from autograde.judge.remote import RemoteAnswer, RemoteWorker
from autograde.judge.score import score
from autograde.judge.seeds import exercise_seed
from autograde.judge.verdict import SubmissionVerdict, Verdict, versions
from autograde.weeks import hidden
from lmcourse import exercises as registry
from lmcourse.handin.master import Master
from lmcourse.handin.repair import repair
from lmcourse.handin.untouched import untouched

NOT_RUN = ("predict", "check")  # they ask and tell; nothing that an answer could need comes from them
NO_GRADE_CELL = "the notebook has no grade cell for this exercise"
SPARE_DEATHS = 3  # beyond one for each exercise; then what is left is not run


def judge_notebook(
    notebook: NotebookNode,
    week_id: str,
    student: str,
    secret: str,
    *,
    master: Master | None = None,
    exercises: Mapping[str, HiddenExercise] | None = None,
    only: Collection[str] | None = None,
    limits: Limits | None = None,
) -> SubmissionVerdict:
    """Repair a submission, run it, and judge every exercise of the week.

    Args:
        notebook: as `lmcourse.handin.read.read_notebook` gives it.
        secret: the course secret; with student and exercise it decides the hidden data.
        master: the released notebook; by default the committed one.
        exercises: hidden sides by id; by default those of `autograde.weeks`.
        only: judge these exercises and leave the others out of the result.

    Raises:
        CourseError: there is no such week, or its master is missing.
    """
    week = registry.week(week_id)
    master = master or Master.load(week.id)
    repaired = repair(notebook, master)
    session = _Session(student, secret, master, exercises, limits or Limits())
    wanted = [e for e in week.exercises if only is None or e.id in only]
    started = time.monotonic()
    try:
        verdicts = session.run(repaired.notebook, wanted)
    finally:
        session.close()
    return SubmissionVerdict(
        student,
        week.id,
        verdicts,
        repairs=repaired.repairs,
        notes=tuple(session.notes),
        wall_seconds=time.monotonic() - started,
        cpu_seconds=session.cpu_seconds,
        peak_bytes=session.peak_bytes,
    )


class _Session:
    def __init__(
        self,
        student: str,
        secret: str,
        master: Master,
        exercises: Mapping[str, HiddenExercise] | None,
        limits: Limits,
    ) -> None:
        self.student = student
        self.secret = secret
        self.master = master
        self.exercises = exercises
        self.limits = limits
        self.worker: RemoteWorker | None = None
        self.done: list[NotebookNode] = []  # cells to replay in a new worker
        self.errors: dict[str, str] = {}  # exercise -> the error that stopped its answer cell
        self.guilty: dict[str, AnswerEnded] = {}  # exercise -> how its answer cell ended the worker
        self.hopeless: AnswerEnded | None = None
        self.deaths = 0
        self.notes: list[str] = []
        self.on_demand = OnDemand()
        self.cpu_seconds = 0.0
        self.peak_bytes = 0
        self.isolation = "process"

    def run(self, notebook: NotebookNode, wanted: list[registry.Exercise]) -> tuple[Verdict, ...]:
        self.max_deaths = len(wanted) + SPARE_DEATHS
        self.untouched = untouched(notebook, self.master)
        verdicts: dict[str, Verdict] = {}
        wanted_ids = {exercise.id: exercise for exercise in wanted}
        for number, cell in enumerate(notebook.cells, start=1):
            if len(verdicts) == len(wanted):
                break  # nothing behind the last grade cell can change a verdict
            own = cell.metadata.get("lmcourse", {})
            role, exercise = own.get("role", ""), own.get("exercise", "")
            if role == "grade":
                if exercise in wanted_ids:
                    verdicts[exercise] = self.judge(wanted_ids[exercise])
            elif cell.cell_type == "code" and role in ON_DEMAND:
                self.on_demand.skip(number, cell)
            elif cell.cell_type == "code" and role not in NOT_RUN and cell.source.strip():
                for earlier, needed in self.on_demand.before(cell):
                    self.run_cell(needed, earlier, "")
                self.run_cell(cell, number, exercise)
        return tuple(verdicts.get(e.id) or self.verdict(e, "harness_fault", NO_GRADE_CELL) for e in wanted)

    def judge(self, spec: registry.Exercise) -> Verdict:
        if spec.id in self.untouched:
            return self.verdict(spec, "not_attempted", "the answer is as it was handed out")
        if spec.id in self.guilty:
            end = self.guilty[spec.id]
            return self.verdict(spec, end.state, f"the answer cell {end.message}")
        try:
            exercise = hidden(spec.id) if self.exercises is None else self.exercises[spec.id]
        except Exception as error:
            return self.verdict(spec, "harness_fault", f"no hidden side: {type(error).__name__}: {error}")
        worker = self.ready_worker()
        if worker is None:
            return self.verdict(spec, self.hopeless.state, self.hopeless.message)
        verdict = score(exercise, RemoteAnswer(exercise, worker), self.seed(spec))
        if worker.ended is not None:
            self.bury()
        return self.explained(spec, verdict)

    def explained(self, spec: registry.Exercise, verdict: Verdict) -> Verdict:
        """With the error of the answer cell as the message where the cell never came to define the answer."""
        if verdict.state == "student_error" and spec.id in self.errors and not verdict.properties:
            return replace(verdict, message=f"the answer cell stopped: {self.errors[spec.id]}")
        return verdict

    def run_cell(self, cell: NotebookNode, number: int, exercise: str) -> None:
        worker = self.ready_worker()
        if worker is None:
            return
        try:
            error = worker.run_cell(cell.source)
        except AnswerEnded as end:
            self.bury()
            if exercise:
                self.guilty[exercise] = end
            else:
                self.notes.append(f"cell {number} {end.message}; it was skipped")
            is_setup = cell.metadata.get("lmcourse", {}).get("role") == "setup"
            if end.state == "infrastructure_fault" or is_setup:
                self.hopeless = AnswerEnded("infrastructure_fault", f"cell {number} {end.message}")
            return
        self.done.append(cell)
        if error is not None:
            text = f"{error['kind']}: {error['message']}"
            if exercise:
                self.errors[exercise] = text
            else:
                self.notes.append(f"cell {number} stopped with {text}")

    def ready_worker(self) -> RemoteWorker | None:
        """The worker in its present state, or a new one in the same state; None when that cannot be had."""
        if self.worker is not None or self.hopeless is not None:
            return self.worker
        if self.deaths > self.max_deaths:
            self.hopeless = AnswerEnded("not_run", f"earlier cells ended the process {self.deaths} times")
            return None
        for attempt in (1, 2):
            try:
                self.worker = RemoteWorker(self.limits)
                self.isolation = self.worker.isolation
                for cell in self.done:
                    self.worker.run_cell(cell.source)
                return self.worker
            except AnswerEnded as end:
                self.bury()
                fault = end.state == "infrastructure_fault"
                words = end.message if fault else f"an earlier cell, run again, {end.message}"
                if attempt == 2:
                    self.hopeless = AnswerEnded(end.state if fault else "not_run", words)
        return None

    def bury(self) -> None:
        """Take what a dead worker cost into the sum and forget it."""
        self.deaths += 1
        self.close()

    def close(self) -> None:
        if self.worker is None:
            return
        self.worker.close()
        self.cpu_seconds += self.worker.watch.total_seconds
        self.peak_bytes = max(self.peak_bytes, self.worker.watch.peak_bytes)
        self.worker = None

    def seed(self, spec: registry.Exercise) -> int:
        return exercise_seed(self.secret, self.student, spec.id)

    def verdict(self, spec: registry.Exercise, state: str, message: str) -> Verdict:
        points = None if state.endswith("_fault") else 0.0
        return Verdict(
            spec.id,
            state,
            points,
            float(spec.points),
            message,
            isolation=self.isolation,
            seed=self.seed(spec),
            versions=versions(),
        )
