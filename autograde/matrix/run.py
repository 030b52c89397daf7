"""Compute matrices in several processes: a mutant may loop, swallow memory or print."""

from __future__ import annotations

import contextlib
import io
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import torch

from autograde.build.assemble import assemble
from autograde.build.release import release
from autograde.build.source import read_source, source_path
from autograde.build.stubs import released_names
from autograde.exercise import Solution
from autograde.matrix.rows import WRONG, Matrix, Row, matrix, row, solutions_of
from autograde.nbgrader_plugin.course_root import CourseRoot
from autograde.project import SOLUTIONS
from autograde.weeks import hidden
from lmcourse.errors import CourseError
from lmcourse.exercises import Exercise, week


def matrices(wanted: list[Exercise], stubs: dict[str, Row], jobs: int) -> Iterator[Matrix]:
    """The matrix of each exercise, in order; `stubs` are rows to add, by exercise id."""
    with ProcessPoolExecutor(
        jobs, mp_context=get_context("spawn"), initializer=torch.set_num_threads, initargs=(1,)
    ) as pool:
        pending = {
            spec.id: [pool.submit(_row, spec.id, i) for i in range(len(solutions_of(hidden(spec.id))))]
            for spec in wanted
        }
        for name, futures in pending.items():
            rows = [future.result() for future in futures]
            if name in stubs:
                rows.append(stubs[name])
            yield matrix(hidden(name), rows)


def stub_rows(wanted: list[Exercise]) -> tuple[dict[str, Row], list[str]]:
    """The stubs as released, scored, and what kept any from being tried."""
    rows: dict[str, Row] = {}
    faults = []
    for week_id in dict.fromkeys(spec.week for spec in wanted):
        try:
            namespace = _released(week_id)
        except CourseError as error:
            faults.append(f"the stubs of {week_id} could not be tried: {error}")
            continue
        for spec in wanted:
            if spec.week == week_id:
                names = {name: namespace[name] for name in spec.names if name in namespace}
                rows[spec.id] = row(hidden(spec.id), "stub", WRONG, Solution("as released", "", names))
    return rows, faults


def _released(week_id: str) -> dict:
    chosen = week(week_id)
    master = assemble(chosen, read_source(source_path(chosen, SOLUTIONS)))
    with tempfile.TemporaryDirectory() as folder:
        return released_names(release(chosen, master, CourseRoot(Path(folder))))


def _row(exercise_id: str, index: int) -> Row:
    exercise = hidden(exercise_id)
    with contextlib.redirect_stdout(io.StringIO()):
        return row(exercise, *solutions_of(exercise)[index])
