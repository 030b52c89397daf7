"""What a class handed in: one submission a student, from folders, single notebooks and zip files.

`DIR/<student>/.../<any>.ipynb`, `DIR/<student>.ipynb` and `DIR/<student>.zip` are read, also zip files inside
a student's folder. Links are not followed, nothing is unpacked to disk, names in an archive are only read.
"""

from __future__ import annotations

import lzma
import os
import stat
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from nbformat import NotebookNode

from lmcourse.errors import CourseError
from lmcourse.exercises import Week
from lmcourse.handin.match import week_of
from lmcourse.handin.read import MAX_BYTES, read_notebook

MAX_DEPTH = 5
MAX_FILES = 1_000  # looked at for one student
MAX_MEMBERS = 1_000
MAX_TOTAL = 4 * MAX_BYTES  # read for one student, archives unpacked
IGNORED = (".ipynb_checkpoints", "__MACOSX", "__pycache__")
# What Python's zipfile raises for archives that are broken, encrypted, or packed in a way it does not know.
_DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    RuntimeError,
    NotImplementedError,
    EOFError,
    ValueError,
    OSError,
)


@dataclass(frozen=True)
class Submission:
    """One student's work for a week: a notebook, or the problem that stands in its place.

    `source` says where it was found, `remarks` which files were passed over and why. `nothing` is true when
    there is no file at all, as opposed to one that cannot be read.
    """

    student: str
    notebook: NotebookNode | None = None
    source: str = ""
    problem: str = ""
    remarks: tuple[str, ...] = ()
    nothing: bool = False


@dataclass(frozen=True)
class _File:
    """A file that may be a notebook; `changed` orders several of them (seconds)."""

    name: str
    data: bytes
    changed: float


def find_students(folder: Path) -> dict[str, list[Path]]:
    """What each student put into the folder: student id -> files and folders, ordered by student.

    Raises:
        CourseError: the folder does not exist, is none, or holds nothing of this kind.
    """
    if not folder.exists():
        raise CourseError(f"the submissions folder {folder} does not exist")
    if not folder.is_dir():
        raise CourseError(f"{folder} is no folder: give the folder that holds one entry for each student")
    students: dict[str, list[Path]] = {}
    for entry in sorted(folder.iterdir()):
        if entry.name.startswith(".") or entry.name in IGNORED:
            continue
        if entry.suffix.lower() in (".ipynb", ".zip"):
            students.setdefault(entry.stem, []).append(entry)
        elif entry.is_dir() or entry.is_symlink():
            students.setdefault(entry.name, []).append(entry)
    if not students:
        raise CourseError(
            f"{folder} holds no submissions: expected a folder, an .ipynb or a .zip for each student"
        )
    return dict(sorted(students.items()))


def collect(student: str, paths: list[Path], week: Week) -> Submission:
    """The submission of one student from these files and folders; never raises for what they hold."""
    problems: list[str] = []
    newest: tuple[tuple[float, str], NotebookNode] | None = None  # (when it was changed, name), notebook
    n_matching = 0
    others: list[str] = []
    try:
        for file in _files(paths, problems):
            try:
                notebook = read_notebook(file.data, file.name)
            except CourseError as error:
                problems.append(str(error))
                continue
            found = week_of(notebook)
            if found == week.id:
                n_matching += 1
                order = (file.changed, file.name)
                newest = (order, notebook) if newest is None or order > newest[0] else newest
            else:
                what = f"belongs to {found}" if found else "is no notebook of this course"
                others.append(f"{file.name} {what}")
    except OSError as error:
        problems.append(f"{error.filename or student} cannot be read: {error.strerror or error}")
    if newest is None:
        problems += others
        if not problems:
            return Submission(student, problem="nothing was handed in", nothing=True)
        return Submission(student, problem="; ".join(problems[:3]))
    (_, name), notebook = newest
    if n_matching > 1:
        problems.append(f"{n_matching} notebooks of {week.id} were handed in; the newest, {name}, counts")
    return Submission(student, notebook, name, remarks=tuple(problems))


def _files(paths: list[Path], problems: list[str]) -> Iterator[_File]:
    """What may be a notebook, until more has been read than a student may hand in."""
    size = 0
    for file in _candidates(paths, problems):
        size += len(file.data)
        if size > MAX_TOTAL:
            most = MAX_TOTAL / 2**20
            problems.append(f"more than {most:.0f} MiB were handed in; the rest was not looked at")
            return
        yield file


def _candidates(paths: list[Path], problems: list[str]) -> Iterator[_File]:
    looked_at = 0
    for path in paths:
        for file in _walk(path, 0, problems):
            looked_at += 1
            if looked_at > MAX_FILES:
                problems.append(f"more than {MAX_FILES} files were handed in; the rest was not looked at")
                return
            if file.suffix.lower() == ".ipynb":
                yield _File(file.name, _read(file), file.stat().st_mtime)
            elif file.suffix.lower() == ".zip":
                yield from _members(file, problems)


def _walk(path: Path, depth: int, problems: list[str]) -> Iterator[Path]:
    """Regular files in and below `path`; links, devices and what lies too deep are passed over."""
    mode = path.lstat().st_mode
    if stat.S_ISREG(mode):
        yield path
    elif stat.S_ISLNK(mode):
        problems.append(f"{path.name} is a link; links are not followed")
    elif stat.S_ISDIR(mode) and depth < MAX_DEPTH and path.name not in IGNORED:
        for entry in sorted(path.iterdir()):
            yield from _walk(entry, depth + 1, problems)


def _read(path: Path) -> bytes:
    """At most one byte more than a notebook may have, through a descriptor that refuses a link."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
    with open(descriptor, "rb") as file:
        return file.read(MAX_BYTES + 1)


def _members(path: Path, problems: list[str]) -> Iterator[_File]:
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            if len(members) > MAX_MEMBERS:
                problems.append(f"{path.name} holds more than {MAX_MEMBERS} files; it was not opened")
                return
            for member in members:
                parts = Path(member.filename).parts
                if member.is_dir() or Path(member.filename).suffix.lower() != ".ipynb":
                    continue
                if any(part in IGNORED for part in parts) or parts[-1].startswith("._"):
                    continue
                with archive.open(member) as file:
                    data = file.read(MAX_BYTES + 1)
                yield _File(f"{path.name}/{parts[-1]}", data, _seconds(member.date_time))
    except _DAMAGED as error:
        problems.append(f"{path.name} cannot be opened as a zip file ({error})")


def _seconds(date: tuple[int, ...]) -> float:
    """Seconds since 1970 of a date inside an archive, which carries no time zone: local time is assumed."""
    try:
        return datetime(*date).timestamp()
    except (ValueError, OverflowError, OSError):  # month 0, as in archives that know no date
        return 0.0
