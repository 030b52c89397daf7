"""Judge processes side by side. Each has a pool of its own: one that dies takes no other work along."""

from __future__ import annotations

import multiprocessing
import os
import queue
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool

from autograde.grading.one import Graded, Task, failed, grade_one

TRIES = 2


def grade_all(tasks: list[Task], jobs: int, work: Callable[[Task], Graded] = grade_one) -> Iterator[Graded]:
    """Grade every task; outcomes come in the order in which they are ready.

    Raises:
        OSError: a verdict cannot be written.
    """
    waiting: queue.SimpleQueue[Task] = queue.SimpleQueue()
    for task in tasks:
        waiting.put(task)
    ready: queue.SimpleQueue[Graded | BaseException] = queue.SimpleQueue()
    stop = threading.Event()
    drivers = [
        threading.Thread(target=_drive, args=(waiting, ready, stop, work), daemon=True)
        for _ in range(min(jobs, len(tasks)))
    ]
    for driver in drivers:
        driver.start()
    try:
        for _ in tasks:
            outcome = ready.get()
            if isinstance(outcome, BaseException):
                raise outcome
            yield outcome
    finally:
        stop.set()
        for driver in drivers:
            driver.join()


def _drive(
    waiting: queue.SimpleQueue,
    ready: queue.SimpleQueue,
    stop: threading.Event,
    work: Callable[[Task], Graded],
) -> None:
    """Feed one judge process until nothing waits."""
    executor = _new_executor()
    try:
        while not stop.is_set():
            try:
                task = waiting.get_nowait()
            except queue.Empty:
                return
            for attempt in range(TRIES):
                try:
                    ready.put(executor.submit(work, task).result())
                    break
                except BrokenProcessPool:
                    executor.shutdown(wait=False)
                    executor = _new_executor()
                    if attempt == TRIES - 1:
                        message = f"its judge process died {TRIES} times"
                        verdict = failed(task, "infrastructure_fault", message)
                        ready.put(Graded(task.student, None, verdict))
    except BaseException as error:  # a full disk, or an interrupt: the class cannot go on
        ready.put(error)
    finally:
        executor.shutdown(wait=not stop.is_set(), cancel_futures=True)


def _new_executor() -> ProcessPoolExecutor:
    """One process that starts clean: it inherits no threads and no memory of this one."""
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(1, mp_context=context, initializer=_follow_parent, initargs=(os.getpid(),))


def _follow_parent(parent: int) -> None:
    """In a judge process: end when the command is gone, however it ended. Its worker then ends, too."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
