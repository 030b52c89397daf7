"""Text to ids by the chunk, in one process or in several; the order is that of the text."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from lmcourse.data.report import ReadReport
from lmcourse.data.shards import read_shard
from lmcourse.data.split import TRAIN, VALIDATION, Part, Splitter
from lmcourse.errors import CourseError
from lmcourse.tokenizers import Tokenizer, load_tokenizer

CHUNK = 500_000  # characters, about, that are encoded at once
Ids = dict[str, np.ndarray]


@dataclass(frozen=True)
class Chunk:
    """Parts of a file, and all that is needed to go on behind them.

    Attributes:
        shard: index of the file.
        after: number of the last record.
        places, parts: each part and the record it is of.
        split, report: states of splitter and report behind the last record.
    """

    shard: int
    after: int
    places: list[str]
    parts: list[Part]
    split: list[Any]
    report: dict[str, Any]


def chunks(
    shards: Sequence[Path], field: str, splitter: Splitter, report: ReadReport, first: int, after: int
) -> Iterator[Chunk]:
    """All records from one on, in chunks; a chunk ends with its file at the latest.

    Args:
        shards, field: as in `read_shard`.
        splitter, report: in the state that belongs to the beginning; they move on.
        first, after: begin in this file, behind this record.
    """
    for shard, path in enumerate(shards[first:], start=first):
        number = after if shard == first else 0
        places, parts, size = [], [], 0
        for record in read_shard(path, report, field, number):
            number = record.number
            for part in splitter.parts(record):
                places.append(f"{path}:{number}")
                parts.append(part)
            size += len(record.text)
            if size >= CHUNK:
                yield Chunk(shard, number, places, parts, splitter.state(), report.to_json())
                places, parts, size = [], [], 0
        yield Chunk(shard, number, places, parts, splitter.state(), report.to_json())


def encoded(
    source: Iterable[Chunk], tokenizer: Path, eos: int | None, jobs: int
) -> Iterator[tuple[Chunk, Ids]]:
    """The chunks in order, each with its ids by side.

    Args:
        source: chunks.
        tokenizer: file.
        eos: closes each document; None for one endless text.
        jobs: processes; 1 encodes in this one.

    Raises:
        CourseError: the tokenizer cannot spell something; names the record.
    """
    if jobs == 1:
        own = load_tokenizer(tokenizer)
        for chunk in source:
            yield chunk, encode(own, eos, chunk)
        return
    waiting: deque[tuple[Chunk, Future[Ids]]] = deque()
    with ProcessPoolExecutor(jobs, get_context("spawn"), _begin, (tokenizer, eos)) as pool:
        for chunk in source:
            waiting.append((chunk, pool.submit(_encode, chunk)))
            if len(waiting) > 2 * jobs:
                done, ids = waiting.popleft()
                yield done, ids.result()
        while waiting:
            done, ids = waiting.popleft()
            yield done, ids.result()


def encode(tokenizer: Tokenizer, eos: int | None, chunk: Chunk) -> Ids:
    """The ids of a chunk by side, each (N,) uint32."""
    ids: dict[str, list[np.ndarray]] = {side: [np.empty(0, np.uint32)] for side in (TRAIN, VALIDATION)}
    end = np.array([eos or 0], np.uint32)
    for place, part in zip(chunk.places, chunk.parts, strict=True):
        try:
            ids[part.side].append(tokenizer.encode_array(part.text))
        except CourseError as problem:
            raise CourseError(f"{place}: {problem}") from None
        if part.ends and eos is not None:
            ids[part.side].append(end)
    return {side: np.concatenate(pieces) for side, pieces in ids.items()}


_own: list[Any] = []  # of a worker process: its tokenizer and the id that closes a document


def _begin(tokenizer: Path, eos: int | None) -> None:
    _own[:] = load_tokenizer(tokenizer), eos


def _encode(chunk: Chunk) -> Ids:
    return encode(*_own, chunk)
