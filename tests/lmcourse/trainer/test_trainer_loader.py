"""Batches ahead of time, cut and growing batches: the same tokens, whoever makes them, in any order."""

import threading
import time

import numpy as np
import pytest
import torch

from lmcourse.errors import CourseError
from lmcourse.packing import document_batch, plain_batch
from lmcourse.packing.cut_rows import cut_rows
from lmcourse.schedules import BatchPlan
from lmcourse.trainer.batches import document_batches, same_rows
from lmcourse.trainer.loader import AHEAD, Loader
from lmcourse.trainer.planned import lengthened, row_ranges

EOS = 0


def rows_of_documents(B=6, T=12, seed=0):
    return torch.randint(5, (B, T + 1), generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("workers", [0, 1, 3])
def test_any_order_gives_the_batch_of_the_number(workers):
    """Forward, a jump ahead over skipped numbers, and back after a roll-back."""
    with Loader(lambda number: number * 10, workers) as loader:
        for number in (0, 1, 2, 9, 10, 3, 4, 4, 5):
            assert loader.take(number) == number * 10


def test_workers_make_a_bounded_number_of_batches_ahead():
    made = []
    with Loader(lambda number: made.append(number) or number, 2) as loader:
        loader.take(0)
        deadline = time.monotonic() + 20
        while len(made) < 1 + 2 * AHEAD and time.monotonic() < deadline:
            time.sleep(0.001)
        assert sorted(made) == list(range(1 + 2 * AHEAD))
    assert threading.active_count() == 1 or not [
        t for t in threading.enumerate() if t.name.startswith("loader")
    ]


def test_the_mistake_of_a_worker_reaches_the_loop():
    def broken(number):
        raise CourseError(f"batch {number}: no")

    with Loader(broken, 2) as loader, pytest.raises(CourseError, match="batch 3: no"):
        loader.take(3)


def test_threads_that_ask_at_once_get_the_batches_of_one_thread():
    """Rows are packed page by page when first asked for; that is no race."""
    stream = np.random.default_rng(0).integers(0, 9, 4000)
    one = document_batches(stream, same_rows(4), 8, seed=1, eos=EOS)
    many = document_batches(stream, same_rows(4), 8, seed=1, eos=EOS)
    with Loader(many, 8) as loader:
        for number in range(300, 340):
            assert torch.equal(loader.take(number).inputs, one(number).inputs)


@pytest.mark.parametrize("T", [1, 3, 4, 6, 12])
@pytest.mark.parametrize("documents", [True, False])
def test_cut_rows_keep_every_pair_of_input_and_target(T, documents):
    table = rows_of_documents()
    whole = document_batch(table, EOS) if documents else plain_batch(table)
    cut = cut_rows(whole, T)
    assert cut.inputs.shape == (72 // T, T) and cut.count == whole.count
    assert torch.equal(cut.inputs.reshape(6, 12), whole.inputs)
    assert torch.equal(cut.targets.reshape(6, 12), whole.targets)
    if documents:
        assert torch.equal(cut.keep.reshape(6, 12), whole.keep)
        for row in range(len(cut.inputs)):  # 0 where a document or a row begins, else one more than before
            for t in range(T):
                same = t > 0 and cut.doc_id[row, t] == cut.doc_id[row, t - 1]
                assert cut.positions[row, t] == (cut.positions[row, t - 1] + 1 if same else 0)
    else:
        assert cut.positions is None and cut.doc_id is None


@pytest.mark.parametrize("T", [0, 5, 24])
def test_rows_that_cannot_be_cut_are_named(T):
    with pytest.raises(CourseError, match=f"rows of 12 tokens cannot be cut into rows of {T}"):
        cut_rows(plain_batch(rows_of_documents()), T)


@pytest.mark.parametrize(("ramp", "first_rows"), [(0, 1), (7, 1), (10, 3), (3, 8)])
def test_a_growing_batch_takes_each_row_once_and_in_order(ramp, first_rows):
    plan = BatchPlan(rows=8, context=4, ramp=ramp, first_rows=first_rows)
    ranges = [row_ranges(plan)(number) for number in range(30)]
    assert [row for rows in ranges for row in rows] == list(range(ranges[-1].stop))
    assert [len(rows) for rows in ranges] == [plan.rows_at(number) for number in range(30)]


def test_lengthened_batches_have_the_planned_shape_and_as_many_tokens():
    plan = BatchPlan(rows=4, context=12, lengthen=6, shortest=3)
    batch_at = lengthened(lambda number: plain_batch(rows_of_documents(4, 12, number)), plan)
    shapes = [tuple(batch_at(number).inputs.shape) for number in range(20)]
    assert shapes == [(16, 3)] * 2 + [(8, 6)] * 4 + [(4, 12)] * 14
