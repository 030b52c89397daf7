"""Who is in a folder of submissions: plain entries, and what Moodle and Canvas call the files they hand over.

- plain: `<student>/...`, `<student>.ipynb`, `<student>.zip` (or a tar archive); the name is the student's id;
- Moodle: `<full name>_<number>_assignsubmission_file_/...`, or with the file's own name behind it;
- Canvas: `<name>_LATE_<user>_<submission>_<file>`, where `LATE` may be absent and the file may end in `-2`.

Ids are names, never patterns: `[x]` is a student whose id is `[x]`.
"""

from __future__ import annotations

import os
import re
import stat
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from autograde.intake.archives import DAMAGED, seconds
from autograde.intake.gather import ARCHIVES, IGNORED
from lmcourse.errors import CourseError
from lmcourse.handin.read import MAX_BYTES

MOODLE = re.compile(r"(?P<name>.+)_(?P<id>\d+)_assignsubmission_[a-z]+_?(?P<file>.*)", re.DOTALL)
CANVAS = re.compile(r"(?P<name>[^_]+)(?:_LATE)?_(?P<id>\d+)_\d+_.+", re.DOTALL)
MAX_DOWNLOAD_FILES = 50_000
MAX_DOWNLOAD = 8 * 2**30  # bytes, unpacked


@dataclass
class Entrant:
    """One student's files and folders; `name` is what the platform calls the student, if it says so."""

    student: str
    paths: list[Path] = field(default_factory=list)
    name: str = ""


def find_students(folder: Path) -> dict[str, Entrant]:
    """Everybody in the folder, by student id and ordered by it.

    Raises:
        CourseError: the folder does not exist, is none, or holds nothing of this kind.
    """
    if not folder.exists():
        raise CourseError(f"the submissions folder {folder} does not exist")
    if not folder.is_dir():
        raise CourseError(f"{folder} is no folder: give the folder that holds one entry for each student")
    try:
        entries = [
            e for e in sorted(folder.iterdir()) if not e.name.startswith(".") and e.name not in IGNORED
        ]
        entries = [e for e in entries if e.is_symlink() or e.is_dir() or _is_work(e.name)]
    except OSError as error:
        raise CourseError(f"{folder} cannot be read: {error.strerror}") from None
    students: dict[str, Entrant] = {}
    # Canvas names flat files only, and all of them: one file that does not fit is a plain folder of files.
    is_canvas = bool(entries) and all(e.is_file() and CANVAS.fullmatch(_stem(e.name)) for e in entries)
    for entry in entries:
        stem = entry.name if entry.is_dir() else _stem(entry.name)
        match = MOODLE.fullmatch(stem) or (CANVAS.fullmatch(stem) if is_canvas else None)
        student, name = (match["id"], match["name"]) if match else (stem, "")
        known = students.setdefault(student, Entrant(student, name=name))
        known.paths.append(entry)
    if not students:
        raise CourseError(
            f"{folder} holds no submissions: expected a folder, an .ipynb or a .zip for each student"
        )
    return dict(sorted(students.items()))


@contextmanager
def opened(submissions: Path) -> Iterator[Path]:
    """The folder of submissions; a platform's download as one .zip is unpacked into a temporary folder.

    Raises:
        CourseError: the .zip is damaged, or holds more than a class may hand in.
    """
    if not (submissions.is_file() and submissions.suffix.lower() == ".zip"):
        yield submissions
        return
    with tempfile.TemporaryDirectory(prefix="submissions-") as folder:
        try:
            with zipfile.ZipFile(submissions) as archive:
                _unpack(archive, Path(folder), submissions)
        except DAMAGED as error:
            raise CourseError(f"{submissions} cannot be opened as a zip file ({error})") from None
        yield Path(folder)


def _unpack(archive: zipfile.ZipFile, folder: Path, source: Path) -> None:
    """Regular files only, each below `folder` whatever its name says."""
    members = [m for m in archive.infolist() if not m.is_dir() and not stat.S_ISLNK(m.external_attr >> 16)]
    if len(members) > MAX_DOWNLOAD_FILES or sum(m.file_size for m in members) > MAX_DOWNLOAD:
        raise CourseError(f"{source} holds more than {MAX_DOWNLOAD_FILES} files or {MAX_DOWNLOAD >> 30} GiB")
    for member in members:
        parts = [
            p for p in PurePosixPath(member.filename.replace("\\", "/")).parts if p not in ("/", "..", ".")
        ]
        if not parts or set(parts) & set(IGNORED):
            continue
        target = folder.joinpath(*parts)
        target.parent.mkdir(parents=True, exist_ok=True)
        with archive.open(member) as packed, open(target, "wb") as plain:
            plain.write(packed.read(MAX_BYTES + 1))
        changed = seconds(member.date_time)
        os.utime(target, (changed, changed))


def _is_entry(path: Path) -> bool:
    if path.name.startswith(".") or path.name in IGNORED:
        return False
    return path.is_symlink() or path.is_dir() or _is_work(path.name)


def _is_work(name: str) -> bool:
    return name.lower().endswith((".ipynb", *ARCHIVES))


def _stem(name: str) -> str:
    for suffix in sorted((".ipynb", *ARCHIVES), key=len, reverse=True):
        if name.lower().endswith(suffix):
            return name[: -len(suffix)]
    return name
