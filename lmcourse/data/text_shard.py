"""Plain text by the document, or by the piece where one is too long to be held whole."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from lmcourse.corpora.text_files import SEPARATOR
from lmcourse.data.report import ReadReport
from lmcourse.errors import CourseError

PIECE = 1 << 20  # characters, about, of a piece of a long document


def read_text(path: Path, report: ReadReport) -> Iterator[tuple[int, tuple[str, bool]]]:
    """Number, and (text, whether its document ends with it), of each document or piece of a UTF-8 file.

    A document of more than a million characters comes in pieces, cut after a line break that has white space
    on neither side: no tokenizer of this course has a token that reaches over such a place, so the ids are
    those of the whole text. A line that is not UTF-8 text is left out of its document, and reported.

    Raises:
        CourseError: the file cannot be read.
    """
    number = line_number = 0
    lines: list[str] = []
    characters = 0
    try:
        with open(path, "rb") as file:
            for line_number, raw in enumerate(file, start=1):
                try:
                    line = _decoded(raw, first=line_number == 1)
                except ValueError as problem:
                    report.add_bad(path, line_number, str(problem))
                    continue
                if SEPARATOR.fullmatch(line):
                    number += 1
                    yield number, ("".join(lines), True)
                    lines, characters = [], 0
                    continue
                if characters >= PIECE and _no_space_between(lines[-1], line):
                    number += 1
                    yield number, ("".join(lines), False)
                    lines, characters = [], 0
                lines.append(line)
                characters += len(line)
    except OSError as problem:
        raise CourseError(
            f"{path}: cannot be read after line {line_number} ({problem.strerror or problem})"
        ) from None
    if lines:
        yield number + 1, ("".join(lines), True)


def _decoded(raw: bytes, first: bool) -> str:
    if first:
        raw = raw.removeprefix(b"\xef\xbb\xbf")
    try:
        line = raw.decode("utf-8")
    except UnicodeDecodeError as problem:
        raise ValueError(
            f"not UTF-8: byte 0x{raw[problem.start]:02x} at offset {problem.start} of the line"
        ) from None
    if "\0" in line:
        raise ValueError("no text: a zero byte (is the file UTF-16?)")
    return line


def _no_space_between(before: str, after: str) -> bool:
    return before.endswith("\n") and not before[-2:-1].isspace() and not after[:1].isspace()
