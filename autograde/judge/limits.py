"""How much time and memory student code may use, and the watch over one worker's use of it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import psutil

from autograde.judge.ended import AnswerEnded

SOCKET_SECONDS = 0.05  # how long a read of a channel waits before it looks at the clock
DISK_BYTES = 512 * 2**20
DISK_SECONDS = 0.25  # between two looks at a private folder that the system does not cap


@dataclass(frozen=True)
class Limits:
    """Processor seconds for one cell, resident bytes beyond what the libraries take, and whether student code
    may run on a machine that cannot confine it.

    Time is processor time: the worker's, and the judge's where it runs implementations for a student's test.
    The wall-clock backstop is generous, since on a busy machine a right answer can wait for long; it is for
    what sleeps or waits for ever.
    """

    cell_seconds: float = 60.0
    memory_bytes: int = 2 * 2**30
    patience: float = 60.0  # wall seconds on top of four times the processor seconds
    allow_unconfined: bool = False

    def wall_seconds(self, cpu_seconds: float) -> float:
        return self.patience + 4 * cpu_seconds


class Watch:
    """Processor time and memory of one worker process, and deadlines for what it is asked."""

    INTERVAL = 0.05  # seconds between two looks

    def __init__(self, pid: int, limits: Limits, used_disk: Callable[[], int] = lambda: 0) -> None:
        self.process = psutil.Process(pid)
        self.used_disk = used_disk
        self.disk_look = time.monotonic()
        self.limits = limits
        self.peak_bytes = 0
        self.base_bytes: int | None = None
        self.cpu_seconds = 0.0  # of the worker
        self.charged_seconds = 0.0  # of the judge: implementations that the worker's test called

    @property
    def total_seconds(self) -> float:
        return self.cpu_seconds + self.charged_seconds

    def look(self) -> None:
        """Read the process's use; a process that is gone keeps its last reading."""
        try:
            with self.process.oneshot():
                times = self.process.cpu_times()
                resident = self.process.memory_info().rss
        except psutil.Error:
            return
        self.cpu_seconds = max(self.cpu_seconds, times.user + times.system)
        self.peak_bytes = max(self.peak_bytes, resident)
        if self.base_bytes is None and resident:
            self.base_bytes = resident

    def disk_is_full(self) -> bool:
        """Does the worker's folder hold more than it may? Looks a few times a second at most."""
        now = time.monotonic()
        if now - self.disk_look < DISK_SECONDS:
            return False
        self.disk_look = now
        return self.used_disk() > DISK_BYTES

    def deadline(self, cpu_seconds: float) -> Deadline:
        self.look()
        return Deadline(self, cpu_seconds)


class Deadline:
    """The end of one request's time; `check` raises when it has come."""

    def __init__(self, watch: Watch, cpu_seconds: float) -> None:
        self.watch = watch
        self.allowed = cpu_seconds
        self.start_seconds = watch.total_seconds
        self.wall_start = self.last_look = time.monotonic()

    @property
    def used(self) -> float:
        return self.watch.total_seconds - self.start_seconds

    def check(self) -> None:
        """Raise AnswerEnded when time or memory ran out; looks at the process at most every 50 ms."""
        now = time.monotonic()
        if now - self.last_look < Watch.INTERVAL:
            return
        self.last_look = now
        self.watch.look()
        if self.used > self.allowed:
            raise AnswerEnded(
                "time_out", f"ran longer than {self.allowed:g} s of processor time and was stopped"
            )
        wall = self.watch.limits.wall_seconds(self.allowed)
        if now - self.wall_start > wall:
            raise AnswerEnded("time_out", f"did not finish within {wall:g} s and was stopped")
        extra = self.watch.peak_bytes - (self.watch.base_bytes or 0)
        if extra > self.watch.limits.memory_bytes:
            allowed = self.watch.limits.memory_bytes / 2**30
            raise AnswerEnded("resource_limit", f"used more than {allowed:g} GiB of memory and was stopped")
        if self.watch.disk_is_full():
            raise AnswerEnded("resource_limit", f"wrote more than {DISK_BYTES >> 20} MiB and was stopped")
