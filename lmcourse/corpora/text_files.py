"""The user's own text: plain files, JSON Lines, folders of both."""

from __future__ import annotations

import json
import re
from pathlib import Path

from lmcourse.errors import CourseError

SUFFIXES = (".txt", ".md", ".jsonl")
SEPARATOR = re.compile(r"(?:(?<=\n)|\A)<\|endoftext\|>[ \t]*(?:\r?\n|\Z)")


def read_documents(path: str | Path) -> list[str]:
    """The documents of a file, or of all .txt, .md and .jsonl files of a folder, in sorted order.

    A .jsonl file gives one document a line, its `text`. Any other file is UTF-8 text, with or without a byte
    order mark: one document, or several where lines that hold only <|endoftext|> stand between them. Text is
    kept as it is, line endings included; documents of white space alone are left out. Folders are read with
    their subfolders; names that begin with a dot are skipped.

    Raises:
        CourseError: nothing there, no readable file in the folder, no text in what there is, bytes that are
            not UTF-8 (with their offset), or a line that is no JSON object with a string `text` (with its
            number).
    """
    path = Path(path)
    if not path.exists():
        raise CourseError(f"{path}: no such file or folder")
    if path.name.lower().endswith((".zst", ".gz", ".parquet")):
        raise CourseError(f"{path}: make it ready first, with: lmcourse data prepare {path} --out DIR")
    files = files_below(path, SUFFIXES) if path.is_dir() else [path]
    documents = [document for file in files for document in _read_file(file)]
    if not documents:
        raise CourseError(f"{path}: there is no text in it")
    return documents


def files_below(folder: Path, suffixes: tuple[str, ...]) -> list[Path]:
    """Files in a folder and below it by the end of their names, sorted; hidden ones are left out.

    Raises:
        CourseError: there is none.
    """
    inside = sorted(folder.rglob("*"), key=lambda file: file.relative_to(folder).parts)
    files = [
        file
        for file in inside
        if file.name.lower().endswith(suffixes)
        and not any(part.startswith(".") for part in file.relative_to(folder).parts)
        and file.is_file()
    ]
    if not files:
        raise CourseError(f"{folder}: no {', '.join(suffixes)} file in this folder")
    return files


def _read_file(file: Path) -> list[str]:
    text = _decode(file)
    documents = _json_lines(file, text) if file.suffix.lower() == ".jsonl" else SEPARATOR.split(text)
    return [document for document in documents if document.strip()]


def _decode(file: Path) -> str:
    try:
        raw = file.read_bytes()
    except OSError as problem:
        raise CourseError(f"{file}: cannot be read: {problem.strerror or problem}") from problem
    source = "UTF-16" if raw[:2] in (b"\xff\xfe", b"\xfe\xff") else "YOUR-ENCODING"
    advice = f"save it as UTF-8, for example: iconv -f {source} -t UTF-8 {file.name} > utf8-{file.name}"
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as problem:
        bad = raw[problem.start]
        raise CourseError(
            f"{file}: not UTF-8: byte 0x{bad:02x} at offset {problem.start}; {advice}"
        ) from None
    if "\0" in text:
        raise CourseError(f"{file}: no text: zero byte at offset {raw.index(0)}; if it is UTF-16, {advice}")
    return text.removeprefix("\ufeff")


def _json_lines(file: Path, text: str) -> list[str]:
    documents = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            documents.append(text_of_record(line))
        except ValueError as problem:
            raise CourseError(f"{file}:{number}: {problem}") from None
    return documents


def text_of_record(line: str, field: str = "text") -> str:
    """The text of one line of JSON Lines.

    Raises:
        ValueError: no JSON object with a string in `field`, or one that UTF-8 cannot write; says which.
    """
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        raise ValueError("not JSON; each line must be an object with a text") from None
    if not isinstance(record, dict) or field not in record:
        raise ValueError(f'no field "{field}"; each line must look like {{"{field}": "..."}}')
    text = record[field]
    if not isinstance(text, str):
        raise ValueError(f'the field "{field}" must be a string; got {type(text).__name__}')
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise ValueError("the text holds half a surrogate pair (\\ud800..\\udfff)") from None
    return text
