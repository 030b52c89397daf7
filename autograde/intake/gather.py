"""What a student put into the folder, as bytes: regular files only, bounded in number, size and depth.

Links are not followed and nothing is changed or unpacked on disk, so read-only files and folders do no harm.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from lmcourse.handin.read import MAX_BYTES

MAX_DEPTH = 5
MAX_FILES = 1_000  # looked at for one student
MAX_TOTAL = 4 * MAX_BYTES  # read for one student, archives unpacked
IGNORED = (".ipynb_checkpoints", "__MACOSX", "__pycache__", ".git")
ARCHIVES = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")
STAMP = "timestamp.txt"  # in which nbgrader's collect writes when something was handed in


@dataclass(frozen=True)
class File:
    """A notebook or an archive; `changed` orders several of them (seconds since 1970)."""

    name: str
    data: bytes
    changed: float


@dataclass(frozen=True)
class Gathered:
    """Notebooks and archives as bytes, what was passed over and why, and the names of everything else."""

    files: tuple[File, ...] = ()
    problems: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    stamp: str = ""  # the text of `timestamp.txt`, if there is one


def gather(student: str, paths: list[Path]) -> Gathered:
    """Read what one student handed in; never raises for what lies there."""
    problems: list[str] = []
    files: list[File] = []
    others: list[str] = []
    stamp = ""
    size = 0
    try:
        for number, path in enumerate(_regular_files(paths, problems)):
            if number >= MAX_FILES:
                problems.append(f"more than {MAX_FILES} files were handed in; the rest was not looked at")
                break
            if path.name == STAMP:
                stamp = _read(path)[:100].decode("ascii", "replace")
            elif path.name.startswith("._") or not is_wanted(path.name):
                others.append(path.name)
            else:
                size += min(path.stat().st_size, MAX_BYTES + 1)
                if size > MAX_TOTAL:
                    most = MAX_TOTAL / 2**20
                    problems.append(f"more than {most:.0f} MiB were handed in; the rest was not looked at")
                    break
                files.append(File(path.name, _read(path), path.stat().st_mtime))
    except OSError as error:
        name = Path(error.filename).name if error.filename else student
        problems.append(f"{name} cannot be read: {error.strerror or error}")
    return Gathered(tuple(files), tuple(problems), tuple(others), stamp)


def is_wanted(name: str) -> bool:
    return name.lower().endswith((".ipynb", *ARCHIVES))


def _regular_files(paths: list[Path], problems: list[str]) -> Iterator[Path]:
    for path in paths:
        yield from _walk(path, 0, problems)


def _walk(path: Path, depth: int, problems: list[str]) -> Iterator[Path]:
    """Regular files in and below `path`; links, devices and what lies too deep are passed over."""
    mode = path.lstat().st_mode
    if stat.S_ISREG(mode):
        yield path
    elif stat.S_ISLNK(mode):
        problems.append(f"{path.name} is a link; links are not followed")
    elif stat.S_ISDIR(mode) and path.name not in IGNORED:
        if depth >= MAX_DEPTH:
            problems.append(f"{path.name} lies more than {MAX_DEPTH} folders deep; it was not looked at")
            return
        for entry in sorted(path.iterdir()):
            yield from _walk(entry, depth + 1, problems)


def _read(path: Path) -> bytes:
    """At most one byte more than a notebook may have, through a descriptor that refuses a link."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
    with open(descriptor, "rb") as file:
        return file.read(MAX_BYTES + 1)
