"""Recording a class: the gradebook holds the judge's points, whatever the students are called."""

from __future__ import annotations

import nbformat
import pytest
from nbgrader.api import Gradebook

from autograde.grading.one import Graded
from autograde.nbgrader_plugin.gradebook import record
from lmcourse.errors import CourseError


def _book(root) -> Gradebook:
    return Gradebook(f"sqlite:///{root.gradebook}")


def _marks(root) -> dict[str, dict[str, float | None]]:
    """Points by student and exercise id, as nbgrader's grades have them."""
    with _book(root) as book:
        return {
            submission.student.id: {
                grade.name: grade.auto_score for notebook in submission.notebooks for grade in notebook.grades
            }
            for submission in book.assignment_submissions("W0")
        }


def test_points_reach_the_gradebook_unchanged(root, week, handed_out, verdict):
    points = {"ada": (1.0, 1.0), "ben": (0.0, 1 / 3), "eve": (1e-9, 0.0)}
    graded = [Graded(name, handed_out, verdict(name, *p)) for name, p in points.items()]
    assert record(root.path, "W0", graded) == ["ada", "ben", "eve"]
    assert _marks(root) == {name: {"W0-1": p[0], "W0-2": p[1]} for name, p in points.items()}
    with _book(root) as book:
        ada = book.find_submission("W0", "ada")
        assert (ada.score, ada.max_score, ada.needs_manual_grade) == (2.0, 2.0, False)
    for name in points:
        assert root.autograded(name, week).is_file() and root.submitted(name, week).is_file()


def test_a_student_id_is_a_name_and_no_pattern(root, handed_out, verdict):
    students = [
        "[x]",
        "x",
        "a*b",
        "ab",
        "axb",
        "?",
        "{student_id}",
        "12345",
        "Žofie Nováková",
        "a,b",
        "o'hara",
    ]
    points = {student: (float(n % 2), n / 20) for n, student in enumerate(students)}
    record(root.path, "W0", [Graded(s, handed_out, verdict(s, *p)) for s, p in points.items()])
    assert _marks(root) == {s: {"W0-1": p[0], "W0-2": p[1]} for s, p in points.items()}
    record(root.path, "W0", [Graded("a*b", handed_out, verdict("a*b", 0.5, 0.5))])
    assert _marks(root)["a*b"] == {"W0-1": 0.5, "W0-2": 0.5}
    assert _marks(root)["axb"] == {"W0-1": points["axb"][0], "W0-2": points["axb"][1]}


def test_an_id_that_cannot_be_a_folder_is_refused(root, handed_out, verdict):
    for student in ("", ".", "..", "a/b", "../up", "a\0b", " ada", "a\nb"):
        with pytest.raises(CourseError, match="cannot be the name of a folder"):
            record(root.path, "W0", [Graded(student, handed_out, verdict(student, 1.0, 1.0))])
    assert _marks(root) == {}


def test_recording_again_replaces_and_never_doubles(root, handed_out, verdict):
    first = Graded("ada", handed_out, verdict("ada", 0.0, 0.25))
    record(root.path, "W0", [first])
    record(root.path, "W0", [first])
    assert _marks(root) == {"ada": {"W0-1": 0.0, "W0-2": 0.25}}
    record(root.path, "W0", [Graded("ada", handed_out, verdict("ada", 1.0, 0.5))])
    assert _marks(root) == {"ada": {"W0-1": 1.0, "W0-2": 0.5}}
    with _book(root) as book:
        assert [student.id for student in book.students] == ["ada"]


def test_points_given_by_hand_stay(root, handed_out, verdict):
    record(root.path, "W0", [Graded("ada", handed_out, verdict("ada", 0.0, 0.25))])
    with _book(root) as book:
        book.find_grade("W0-1", "week00_start", "W0", "ada").manual_score = 0.75
        book.db.commit()
    record(root.path, "W0", [Graded("ada", handed_out, verdict("ada", 0.5, 0.25))])
    with _book(root) as book:
        grade = book.find_grade("W0-1", "week00_start", "W0", "ada")
        assert (grade.auto_score, grade.manual_score, grade.score) == (0.5, 0.75, 0.75)
        assert grade.needs_manual_grade


def test_what_the_judge_could_not_decide_waits_for_a_person(root, handed_out, verdict):
    record(root.path, "W0", [Graded("ada", handed_out, verdict("ada", None, 1.0))])
    with _book(root) as book:
        grade = book.find_grade("W0-1", "week00_start", "W0", "ada")
        assert grade.auto_score is None and grade.needs_manual_grade
        assert not book.find_grade("W0-2", "week00_start", "W0", "ada").needs_manual_grade


def test_who_handed_in_nothing_readable_is_in_the_gradebook_without_a_submission(root, handed_out, verdict):
    nothing = Graded("ben", None, verdict("ben", 0.0, 0.0))
    assert record(root.path, "W0", [nothing, Graded("ada", handed_out, verdict("ada", 1.0, 1.0))]) == ["ada"]
    assert set(_marks(root)) == {"ada"}
    with _book(root) as book:
        assert {student.id for student in book.students} == {"ada", "ben"}


def test_nobody_at_all_is_no_error(root):
    assert record(root.path, "W0", []) == []


def test_a_week_that_was_not_released_here_is_named(root, tmp_path, handed_out, verdict):
    graded = [Graded("ada", handed_out, verdict("ada", 1.0, 1.0))]
    with pytest.raises(CourseError, match=r"has no released W1; run `autograde build W1` first"):
        record(root.path, "W1", graded)
    with pytest.raises(CourseError, match="has no released W0"):
        record(tmp_path / "nowhere", "W0", graded)


def test_the_autograded_notebook_shows_messages_but_nothing_hidden(root, week, handed_out, verdict):
    record(root.path, "W0", [Graded("ada", handed_out, verdict("ada", 0.0, 0.5))])
    text = root.autograded("ada", week).read_text(encoding="utf-8")
    assert "said in words" in text and "partly right, 0.5 of 1 points" in text
    assert "autograde.run" not in text and "HIDDEN" not in text


def test_damage_done_after_grading_changes_no_points(root, week, handed_out, verdict):
    for cell in handed_out.cells:
        if "nbgrader" in cell.metadata and cell.metadata.nbgrader.grade:
            cell.metadata.nbgrader.update(points=1000, locked=False, solution=True)
            cell.source = "1000.0"
    handed_out.cells = [cell for cell in handed_out.cells if cell.id != "w0-2"] * 2
    record(root.path, "W0", [Graded("ada", handed_out, verdict("ada", 0.5, 0.25))])
    assert _marks(root) == {"ada": {"W0-1": 0.5, "W0-2": 0.25}}
    with _book(root) as book:
        assert book.find_submission("W0", "ada").max_score == 2.0


def test_text_that_no_file_can_hold_is_recorded_all_the_same(root, week, handed_out, verdict):
    next(cell for cell in handed_out.cells if cell.id == "w0-1-answer").source = "print('\ud800')"
    assert record(root.path, "W0", [Graded("ada", handed_out, verdict("ada", 1.0, 0.0))]) == ["ada"]
    graded = nbformat.read(root.autograded("ada", week), as_version=4)
    assert "print('\ufffd')" in [cell.source for cell in graded.cells]
