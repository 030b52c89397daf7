"""Batches whose rows grow in number or length over a run, still as a pure function of the batch's number."""

from __future__ import annotations

from itertools import accumulate

from lmcourse.packing.cut_rows import cut_rows
from lmcourse.schedules import BatchPlan
from lmcourse.trainer.batches import BatchAt, RowsAt, ValidationSet, document_batches, window_batches
from lmcourse.trainer.config import TrainConfig
from lmcourse.trainer.data import TrainingData


def batches_of(config: TrainConfig, data: TrainingData) -> tuple[BatchAt, ValidationSet]:
    """The training batches by number, from 0, and the validation set, cut the same way."""
    eos = data.eos if config.mask else None
    whole = config.batches == "documents"
    make = document_batches if whole else window_batches
    plan = config.plan()
    batch_at = make(data.train, row_ranges(plan), config.context, config.seed, eos)
    return (
        lengthened(batch_at, plan),
        ValidationSet(data.validation, config.batch, config.context, eos, whole),
    )


def row_ranges(plan: BatchPlan) -> RowsAt:
    """Which rows of the endless sequence of full-length rows each batch takes, by its number from 0."""
    starts = [0, *accumulate(plan.tokens_at(n) // plan.context for n in range(plan.ramp))]

    def rows_of(number: int) -> range:
        if number < plan.ramp:
            return range(starts[number], starts[number + 1])
        first = starts[-1] + (number - plan.ramp) * plan.rows
        return range(first, first + plan.rows)

    return rows_of


def lengthened(batch_at: BatchAt, plan: BatchPlan) -> BatchAt:
    """Each batch cut into rows of the length that is planned for its number."""
    return lambda number: cut_rows(batch_at(number), plan.length_at(number))
