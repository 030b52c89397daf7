"""Archives of every kind, and the names that Moodle and Canvas give what they hand over."""

from __future__ import annotations

import io
import os
import stat
import tarfile
import zipfile

import nbformat
import pytest
import small_course

from autograde.intake import archives, gather
from autograde.intake.entries import find_students, opened
from autograde.intake.submissions import collect
from lmcourse.errors import CourseError

WEEK = small_course.WEEK
TEXT = nbformat.writes(small_course.submission()).encode()


def zipped(**files):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name.replace("__", "."), data)
    return buffer.getvalue()


def tarred(mode, *members):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as archive:
        for info, data in members:
            archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def member(name, data=TEXT, **fields):
    info = tarfile.TarInfo(name)
    info.size, info.mtime = len(data), 1_700_000_000
    for key, value in fields.items():
        setattr(info, key, value)
    return info, data


def collected(folder, student="ada"):
    return collect(student, find_students(folder)[student].paths, WEEK)


@pytest.mark.parametrize(
    ("suffix", "mode"),
    [("tar", "w"), ("tar.gz", "w:gz"), ("tgz", "w:gz"), ("tar.bz2", "w:bz2"), ("tar.xz", "w:xz")],
)
def test_tar_archives_are_read(tmp_path, suffix, mode):
    (tmp_path / f"ada.{suffix}").write_bytes(
        tarred(mode, member("a/../../b.ipynb"), member("._b.ipynb", b"x"))
    )
    found = collected(tmp_path)
    assert found.notebook is not None and found.remarks == () and found.handed_in > 1_700_000_000


def test_links_in_archives_are_not_followed(tmp_path):
    link = member("x.ipynb", b"", type=tarfile.SYMTYPE, linkname="/etc/passwd")
    (tmp_path / "ada.tar").write_bytes(tarred("w", link))
    assert "x.ipynb is a link" in collected(tmp_path).problem
    info = zipfile.ZipInfo("y.ipynb")
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(tmp_path / "ben.zip", "w") as archive:
        archive.writestr(info, "/etc/passwd")
    assert "y.ipynb is a link" in collected(tmp_path, "ben").problem


def test_an_archive_in_an_archive_is_opened_and_one_more_is_not(tmp_path):
    once = zipped(inner__zip=zipped(w__ipynb=TEXT))
    (tmp_path / "ada.zip").write_bytes(once)
    assert collected(tmp_path).notebook is not None
    (tmp_path / "ben.zip").write_bytes(zipped(outer__zip=once))
    assert "archive inside an archive" in collected(tmp_path, "ben").problem


@pytest.mark.parametrize("kind", ["tar.gz", "zip", "nested zip"])
def test_an_archive_that_explodes_stops_at_the_bound(tmp_path, monkeypatch, kind):
    monkeypatch.setattr("autograde.intake.submissions.MAX_TOTAL", 2**20)
    zeros = bytes(64 * 2**20)
    data = {
        "tar.gz": lambda: tarred("w:gz", member("notes.txt", zeros), member("w.ipynb")),
        "zip": lambda: zipped(w__ipynb=zeros),
        "nested zip": lambda: zipped(inner__zip=zipped(w__ipynb=zeros)),
    }[kind]()
    (tmp_path / f"ada.{kind.split()[-1]}").write_bytes(data)
    assert "the rest was not looked at" in collected(tmp_path).problem


def test_an_archive_of_very_many_files_is_not_searched_to_its_end(tmp_path, monkeypatch):
    monkeypatch.setattr(archives, "MAX_MEMBERS", 3)
    (tmp_path / "ada.tar").write_bytes(
        tarred("w", *[member(f"{n}.txt", b"") for n in range(4)], member("w.ipynb"))
    )
    assert "more than 3 files" in collected(tmp_path).problem


def test_what_is_found_instead_of_a_notebook_is_named(tmp_path):
    (tmp_path / "ada").mkdir()
    for name in ("work.rar", "answer.docx"):
        (tmp_path / "ada" / name).write_bytes(b"x")
    found = collected(tmp_path)
    assert found.nothing and found.problem == "nothing was handed in; found only answer.docx, work.rar"


def test_folders_without_end_are_left_at_some_depth(tmp_path):
    deep = tmp_path / "ada"
    for _ in range(gather.MAX_DEPTH + 1):
        deep = deep / "d"
    deep.mkdir(parents=True)
    (deep / "w.ipynb").write_bytes(TEXT)
    assert "folders deep" in collected(tmp_path).problem


def test_read_only_files_and_folders_are_read(tmp_path):
    (tmp_path / "ada").mkdir()
    (tmp_path / "ada" / "w.ipynb").write_bytes(TEXT)
    (tmp_path / "ada" / "w.ipynb").chmod(0o400)
    (tmp_path / "ada").chmod(0o500)
    assert collected(tmp_path).notebook is not None
    (tmp_path / "ada").chmod(0o700)


def test_moodle_folders_and_flat_files(tmp_path):
    folder = tmp_path / "Jana Nováková_123456_assignsubmission_file_"
    folder.mkdir()
    (folder / "week01 (1).ipynb").write_bytes(TEXT)
    (tmp_path / "A_B C_77_assignsubmission_file_w.ipynb").write_bytes(TEXT)
    (tmp_path / "Jana Nováková_123456_assignsubmission_onlinetext_").mkdir()
    students = find_students(tmp_path)
    assert {s.student: s.name for s in students.values()} == {"123456": "Jana Nováková", "77": "A_B C"}
    assert all(collected(tmp_path, student).notebook for student in students)


def test_canvas_files_of_one_student_belong_together(tmp_path):
    for name in ("novakjana_LATE_11_501_w.ipynb", "novakjana_11_502_w-1.ipynb", "smith_12_503_my_week_1.zip"):
        (tmp_path / name).write_bytes(zipped(w__ipynb=TEXT) if name.endswith("zip") else TEXT)
    students = find_students(tmp_path)
    assert {s.student: (s.name, len(s.paths)) for s in students.values()} == {
        "11": ("novakjana", 2),
        "12": ("smith", 1),
    }
    assert all(collected(tmp_path, student).notebook for student in students)


def test_ids_that_look_a_little_like_canvas_stay_ids(tmp_path):
    (tmp_path / "ada.ipynb").write_bytes(TEXT)
    (tmp_path / "x_1_2_y.ipynb").write_bytes(TEXT)
    assert list(find_students(tmp_path)) == ["ada", "x_1_2_y"]


def test_a_platforms_download_need_not_be_unpacked(tmp_path):
    download = tmp_path / "submissions.zip"
    with zipfile.ZipFile(download, "w") as archive:
        archive.writestr("Jana_5_assignsubmission_file_/w.ipynb", TEXT)
        archive.writestr("../../out/Petr_6_assignsubmission_file_/w.zip", zipped(w__ipynb=TEXT))
        link = zipfile.ZipInfo("Eva_7_assignsubmission_file_/w.ipynb")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "/etc/passwd")
    with opened(download) as folder:
        assert set(find_students(folder)) == {"5", "out"}
        assert collected(folder, "5").notebook and collected(folder, "out").notebook
    assert not folder.exists()
    download.write_bytes(b"PK nonsense")
    with pytest.raises(CourseError, match="cannot be opened as a zip file"), opened(download):
        pass


def test_the_time_of_handing_in_is_the_stamp_or_that_of_the_outer_file(tmp_path):
    (tmp_path / "ada.zip").write_bytes(zipped(w__ipynb=TEXT))
    os.utime(tmp_path / "ada.zip", (1_700_000_000, 1_700_000_000))
    assert collected(tmp_path).handed_in == 1_700_000_000
    (tmp_path / "ben").mkdir()
    (tmp_path / "ben" / "w.ipynb").write_bytes(TEXT)
    (tmp_path / "ben" / "timestamp.txt").write_text("2026-10-05 21:59:00.500000 UTC\n")
    assert collected(tmp_path, "ben").handed_in == 1_791_237_540.5
    (tmp_path / "ben" / "timestamp.txt").write_text("yesterday")
    os.utime(tmp_path / "ben" / "w.ipynb", (1_600_000_000, 1_600_000_000))
    assert collected(tmp_path, "ben").handed_in == 1_600_000_000
