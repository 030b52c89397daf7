"""Grading a class from the folder of submissions to reports and gradebook.

This process alone writes verdicts, journal, gradebook and reports; judges, here or on other machines, get
tasks and send outcomes. Every outcome is on the disk before it is told, so the command can be killed at any
moment and started again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from autograde.grading.journal import Journal, open_journal
from autograde.grading.keys import sources_of
from autograde.grading.one import NOT_YET, Graded, Task
from autograde.grading.settings import Late, Settings, load_settings
from autograde.grading.settle import Change, settle, shown
from autograde.grading.store import Store, Stored
from autograde.intake.entries import Entrant, find_students
from autograde.intake.gather import gather
from autograde.judge.limits import Limits
from autograde.judge.seeds import course_secret
from autograde.judge.verdict import SubmissionVerdict
from autograde.nbgrader_plugin.course_root import CourseRoot
from autograde.project import shown as shown_path
from autograde.reports.rows import Row
from autograde.reports.write import Reports, write_reports, write_student
from lmcourse import exercises as registry
from lmcourse.errors import CourseError
from lmcourse.handin.master import Master

# Takes tasks one by one as it can work on them; gives outcomes in any order.
Crew = Callable[[Iterable[Task]], Iterator[Graded]]

TOGETHER = 16  # submissions in one transaction of the gradebook, at most
PATIENCE = 2.0  # seconds that an outcome waits for others to be recorded with


@dataclass(frozen=True)
class Plan:
    """What is to be graded, and where everything goes. `only` is empty for all exercises."""

    week: registry.Week
    everyone: dict[str, Entrant]
    chosen: tuple[str, ...]
    root: CourseRoot
    out: Path
    secret: str
    settings: Settings
    limits: Limits = field(default_factory=Limits)
    force: bool = False
    only: frozenset[str] = frozenset()
    remote: bool = False

    @property
    def store(self) -> Store:
        return Store(self.root.verdicts(self.week))

    @property
    def request(self) -> dict:
        """What makes a run the same as one that was killed, so that it goes on where that one stood."""
        return {"force": self.force, "only": sorted(self.only), "students": list(self.chosen)}


@dataclass(frozen=True)
class Heard:
    """What the command tells as each submission is ready; `judged` names the exercises judged anew."""

    verdict: SubmissionVerdict
    judged: tuple[str, ...]


@dataclass
class Outcome:
    """The whole class after a run. `gradebook` says in a line what became of it."""

    rows: list[Row]
    reports: Reports
    changes: list[Change]
    gradebook: str
    continued: int = 0  # submissions that a killed run had judged already


@dataclass
class _Run:
    """One run's open files, and what waits to be recorded."""

    plan: Plan
    journal: Journal
    book: object | None
    told: Callable[[Heard], None]
    waiting: list = field(default_factory=list)  # (record, digest)
    since: float = 0.0
    recorded: int = 0
    left_out: list[str] = field(default_factory=list)


def plan(
    week_id: str,
    submissions: Path,
    course: Path,
    out: Path,
    limits: Limits,
    *,
    force: bool = False,
    only: Iterable[str] = (),
    students: Iterable[str] = (),
    remote: bool = False,
) -> Plan:
    """Find the submissions and check that they can be graded.

    Raises:
        CourseError: no such week, exercise or student, no released notebook, no submissions, no course
            secret, or settings that cannot be read.
    """
    week = registry.week(week_id)
    everyone = find_students(submissions)
    Master.load(week.id)
    exercises = frozenset(registry.exercise(e).id for e in only)
    strangers = sorted(e for e in exercises if registry.exercise(e).week != week.id)
    if strangers:
        raise CourseError(f"--only {strangers[0]}: {week.id} has no such exercise")
    chosen = _chosen(list(students), everyone)
    settings = load_settings(course)
    secret = course_secret(course)
    root = CourseRoot(course)
    return Plan(week, everyone, chosen, root, out, secret, settings, limits, force, exercises, remote)


def grade_class(plan: Plan, crew: Crew, told: Callable[[Heard], None] = lambda heard: None) -> Outcome:
    """Judge the chosen submissions, fill the gradebook, write the reports of everybody.

    Raises:
        CourseError: another command is grading this week, something cannot be written, or the gradebook or
            the cluster refuses. What was decided until then is kept.
    """
    try:
        with ExitStack() as stack:
            journal = stack.enter_context(open_journal(plan.store.folder))
            done = journal.start(plan.request)
            run = _Run(plan, journal, _gradebook(plan, stack), told)
            faults = _grade(run, crew, _tasks(plan, plan.chosen, done))
            if faults:  # the machine's, not the students': once more, now that it is quieter
                _grade(run, crew, _tasks(plan, faults, set()))
            rows = _rows(plan)
            changes = list(journal.changes)
            reports = write_reports(plan.week, rows, changes, plan.out)
            journal.end()
            return Outcome(rows, reports, changes, _said(run), len(done))
    except OSError as error:
        raise CourseError(f"cannot write to {shown_path(plan.out)}: {error.strerror or error}") from None


def _tasks(plan: Plan, students: Iterable[str], done: set[str]) -> Iterator[Task]:
    """Made one at a time as judges become free; `done` need not be forced again."""
    sources = sources_of(plan.week.id)
    for student in students:
        yield Task(
            student,
            gather(student, plan.everyone[student].paths),
            plan.week.id,
            plan.secret,
            plan.limits,
            sources,
            plan.store.load(student),
            plan.force and student not in done,
            plan.only,
            plan.remote,
        )


def _grade(run: _Run, crew: Crew, tasks: Iterator[Task]) -> list[str]:
    """Settle each outcome as it comes; the students whose judging failed for the machine's reasons."""
    faults = []
    for graded in crew(tasks):
        earlier = run.plan.store.load(graded.student)
        stored, changes = settle(graded, earlier)
        run.journal.judged([(graded.student, graded.judged, changes)])
        if stored != earlier:
            run.plan.store.save(graded.student, stored)
        states = {v.state for v in graded.verdict.verdicts if v.message != NOT_YET}
        if "infrastructure_fault" in states:
            faults.append(graded.student)
        _await_record(run, graded, stored)
        row = _row(run.plan, graded.student, stored)
        write_student(row, run.plan.out)
        run.told(Heard(row.verdict, graded.judged))
    _record(run)
    return faults


def _await_record(run: _Run, graded: Graded, stored: Stored) -> None:
    """Hand the submission to the gradebook, together with others that come soon."""
    if run.book is None:
        return
    from autograde.nbgrader_plugin.gradebook import Record, is_folder_name

    if not is_folder_name(graded.student):
        run.left_out.append(graded.student)
        return
    run.recorded += graded.notebook is not None
    verdict = shown(stored)
    late = _late(run.plan, graded.student, stored)
    text = f"{stored.digest} {late} {verdict.to_json()} {run.plan.settings.gradebook_url}"
    digest = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    if run.journal.recorded.get(graded.student) == digest:
        return
    name = run.plan.everyone[graded.student].name
    notebook = graded.notebook
    record = Record(graded.student, notebook, verdict, late, stored.handed_in, name)
    run.since = run.since if run.waiting else time.monotonic()
    run.waiting.append((record, digest))
    if len(run.waiting) >= TOGETHER or time.monotonic() - run.since > PATIENCE:
        _record(run)


def _record(run: _Run) -> None:
    if run.waiting:
        run.book.record([record for record, _ in run.waiting])
        run.journal.in_gradebook({record.student: digest for record, digest in run.waiting})
        run.waiting = []


def _rows(plan: Plan) -> list[Row]:
    """Everybody in the folder of whom something is known."""
    known = ((student, plan.store.load(student)) for student in plan.everyone)
    return [_row(plan, student, stored) for student, stored in known if stored is not None]


def _row(plan: Plan, student: str, stored: Stored) -> Row:
    late = _late(plan, student, stored)
    return Row(shown(stored), plan.everyone[student].name, late, stored.prints)


def _late(plan: Plan, student: str, stored: Stored) -> Late:
    return plan.settings.late(student, plan.week.id, stored.handed_in, plan.week.points)


def _gradebook(plan: Plan, stack: ExitStack) -> object | None:
    from autograde.nbgrader_plugin.gradebook import GradebookWriter, is_released

    if not is_released(plan.root, plan.week, plan.settings):
        return None
    return stack.enter_context(GradebookWriter(plan.root, plan.week, plan.settings))


def _said(run: _Run) -> str:
    plan = run.plan
    if run.book is None:
        course, week = shown_path(plan.root.path), plan.week.id
        return f"gradebook: skipped, {course} has no released {week}; run `autograde build {week}`"
    where = plan.settings.shown_url or shown_path(plan.root.gradebook)
    line = f"gradebook: {run.recorded} submissions recorded in {where}"
    names = ", ".join(repr(student) for student in run.left_out)
    return f"{line}; left out, rename the submission: {names}" if names else line


def _chosen(wanted: list[str], everyone: dict[str, Entrant]) -> tuple[str, ...]:
    """The ids that `--students` names: each value is an id, or several with commas between them."""
    chosen: list[str] = []
    for value in wanted:
        for student in [value] if value in everyone else value.split(","):
            if student not in everyone:
                raise CourseError(f"--students: there is no submission of {student!r}")
            chosen.append(student)
    return tuple(dict.fromkeys(chosen)) or tuple(everyone)
