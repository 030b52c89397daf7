"""A stream read by loader workers, with a state that says what was received, not what was read ahead."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from torch.utils.data import DataLoader, IterableDataset, get_worker_info

from lmcourse.data.report import ReadReport
from lmcourse.data.stream import Cursor, Document, ShardedStream


class StreamLoader:
    """The documents of one rank, read by worker processes; each pass gives the rest of an epoch.

    Attributes:
        report: what was bad or empty, over all workers, as far as their documents have arrived.
    """

    def __init__(self, paths: Iterable[str | Path], *, workers: int = 0, **settings: Any) -> None:
        """
        Args:
            paths: files and folders, as in `find_shards`.
            workers: processes; 0 reads in this one.
            settings: of `ShardedStream`: seed, rank, world, buffer, field.

        Raises:
            CourseError: as `ShardedStream`.
        """
        paths = list(paths)
        self._processes, count = workers, max(1, workers)
        self._streams = [ShardedStream(paths, worker=w, workers=count, **settings) for w in range(count)]
        self._reports = {w: ReadReport() for w in range(count)}

    @property
    def report(self) -> ReadReport:
        total = ReadReport()
        for report in self._reports.values():
            total.merge(report)
        return total

    def __iter__(self) -> Iterator[Document]:
        """The rest of the epoch; from a state saved exactly at its end, the whole next epoch."""
        begun = len({stream.cursor.epoch for stream in self._streams}) > 1 or any(
            stream.cursor != Cursor(stream.cursor.epoch) for stream in self._streams
        )
        gave = False
        for document in self._rest_of_epoch():
            gave = True
            yield document
        if begun and not gave:
            yield from self._rest_of_epoch()

    def state_dict(self) -> dict[str, Any]:
        """Where each worker is, counting only documents that were received."""
        return {"workers": [stream.state_dict() for stream in self._streams]}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """
        Raises:
            CourseError: as `ShardedStream.load_state_dict`; also for another number of workers.
        """
        saved = state["workers"]
        for index, stream in enumerate(self._streams):
            stream.load_state_dict(saved[min(index, len(saved) - 1)])  # a wrong number of them shows in each

    def _rest_of_epoch(self) -> Iterator[Document]:
        source = _Workers(self._streams)
        items: Iterable = source
        if self._processes:
            items = DataLoader(source, batch_size=None, num_workers=self._processes)
        for worker, document, cursor, report in items:
            self._streams[worker].cursor = cursor
            if report is not None:
                self._reports[worker] = ReadReport.from_json(report)
            if document is not None:
                yield document


class _Workers(IterableDataset):
    """What runs in a worker: its own stream; a last item without document tells the end of the epoch."""

    def __init__(self, streams: list[ShardedStream]) -> None:
        self._streams = streams
        self._epoch = min(stream.cursor.epoch for stream in streams)

    def __iter__(self) -> Iterator[tuple[int, Document | None, Cursor, dict[str, Any] | None]]:
        info = get_worker_info()
        worker = 0 if info is None else info.id
        stream = self._streams[worker]
        if stream.cursor.epoch > self._epoch:  # this worker was through before the state was saved
            return
        told = None
        for document in stream.rest_of_epoch():
            now = (stream.report.bad, stream.report.empty)
            yield worker, document, stream.cursor, stream.report.to_json() if now != told else None
            told = now
        yield worker, None, stream.cursor, stream.report.to_json()
