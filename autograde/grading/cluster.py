"""Judges on many machines: the same tasks on a Dask cluster.

Each machine needs this course installed, in the same version, and its workers one thread each: `dask worker
ADDRESS --nthreads 1 --nworkers N`. A machine that dies costs nothing: its tasks go to another one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice

from autograde.grading.one import Graded, Task, failed, grade_one
from lmcourse.errors import CourseError

AHEAD = 2  # tasks for each worker that are on their way, so that none waits for the network


def grade_on_cluster(
    tasks: Iterable[Task], address: str, work: Callable[[Task], Graded] = grade_one
) -> Iterator[Graded]:
    """Grade every task on the cluster whose scheduler is at `address`; outcomes in the order they come.

    Raises:
        CourseError: the package is not installed, or no scheduler answers there.
    """
    try:
        from distributed import Client, as_completed
    except ImportError:
        raise CourseError(
            "--scheduler needs the package distributed: pip install 'lmcourse[cluster]'"
        ) from None
    try:
        client = Client(address, timeout=10, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        raise CourseError(f"no Dask scheduler answers at {address}: {error}") from None
    with client:
        waiting = iter(tasks)
        running = {}
        completed = as_completed(loop=client.loop)

        def submit(number: int) -> None:
            for task in islice(waiting, number):
                future = client.submit(work, task, pure=False, retries=1)
                running[future.key] = task
                completed.add(future)

        submit(AHEAD * max(1, len(client.scheduler_info(n_workers=-1)["workers"])))
        for future in completed:
            task = running.pop(future.key)
            submit(1)
            yield _outcome(future, task)
            future.release()


def _outcome(future, task: Task) -> Graded:
    """The result; of a task that killed every machine that it was given to, a fault of the machines."""
    error = future.exception() if future.status in ("error", "cancelled", "lost") else None
    if future.status == "finished":
        return future.result()
    message = f"the cluster could not do it: {type(error).__name__}: {error}".splitlines()[0]
    return Graded(task.student, None, failed(task, "infrastructure_fault", message))
