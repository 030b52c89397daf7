from itertools import pairwise

import pytest

from lmcourse.schedules import warmup_cosine

SHAPE = {"peak": 3e-3, "floor": 3e-4, "warmup": 10, "total": 100}


def test_checkpoints_of_the_curve():
    assert warmup_cosine(0, **SHAPE) == pytest.approx(3e-4)  # peak / warmup, not zero
    assert warmup_cosine(9, **SHAPE) == pytest.approx(3e-3)
    assert warmup_cosine(10, **SHAPE) == pytest.approx(3e-3)
    assert warmup_cosine(55, **SHAPE) == pytest.approx((3e-3 + 3e-4) / 2)
    assert warmup_cosine(100, **SHAPE) == 3e-4


def test_it_never_rises_after_the_warmup_and_stays_at_the_floor():
    rates = [warmup_cosine(s, **SHAPE) for s in range(10, 300)]
    assert all(a >= b for a, b in pairwise(rates))
    assert set(rates[90:]) == {3e-4}


@pytest.mark.parametrize(("warmup", "total"), [(0, 5), (5, 5), (9, 5), (0, 1)])
def test_odd_lengths(warmup, total):
    rates = [warmup_cosine(s, peak=1.0, floor=0.1, warmup=warmup, total=total) for s in range(total)]
    assert all(0 < rate <= 1 for rate in rates)
    assert rates[0] == (1 / warmup if warmup else 1.0)
