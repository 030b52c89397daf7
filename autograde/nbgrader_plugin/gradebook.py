"""Fills nbgrader's course folder and gradebook with verdicts: the same rows and files as its own command.

One process writes, and of each submission all or nothing is in the database. What nbgrader's `autograde` does
in ten transactions with four new connections for each notebook is done here in one, for several submissions.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from nbformat import NotebookNode
from nbgrader import utils
from nbgrader.api import (
    Assignment,
    Comment,
    Grade,
    Gradebook,
    MissingEntry,
    Student,
    SubmittedAssignment,
    SubmittedNotebook,
)
from sqlalchemy.exc import SQLAlchemyError

from autograde.grading.settings import NOT_LATE, Late, Settings, load_settings
from autograde.judge.verdict import SubmissionVerdict
from autograde.nbgrader_plugin.course_root import CourseRoot
from autograde.nbgrader_plugin.execute import fill_in
from autograde.nbgrader_plugin.repair import writable
from lmcourse import exercises as registry
from lmcourse.errors import CourseError
from lmcourse.handin.master import Master
from lmcourse.handin.repair import repair


@dataclass(frozen=True)
class Record:
    """One student's work: the notebook as handed in (None: nothing readable), its verdict and its lateness.

    `name` is what a platform calls the student, `handed_in` in seconds since 1970 (0: unknown).
    """

    student: str
    notebook: NotebookNode | None
    verdict: SubmissionVerdict
    late: Late = NOT_LATE
    handed_in: float = 0.0
    name: str = ""


class GradebookWriter:
    """The gradebook of a course folder, open for one week; close it when done.

    Raises:
        CourseError: the week has not been released in this course folder, or the database does not answer.
    """

    def __init__(self, root: CourseRoot, week: registry.Week, settings: Settings) -> None:
        self.root = root
        self.week = week
        self.settings = settings
        if not is_released(root, week, settings):
            raise CourseError(f"{root.path} has no released {week.id}; run `autograde build {week.id}` first")
        self.master = Master.load(week.id, root.release(week).parent)
        try:
            self.book = Gradebook(gradebook_url(root, settings))
            self._note_deadline(self.book.find_assignment(week.id))
            self.book.db.commit()
        except (SQLAlchemyError, MissingEntry, ImportError) as error:
            raise self._refused(error) from None

    def __enter__(self) -> GradebookWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.book.close()

    def record(self, records: Iterable[Record]) -> list[str]:
        """Write notebooks and marks; the ids of the students whose submissions are now in the gradebook.

        Recording the same submission again changes nothing but the time stamps of files; a new verdict
        replaces the old one, and points that a person gave by hand stay. Students without a readable notebook
        are entered without a submission.

        Raises:
            CourseError: an id that cannot be the name of a folder, or the database refuses.
        """
        records = list(records)
        for record in records:
            if not is_folder_name(record.student):
                raise CourseError(
                    f"student id {record.student!r} cannot be the name of a folder; rename the submission"
                )
        try:
            graded = {r.student: self._write_files(r) for r in records if r.notebook is not None}
            assignment = self.book.find_assignment(self.week.id)
            for record in records:
                self._add_student(record)
                if record.student in graded:
                    self._save(assignment, record, graded[record.student])
            self.book.db.commit()
        except SQLAlchemyError as error:
            self.book.db.rollback()
            raise self._refused(error) from None
        except OSError as error:
            self.book.db.rollback()
            raise CourseError(f"cannot write to {self.root.path}: {error.strerror or error}") from None
        self.book.db.expunge_all()
        return list(graded)

    def _write_files(self, record: Record) -> NotebookNode:
        """The notebook as handed in and as graded, where nbgrader looks for them; the second is returned."""
        submitted = self.root.submitted(record.student, self.week)
        for old in submitted.parent.glob("*.ipynb"):
            old.unlink()
        # As it came: nbformat would renew ids that are there twice; ASCII escapes what UTF-8 cannot hold.
        _replace(submitted, json.dumps(record.notebook).encode("ascii"))
        graded = repair(record.notebook, self.master).notebook
        for cell in graded.cells:
            cell.source = writable(cell.source)
        fill_in(graded, record.verdict)
        autograded = self.root.autograded(record.student, self.week)
        _replace(autograded, json.dumps(graded).encode("ascii"))
        if record.handed_in:
            moment = datetime.fromtimestamp(record.handed_in, UTC).strftime("%Y-%m-%d %H:%M:%S.%f UTC\n")
            for path in (submitted, autograded):
                _replace(path.with_name("timestamp.txt"), moment.encode("ascii"))
        return graded

    def _add_student(self, record: Record) -> None:
        if self.book.db.get(Student, record.student) is None:
            self.book.db.add(Student(id=record.student, last_name=record.name or None))

    def _save(self, assignment: Assignment, record: Record, graded: NotebookNode) -> None:
        """What SaveAutoGrades reads out of the graded notebook, into the rows of this submission."""
        submission = self._submission(assignment, record.student)
        if record.handed_in:
            submission.timestamp = datetime.fromtimestamp(record.handed_in, UTC).replace(tzinfo=None)
        submission.extension = self._extension(record.student)
        undecided = {v.exercise for v in record.verdict.undecided}
        cells = {c.metadata.nbgrader.grade_id: c for c in graded.cells if "nbgrader" in c.metadata}
        for notebook in submission.notebooks:
            if notebook.notebook.name != self.week.notebook:
                continue
            for grade in notebook.grades:
                cell = cells[grade.cell.name]
                points, _ = utils.determine_grade(cell)
                if cell.metadata.lmcourse.exercise in undecided and not utils.is_solution(cell):
                    points = None
                grade.auto_score = points
                grade.needs_manual_grade = points is None or grade.manual_score is not None
            for comment in notebook.comments:
                cell = cells[comment.cell.name]
                is_stub = cell.metadata.nbgrader.get("checksum") == utils.compute_checksum(cell)
                comment.auto_comment = "No response." if is_stub and not utils.is_task(cell) else None
            earned = sum(_score(grade) for grade in notebook.grades)
            penalty = min(record.late.penalty, earned)
            notebook.late_submission_penalty = penalty or None

    def _submission(self, assignment: Assignment, student: str) -> SubmittedAssignment:
        """The rows of a submission; new ones mirror the assignment's cells, as in `add_submission`."""
        found = self.book.db.query(SubmittedAssignment).filter_by(
            assignment_id=assignment.id, student_id=student
        )
        submission = found.one_or_none()
        if submission is None:
            with self.book.db.no_autoflush:
                submission = SubmittedAssignment(assignment=assignment, student_id=student)
                for notebook in assignment.notebooks:
                    made = SubmittedNotebook(notebook=notebook, assignment=submission)
                    for cell in notebook.grade_cells + notebook.task_cells:
                        Grade(cell=cell, notebook=made)
                    for cell in notebook.solution_cells + notebook.task_cells:
                        Comment(cell=cell, notebook=made)
                self.book.db.add(submission)
            self.book.db.flush()
        return submission

    def _note_deadline(self, assignment: Assignment) -> None:
        due = self.settings.due.get(self.week.id)
        assignment.duedate = None if due is None else self.settings.moment(due).replace(tzinfo=None)

    def _extension(self, student: str):
        due, own = self.settings.due.get(self.week.id), self.settings.due_for(student, self.week.id)
        return None if due in (None, own) else self.settings.moment(own) - self.settings.moment(due)

    def _refused(self, error: Exception) -> CourseError:
        where = self.settings.shown_url or str(self.root.gradebook)
        reason = (str(getattr(error, "orig", None) or error).strip().splitlines() or ["no reason given"])[0]
        return CourseError(f"the gradebook {where} cannot be used: {reason}")


def record(course: Path, week_id: str, submissions: Iterable) -> list[str]:
    """Record submissions (anything with `student`, `notebook` and `verdict`) in one transaction.

    Raises:
        CourseError: as `GradebookWriter`.
    """
    root = CourseRoot(Path(course))
    with GradebookWriter(root, registry.week(week_id), load_settings(root.path)) as writer:
        return writer.record(Record(s.student, s.notebook, s.verdict) for s in submissions)


def is_released(root: CourseRoot, week: registry.Week, settings: Settings) -> bool:
    return root.release(week).is_file() and (bool(settings.gradebook_url) or root.gradebook.is_file())


def gradebook_url(root: CourseRoot, settings: Settings) -> str:
    return settings.gradebook_url or f"sqlite:///{root.gradebook.resolve()}"


def is_folder_name(student: str) -> bool:
    """Whether nbgrader can keep a folder under this id."""
    odd = student in ("", ".", "..") or student != student.strip() or not student.isprintable()
    return not odd and len(student) <= 100 and not any(c in student for c in "/\\\0\n")


def _score(grade: Grade) -> float:
    """As nbgrader adds it up: by hand, else by the judge, and extra credit."""
    given = grade.auto_score if grade.manual_score is None else grade.manual_score
    return (given or 0.0) + (grade.extra_credit or 0.0)


def _replace(path: Path, data: bytes) -> None:
    """A new file in place of an old one, which may be read-only, as nbgrader leaves it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.draft")
    draft.unlink(missing_ok=True)
    draft.write_bytes(data)
    os.replace(draft, path)
