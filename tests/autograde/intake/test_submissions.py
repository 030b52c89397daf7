import os
import zipfile

import nbformat
import pytest
import small_course

from autograde.intake.entries import find_students
from autograde.intake.submissions import collect
from lmcourse import exercises as registry
from lmcourse.errors import CourseError
from lmcourse.handin.match import week_of

WEEK = small_course.WEEK
NOTEBOOK = small_course.submission()
TEXT = nbformat.writes(NOTEBOOK)


def put(path, text=TEXT, age=0.0):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    os.utime(path, (1_700_000_000 - age, 1_700_000_000 - age))


def collected(folder, student):
    return collect(student, find_students(folder)[student].paths, WEEK)


def test_folders_notebooks_and_zip_files_are_all_found(tmp_path):
    put(tmp_path / "ada" / "anything (1).ipynb")
    put(tmp_path / "bob" / "W1" / "week01_packing.ipynb")
    put(tmp_path / "cyd.ipynb")
    with zipfile.ZipFile(tmp_path / "dan.zip", "w") as archive:
        archive.writestr("../../etc/week01.ipynb", TEXT)
        archive.writestr("__MACOSX/._week01.ipynb", b"\0\1")
    (tmp_path / "[x] y").mkdir()
    with zipfile.ZipFile(tmp_path / "[x] y" / "work.zip", "w") as archive:
        archive.writestr("a/b.ipynb", TEXT)
    (tmp_path / ".hidden").mkdir()
    (tmp_path / "readme.txt").write_text("no submission")
    students = find_students(tmp_path)
    assert list(students) == ["[x] y", "ada", "bob", "cyd", "dan"]
    for student in students:
        submission = collected(tmp_path, student)
        assert submission.notebook is not None and not submission.problem, student
    assert sorted(p.name for p in tmp_path.parent.iterdir() if "etc" in p.name) == []


def test_nothing_handed_in_is_not_the_same_as_something_unreadable(tmp_path):
    (tmp_path / "ada").mkdir()
    put(tmp_path / "bob" / "w.ipynb", "<html>Log in</html>")
    put(tmp_path / "cyd" / "notes.txt", "sorry")
    assert collected(tmp_path, "ada").nothing and collected(tmp_path, "cyd").nothing
    bob = collected(tmp_path, "bob")
    assert not bob.nothing and "web page" in bob.problem and bob.notebook is None


def test_the_newest_of_several_counts_and_that_is_told(tmp_path):
    old = nbformat.writes(small_course.submission(W1_1="old = 1"))
    put(tmp_path / "ada" / "z_old.ipynb", old, age=500)
    put(tmp_path / "ada" / "a_new.ipynb")
    put(tmp_path / "ada" / ".ipynb_checkpoints" / "b.ipynb", old, age=-500)
    submission = collected(tmp_path, "ada")
    assert submission.source == "a_new.ipynb" and submission.notebook.cells[2].source != "old = 1"
    assert "the newest, a_new.ipynb, counts" in submission.remarks[0]


def test_other_weeks_and_other_notebooks_are_no_submission(tmp_path):
    other = nbformat.from_dict(NOTEBOOK)
    other.metadata.lmcourse.week = "W0"
    put(tmp_path / "ada" / "w0.ipynb", nbformat.writes(other))
    put(tmp_path / "ada" / "holiday.ipynb", nbformat.writes(nbformat.v4.new_notebook()))
    submission = collected(tmp_path, "ada")
    assert "w0.ipynb belongs to W0" in submission.problem
    assert "holiday.ipynb is no notebook of this course" in submission.problem
    put(tmp_path / "ada" / "w1.ipynb")
    assert collected(tmp_path, "ada").remarks == ()


def test_links_are_not_followed(tmp_path):
    outside = tmp_path / "outside.ipynb"
    put(outside)
    folder = tmp_path / "class"
    (folder / "ada").mkdir(parents=True)
    (folder / "ada" / "w.ipynb").symlink_to(outside)
    (folder / "bob").symlink_to(tmp_path)
    (folder / "cyd.ipynb").symlink_to(outside)
    for student in ("ada", "bob", "cyd"):
        submission = collected(folder, student)
        assert submission.notebook is None and "links are not followed" in submission.problem


def test_archives_are_bounded_and_damage_is_told(tmp_path):
    with zipfile.ZipFile(tmp_path / "many.zip", "w") as archive:
        for number in range(1001):
            archive.writestr(f"{number}.txt", "")
    with zipfile.ZipFile(tmp_path / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("bomb.ipynb", b" " * (65 * 2**20))
    (tmp_path / "broken.zip").write_bytes(b"PK\x03\x04 and no more")
    assert "more than 1000 files" in collected(tmp_path, "many").problem
    assert "MiB" in collected(tmp_path, "bomb").problem
    assert "cannot be opened as a zip file" in collected(tmp_path, "broken").problem


def test_an_archive_whose_content_is_damaged_is_told(tmp_path):
    with zipfile.ZipFile(tmp_path / "ada.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("w.ipynb", TEXT)
    data = bytearray((tmp_path / "ada.zip").read_bytes())
    data[50:80] = b"\xff" * 30
    (tmp_path / "ada.zip").write_bytes(data)
    assert "cannot be opened as a zip file" in collected(tmp_path, "ada").problem


def test_what_one_student_hands_in_is_bounded_in_all(tmp_path, monkeypatch):
    monkeypatch.setattr("autograde.intake.submissions.MAX_TOTAL", 2 * len(TEXT))
    with zipfile.ZipFile(tmp_path / "ada.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(5):
            archive.writestr(f"{number}.ipynb", TEXT)
    submission = collected(tmp_path, "ada")
    assert submission.notebook is not None
    assert any("the rest was not looked at" in remark for remark in submission.remarks)
    assert any(remark.startswith("2 notebooks") for remark in submission.remarks)


def test_dates_in_an_archive_compare_with_those_of_files(tmp_path):
    old = nbformat.writes(small_course.submission(W1_1="old = 1"))
    (tmp_path / "ada").mkdir()
    with zipfile.ZipFile(tmp_path / "ada" / "first.zip", "w") as archive:
        archive.writestr(zipfile.ZipInfo("old.ipynb", (2020, 1, 2, 3, 4, 6)), old)
        archive.writestr(zipfile.ZipInfo("undated.ipynb", (1980, 0, 0, 0, 0, 0)), old)
    put(tmp_path / "ada" / "new.ipynb")
    assert collected(tmp_path, "ada").source == "new.ipynb"


@pytest.mark.parametrize("kind", ["missing", "file", "empty", "no students"])
def test_a_folder_that_is_none_is_an_error_in_one_line(tmp_path, kind):
    path = tmp_path / kind
    if kind == "file":
        path.write_text("x")
    elif kind != "missing":
        path.mkdir()
        if kind == "no students":
            (path / "marks.csv").write_text("")
    with pytest.raises(CourseError) as info:
        find_students(path)
    assert str(path) in str(info.value) and "\n" not in str(info.value)


def test_the_week_is_told_by_what_is_left():
    plain = nbformat.from_dict(NOTEBOOK)
    assert week_of(plain) == "W1"
    plain.metadata = nbformat.NotebookNode()
    assert week_of(plain) == "W1"
    for cell in plain.cells:
        cell.metadata.pop("lmcourse")
    assert week_of(plain) == "W1"
    for cell in plain.cells:
        cell.metadata = nbformat.NotebookNode()
    assert week_of(plain) == "W1"
    plain.cells = [nbformat.v4.new_code_cell("x = 1"), nbformat.v4.new_markdown_cell("pack")]
    assert week_of(plain) is None
    for strange in (["W1"], None, "W99", 3):
        plain.metadata = nbformat.from_dict({"lmcourse": {"week": strange}})
        assert week_of(plain) is None
    assert {w.id for w in registry.WEEKS} >= {"W0", "W1"}
