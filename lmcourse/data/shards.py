"""Documents of sharded files, one after the other: the memory needed is that of a record, not of a file.

JSON Lines (plain, zstd, gzip), Parquet, and plain text with lines <|endoftext|> between its documents.
A record is a line, a row or a text; records are numbered from 1 in their file, bad ones included, so that a
number means the same record in every reading.
"""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from lmcourse.corpora.text_files import files_below, text_of_record
from lmcourse.data.report import ReadReport
from lmcourse.data.text_shard import read_text
from lmcourse.errors import CourseError

JSON_LINES = (".jsonl", ".jsonl.zst", ".jsonl.gz")
TEXT = (".txt", ".md")
SUFFIXES = (*JSON_LINES, ".parquet", *TEXT)
MOST_BYTES = 1 << 26  # of one line; a longer one is a file of another kind
ROWS = 512  # of a Parquet file in memory at once
_DAMAGE = (OSError, EOFError, zlib.error)


@dataclass(frozen=True)
class Record:
    """
    Attributes:
        number: of the record in its file, from 1.
        text: the document, or a piece of one.
        ends: the document ends here; false only for the pieces of a very long plain text.
    """

    number: int
    text: str
    ends: bool = True


def find_shards(paths: Iterable[str | Path]) -> list[Path]:
    """Files as they are named, folders with all readable files below them; sorted, each once.

    Raises:
        CourseError: nothing there, no readable file in a folder, or a file of an unknown kind.
    """
    shards: set[Path] = set()
    for path in map(Path, paths):
        if not path.exists():
            raise CourseError(f"{path}: no such file or folder")
        if path.is_file() and not path.name.lower().endswith(SUFFIXES):
            raise CourseError(f"{path}: unknown kind of file; expected {', '.join(SUFFIXES)}")
        shards.update(files_below(path, SUFFIXES) if path.is_dir() else [path])
    if not shards:
        raise CourseError("paths: name at least one file or folder")
    return sorted(shards)


def read_shard(
    path: Path,
    report: ReadReport,
    field: str = "text",
    after: int = 0,
    lane: int = 0,
    lanes: int = 1,
) -> Iterator[Record]:
    """The good records of a file, in order.

    Args:
        path: of a kind in SUFFIXES.
        report: takes what is bad (no JSON, no such field, no string, no UTF-8) or empty.
        field: of a JSON object, or column of a Parquet file, that holds the text.
        after: records up to this number are skipped, without a look into them.
        lane, lanes: only records whose number leaves `lane` when divided by `lanes`.

    Raises:
        CourseError: the file cannot be opened, breaks off, or has no such column.
    """
    kind = path.name.lower()
    if kind.endswith(".parquet"):
        numbered = _parquet_rows(path, field, after)
    elif kind.endswith(TEXT):
        numbered = read_text(path, report)
    else:
        numbered = _lines(path, report, after)
    with closing(numbered):
        for number, raw in numbered:
            if number <= after or number % lanes != lane:
                continue
            try:
                record = _record(number, raw, field, kind.endswith(".parquet"))
            except ValueError as problem:
                report.add_bad(path, number, str(problem))
                continue
            if record.text.strip():
                yield record
            elif record.ends:
                report.add_empty(path, number)


def _record(number: int, raw, field: str, is_text: bool) -> Record:
    """Raises ValueError with the reason why it is none."""
    if isinstance(raw, tuple):  # of a plain text
        return Record(number, *raw)
    if raw is None:
        raise ValueError(f'the field "{field}" is null')
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as problem:
        raise ValueError(f"not UTF-8: byte 0x{raw[problem.start]:02x} at offset {problem.start}") from None
    return Record(number, text if is_text else text_of_record(text, field))


def _lines(path: Path, report: ReadReport, after: int) -> Iterator[tuple[int, bytes]]:
    """Lines that hold something, with their numbers."""
    number = 0
    try:
        with _opened(path) as file:
            while line := file.readline(MOST_BYTES + 1):
                number += 1
                if len(line) > MOST_BYTES:
                    report.add_bad(path, number, f"longer than {MOST_BYTES >> 20} MiB")
                    while line and not line.endswith(b"\n"):
                        line = file.readline(MOST_BYTES)
                elif number > after and not line.isspace():
                    yield number, line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
    except _DAMAGE as problem:
        raise _broken(path, f"line {number}", problem) from None


def _opened(path: Path) -> io.BufferedReader:
    if path.name.lower().endswith(".zst"):
        import pyarrow

        return io.BufferedReader(pyarrow.input_stream(str(path), compression="zstd"), 1 << 16)
    return gzip.open(path, "rb") if path.name.lower().endswith(".gz") else open(path, "rb")


def _parquet_rows(path: Path, field: str, after: int) -> Iterator[tuple[int, bytes | None]]:
    """Cells of the text column as bytes, from the row group of the first wanted row on."""
    import pyarrow
    from pyarrow import parquet

    number = 0
    try:
        with parquet.ParquetFile(path, page_checksum_verification=True) as file:
            names = file.schema_arrow.names
            if field not in names:
                raise CourseError(f'{path}: no column "{field}"; its columns are {", ".join(names)}')
            kind = file.schema_arrow.field(field).type
            if pyarrow.types.is_dictionary(kind):
                kind = kind.value_type
            binary = (pyarrow.binary(), pyarrow.large_binary())
            if kind not in (pyarrow.string(), pyarrow.large_string(), pyarrow.string_view(), *binary):
                raise CourseError(f'{path}: the column "{field}" holds {kind}, no text')
            for group in range(file.num_row_groups):
                rows = file.metadata.row_group(group).num_rows
                if number + rows <= after:
                    number += rows
                    continue
                for batch in file.iter_batches(ROWS, [group], [field], use_threads=False):
                    for cell in batch.column(0).cast(kind).cast(pyarrow.large_binary()).to_pylist():
                        number += 1
                        yield number, cell
    except (*_DAMAGE, pyarrow.ArrowException) as problem:
        raise _broken(path, f"row {number}", problem) from None


def _broken(path: Path, place: str, problem: Exception) -> CourseError:
    reason = " ".join(str(getattr(problem, "strerror", None) or problem).split())
    return CourseError(f"{path}: cannot be read after {place} ({reason}); fetch or write the file again")
