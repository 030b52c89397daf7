"""The notebooks in zip and tar archives, bounded in size, number and depth; nothing is unpacked to disk."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from datetime import datetime
from pathlib import PurePosixPath
from typing import BinaryIO

from autograde.intake.gather import ARCHIVES, IGNORED, File, is_wanted
from lmcourse.handin.read import MAX_BYTES

MAX_MEMBERS = 1_000
MAX_NESTING = 2  # an archive in an archive is opened, one more level is not
UNPACK = {"gz": gzip.open, "tgz": gzip.open, "bz2": bz2.open, "xz": lzma.open}
# What Python's readers raise for archives that are broken, encrypted, or packed in a way they do not know.
DAMAGED = (
    zipfile.BadZipFile,
    tarfile.TarError,
    zlib.error,
    lzma.LZMAError,
    RuntimeError,
    NotImplementedError,
    EOFError,
    ValueError,
    OSError,
)


class TooMuch(Exception):
    """An archive holds more than a student may hand in."""


class Budget:
    """Bytes that may still be unpacked for one student."""

    def __init__(self, size: int) -> None:
        self.left = size

    def take(self, size: int) -> None:
        self.left -= size
        if self.left < 0:
            raise TooMuch


def notebooks(file: File, budget: Budget, problems: list[str], depth: int = 1) -> Iterator[File]:
    """The file itself if it is a notebook, else the notebooks in the archive that it is.

    Raises:
        TooMuch: the budget is used up.
    """
    if not file.name.lower().endswith(ARCHIVES):
        budget.take(len(file.data))
        yield file
        return
    if depth > MAX_NESTING:
        problems.append(f"{file.name} lies in an archive inside an archive; it was not opened")
        return
    read = _zip_members if file.name.lower().endswith(".zip") else _tar_members
    try:
        for member in read(file, budget, problems):
            yield from notebooks(member, budget, problems, depth + 1)
    except DAMAGED as error:
        kind = "zip" if read is _zip_members else "tar"
        reason = (str(error).splitlines() or [type(error).__name__])[0][:100]
        problems.append(f"{file.name} cannot be opened as a {kind} file ({reason})")


def _zip_members(file: File, budget: Budget, problems: list[str]) -> Iterator[File]:
    with zipfile.ZipFile(io.BytesIO(file.data)) as archive:
        members = archive.infolist()
        if len(members) > MAX_MEMBERS:
            problems.append(f"{file.name} holds more than {MAX_MEMBERS} files; it was not opened")
            return
        for member in members:
            if member.is_dir() or not _is_member_wanted(member.filename):
                continue
            if member.external_attr >> 28 == 0o12:  # the Unix mode of a symbolic link
                problems.append(f"{_last(member.filename)} is a link; links are not followed")
                continue
            with archive.open(member) as opened:
                data = _bounded(opened, budget)
            yield File(f"{file.name}/{_last(member.filename)}", data, seconds(member.date_time))


def _tar_members(file: File, budget: Budget, problems: list[str]) -> Iterator[File]:
    """Read as a stream, so that what is unpacked is counted whether it is wanted or not."""
    unpack = UNPACK.get(file.name.lower().rpartition(".")[2], lambda raw: raw)
    with (
        unpack(io.BytesIO(file.data)) as plain,
        tarfile.open(fileobj=_Counted(plain, budget), mode="r|") as archive,
    ):
        for number, member in enumerate(archive):
            if number >= MAX_MEMBERS:
                problems.append(
                    f"{file.name} holds more than {MAX_MEMBERS} files; the rest was not looked at"
                )
                return
            if member.issym() or member.islnk():
                problems.append(f"{_last(member.name)} is a link; links are not followed")
            elif member.isfile() and _is_member_wanted(member.name):
                opened = archive.extractfile(member)
                yield File(
                    f"{file.name}/{_last(member.name)}", opened.read(MAX_BYTES + 1), float(member.mtime)
                )


class _Counted(io.RawIOBase):
    """A stream whose bytes come off a budget."""

    def __init__(self, source: BinaryIO, budget: Budget) -> None:
        self.source = source
        self.budget = budget

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        data = self.source.read(size)
        self.budget.take(len(data))
        return data


def _bounded(opened: BinaryIO, budget: Budget) -> bytes:
    data = opened.read(min(MAX_BYTES, budget.left) + 1)
    if len(data) > budget.left:
        raise TooMuch
    return data


def _is_member_wanted(name: str) -> bool:
    parts = PurePosixPath(name).parts
    return (
        bool(parts) and is_wanted(name) and not (set(parts) & set(IGNORED)) and not parts[-1].startswith("._")
    )


def _last(name: str) -> str:
    return PurePosixPath(name).name or "?"


def seconds(date: tuple[int, ...]) -> float:
    """Seconds since 1970 of a date inside an archive, which carries no time zone: local time is assumed."""
    try:
        return datetime(*date).timestamp()
    except (ValueError, OverflowError, OSError):  # month 0, as in archives that know no date
        return 0.0
