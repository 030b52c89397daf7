"""Documents of many files, each once an epoch, over all ranks and loader workers together."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from lmcourse.data.order import block_order, units_of
from lmcourse.data.report import ReadReport
from lmcourse.data.shards import find_shards, read_shard
from lmcourse.errors import CourseError

BUFFER = 1024  # documents that are shuffled together


@dataclass(frozen=True)
class Document:
    """
    Attributes:
        shard: index in the sorted list of shards; `(shard, number)` names the document for good.
        number: of the record in its shard, from 1.
        text: the document.
    """

    shard: int
    number: int
    text: str


@dataclass(frozen=True)
class Cursor:
    """How far a consumer is: where its block of shuffled documents begins, and how many of it are given.

    Attributes:
        epoch: from 0.
        block: blocks given in full in this epoch.
        unit, after: the block begins in this unit, with the first record of a number above `after`.
        given: documents of the block that were given.
    """

    epoch: int = 0
    block: int = 0
    unit: int = 0
    after: int = 0
    given: int = 0


class ShardedStream:
    """The share of one consumer (a loader worker of a rank) in the documents of sharded files.

    Iterating gives the rest of the present epoch; iterating again gives the next one. The order is a function
    of (seed, epoch) and the number of consumers; no generator has to be saved. Memory: `buffer` documents.

    Attributes:
        shards: the files, sorted.
        report: what was bad or empty in what this consumer has read.
        cursor: what was *given* so far; documents read ahead do not count.
    """

    def __init__(
        self,
        paths: Iterable[str | Path],
        *,
        seed: int = 0,
        rank: int = 0,
        world: int = 1,
        worker: int = 0,
        workers: int = 1,
        buffer: int = BUFFER,
        field: str = "text",
    ) -> None:
        """
        Args:
            paths: files and folders, as in `find_shards`.
            seed: of the order.
            rank, world: this process among those that train together.
            worker, workers: this loader worker among those of a rank.
            buffer: documents that are shuffled together; 1 keeps the order of the files.
            field: of a JSON object, or column of a Parquet file, that holds the text.

        Raises:
            CourseError: no such files, or a rank, worker, seed or buffer that cannot be.
        """
        for name, index, count in (("rank", rank, world), ("worker", worker, workers)):
            if not 0 <= index < count:
                raise CourseError(f"{name}: expected 0 to {count - 1}, got {index}")
        for name, value, least in (("seed", seed, 0), ("buffer", buffer, 1)):
            if value < least:
                raise CourseError(f"{name}: expected at least {least}, got {value}")
        self.shards = find_shards(paths)
        self.report = ReadReport()
        self.cursor = Cursor()
        self._seed, self._buffer, self._field = seed, buffer, field
        self._world, self._workers = world, workers
        self._consumers, self._consumer = world * workers, rank * workers + worker

    def __iter__(self) -> Iterator[Document]:
        """The rest of the epoch; from a state saved exactly at an epoch's end, the whole next epoch.

        Raises:
            CourseError: a file is damaged.
        """
        begun = self.cursor != Cursor(self.cursor.epoch)
        gave = False
        for document in self.rest_of_epoch():
            gave = True
            yield document
        if begun and not gave:
            yield from self.rest_of_epoch()

    def rest_of_epoch(self) -> Iterator[Document]:
        """What is left of the present epoch, which may be nothing; then the cursor stands at the next one."""
        yield from self._documents()
        self.cursor = Cursor(self.cursor.epoch + 1)

    def state_dict(self) -> dict[str, Any]:
        """Where to go on: plain numbers and text."""
        return {"cursor": asdict(self.cursor), **self._identity()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on where `state_dict` was taken; the next document is the one that came next then.

        Raises:
            CourseError: the state is of other files, another order, or another number of consumers.
        """
        for name, value in self._identity().items():
            saved = state.get(name)
            if saved != value:
                raise CourseError(
                    f"{name}: the state of the stream was saved with {saved!r}, here it is {value!r}; go on "
                    "with the same files and numbers, or begin anew"
                )
        self.cursor = Cursor(**state["cursor"])

    def _identity(self) -> dict[str, Any]:
        """What the order depends on, beside the cursor."""
        names = "\n".join(f"{shard.name} {shard.stat().st_size}" for shard in self.shards)
        return {
            "files": hashlib.sha256(names.encode()).hexdigest()[:16],
            "field": self._field,
            "seed": self._seed,
            "buffer": self._buffer,
            "world": self._world,
            "workers": self._workers,
            "consumer": self._consumer,
        }

    def _documents(self) -> Iterator[Document]:
        epoch = self.cursor.epoch
        documents = self._in_file_order(epoch, self.cursor.unit, self.cursor.after)
        while block := list(islice(documents, self._buffer)):
            start = self.cursor
            order = block_order(len(block), self._consumer, start.block, self._seed, epoch)
            unit, last = block[-1]
            for given, index in enumerate(order[start.given :].tolist(), start=start.given + 1):
                if given < len(block):
                    self.cursor = Cursor(epoch, start.block, start.unit, start.after, given)
                else:
                    self.cursor = Cursor(epoch, start.block + 1, unit, last.number)
                yield block[index][1]

    def _in_file_order(self, epoch: int, first: int, after: int) -> Iterator[tuple[int, Document]]:
        """Documents with the index of their unit, from a unit and a record number on."""
        units = units_of(len(self.shards), self._consumers, self._consumer, self._seed, epoch)
        for index, unit in enumerate(units[first:], start=first):
            skip = after if index == first else 0
            path = self.shards[unit.shard]
            for record in read_shard(path, self.report, self._field, skip, unit.lane, unit.lanes):
                yield index, Document(unit.shard, record.number, record.text)
