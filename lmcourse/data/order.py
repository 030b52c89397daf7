"""Who reads what, and in which order: pure functions of (seed, epoch, consumer).

A consumer is a loader worker of a rank; rank r and worker w of W make consumer r * W + w.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lmcourse.errors import CourseError

_SHARDS, _BLOCK = 0, 1  # what a permutation is for


@dataclass(frozen=True)
class Unit:
    """A shard, or the records of it whose number leaves `lane` when divided by `lanes`."""

    shard: int
    lane: int = 0
    lanes: int = 1


def permutation(n: int, *key: int) -> np.ndarray:
    """(n,) int64 permutation of 0..n-1, a function of a key of five numbers.

    The key always has the same length: to numpy's seeds (1,) and (1, 0) are the same.
    """
    seed, epoch, purpose, consumer, block = key
    mixed = np.random.SeedSequence((seed, epoch, purpose, consumer, block))
    return np.random.default_rng(mixed).permutation(n)


def units_of(shards: int, consumers: int, consumer: int, seed: int, epoch: int) -> list[Unit]:
    """What one consumer reads in an epoch, in this order.

    The shards, in an order that differs from epoch to epoch, go whole to one consumer each as long as there
    is one for everybody; the rest are read by all, each taking its share of the records. So consumers differ
    by no more than their shards do in size, and none is idle while there are enough records, even where there
    are more consumers than shards.

    Args:
        shards: number of shards.
        consumers: number of consumers; `consumer` counts from 0.
        seed, epoch: of the order.

    Raises:
        CourseError: there is no such consumer.
    """
    if not 0 <= consumer < consumers:
        raise CourseError(f"consumer: expected 0 to {consumers - 1}, got {consumer}")
    order = permutation(shards, seed, epoch, _SHARDS, 0, 0).tolist()
    shared_out = shards - shards % consumers
    whole = [Unit(shard) for shard in order[consumer:shared_out:consumers]]
    return whole + [Unit(shard, consumer, consumers) for shard in order[shared_out:]]


def block_order(n: int, consumer: int, block: int, seed: int, epoch: int) -> np.ndarray:
    """(n,) order of the documents of a consumer's block; blocks are what is shuffled in memory."""
    return permutation(n, seed, epoch, _BLOCK, consumer, block)
