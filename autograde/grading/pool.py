"""Judge processes side by side. Each has a pool of its own: one that dies takes no other work along."""

from __future__ import annotations

import multiprocessing
import os
import queue
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool

from autograde.grading.one import Graded, Task, failed, grade_one
from autograde.judge import launch

TRIES = 2
_NO_MORE = object()


def grade_all(
    tasks: Iterable[Task], jobs: int, work: Callable[[Task], Graded] = grade_one
) -> Iterator[Graded]:
    """Grade every task; outcomes come in the order in which they are ready.

    Tasks are taken one by one as judges become free, and outcomes wait in a short queue, so that the memory
    in use does not grow with the number of tasks. An error of `tasks` ends the iteration and is raised here.
    """
    address = launch.prepare()
    waiting = iter(tasks)
    gate = threading.Lock()
    ready: queue.Queue[object] = queue.Queue(maxsize=2 * jobs)
    stop = threading.Event()

    def next_task() -> Task | None:
        with gate:
            return None if stop.is_set() else next(waiting, None)

    drivers = [
        threading.Thread(target=_drive, args=(next_task, ready, stop, work, address), daemon=True)
        for _ in range(jobs)
    ]
    for driver in drivers:
        driver.start()
    try:
        running = len(drivers)
        while running:
            outcome = ready.get()
            if outcome is _NO_MORE:
                running -= 1
            elif isinstance(outcome, BaseException):
                raise outcome
            else:
                yield outcome
    finally:
        stop.set()
        for driver in drivers:
            driver.join()


def _drive(
    next_task: Callable[[], Task | None],
    ready: queue.Queue,
    stop: threading.Event,
    work: Callable[[Task], Graded],
    address: str,
) -> None:
    """Feed one judge process until nothing waits."""
    executor: ProcessPoolExecutor | None = None
    try:
        while (task := next_task()) is not None:
            for attempt in range(TRIES):
                executor = executor or _new_executor(address)
                try:
                    _put(executor.submit(work, task).result(), ready, stop)
                    break
                except BrokenProcessPool:
                    executor.shutdown(wait=False)
                    executor = None
                    if attempt == TRIES - 1:
                        message = f"its judge process died {TRIES} times"
                        verdict = failed(task, "infrastructure_fault", message)
                        _put(Graded(task.student, None, verdict), ready, stop)
        _put(_NO_MORE, ready, stop)
    except BaseException as error:  # an interrupt, or tasks that cannot be made: the class cannot go on
        _put(error, ready, stop)
    finally:
        if executor is not None:
            executor.shutdown(wait=not stop.is_set(), cancel_futures=True)


def _put(outcome: object, ready: queue.Queue, stop: threading.Event) -> None:
    """Wait for room, unless nobody takes anything any more."""
    while not stop.is_set():
        try:
            return ready.put(outcome, timeout=0.2)
        except queue.Full:
            continue


def _new_executor(address: str) -> ProcessPoolExecutor:
    """One process that starts clean: it inherits no threads and no memory of this one.

    All judges use the fork server that is reached under `address`, so that its memory is needed once.
    """
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(1, mp_context=context, initializer=_begin, initargs=(os.getpid(), address))


def _begin(parent: int, address: str) -> None:
    """In a judge process: end when the command is gone, however it ended. Its worker then ends, too."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
    launch.share(address)
