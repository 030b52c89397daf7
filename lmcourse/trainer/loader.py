"""Batches made ahead of time. They are pure functions of their numbers, so nothing of it has to be saved."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Self

from lmcourse.packing import Batch
from lmcourse.trainer.batches import BatchAt

AHEAD = 2  # batches for each worker


class Loader:
    """Gives the batch of a number; with workers it makes those that are likely to be next meanwhile.

    Workers are threads: torch and numpy compute outside Python's lock, nothing has to be copied between
    processes, and there is no generator that a worker could inherit a copy of.
    """

    def __init__(self, batch_at: BatchAt, workers: int) -> None:
        """
        Args:
            batch_at: a pure function of the number.
            workers: 0 makes each batch when it is asked for.
        """
        self._batch_at = batch_at
        self._ahead = AHEAD * workers
        self._pool = ThreadPoolExecutor(workers, "loader") if workers else None
        self._pending: dict[int, Future[Batch]] = {}

    def take(self, number: int) -> Batch:
        """The batch of this number, in any order.

        Raises:
            CourseError: whatever `batch_at` raises.
        """
        if self._pool is None:
            return self._batch_at(number)
        wanted = range(number, number + 1 + self._ahead)
        for late in [n for n in self._pending if n not in wanted]:
            self._pending.pop(late).cancel()
        for n in wanted:
            if n not in self._pending:
                self._pending[n] = self._pool.submit(self._batch_at, n)
        return self._pending[number].result()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
