from itertools import pairwise

import pytest

from lmcourse.errors import CourseError
from lmcourse.schedules import BatchPlan


def test_lengths_and_rows_of_a_recorded_run():
    plan = BatchPlan(rows=64, context=512, lengthen=3021)
    table = {0: (128, 256), 1006: (128, 256), 1007: (256, 128), 3020: (256, 128), 3021: (512, 64)}
    for step, shape in {**table, 10_069: (512, 64), 50_000: (512, 64)}.items():
        assert (plan.length_at(step), plan.rows_at(step)) == shape


@pytest.mark.parametrize(
    ("rows", "context", "shortest"), [(64, 512, 64), (3, 256, 64), (5, 128, 64), (4, 20, 5), (7, 64, 64)]
)
def test_every_step_has_the_same_tokens_and_no_row_is_too_short(rows, context, shortest):
    plan = BatchPlan(rows, context, lengthen=31, shortest=shortest)
    for step in range(40):
        assert plan.rows_at(step) * plan.length_at(step) == plan.tokens_at(step) == rows * context
        assert min(shortest, context) <= plan.length_at(step) <= context
    assert all(plan.length_at(a) <= plan.length_at(b) for a, b in pairwise(range(40)))


def test_without_lengthening_nothing_changes():
    plan = BatchPlan(rows=5, context=77)
    assert {(plan.rows_at(s), plan.length_at(s)) for s in range(12)} == {(5, 77)}


def test_a_batch_grows_in_a_line_from_its_first_rows_to_all_of_them():
    plan = BatchPlan(rows=12, context=8, ramp=10, first_rows=2)
    assert [plan.rows_at(s) for s in range(12)] == [2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 12]


def test_length_and_ramp_together_keep_whole_rows():
    plan = BatchPlan(rows=9, context=64, lengthen=40, shortest=16, ramp=20, first_rows=1)
    for step in range(50):
        assert plan.rows_at(step) * plan.length_at(step) == plan.tokens_at(step)
    assert plan.length_at(0) == 16 and plan.rows_at(0) == 4


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"rows": 0}, "rows: expected at least 1"),
        ({"ramp": -1}, "ramp"),
        ({"lengthen": -3}, "lengthen: expected 0 steps or more, got -3"),
        ({"ramp": 5, "first_rows": 4}, "first_rows: 4 to start with, but only 3"),
        ({"lengthen": 9, "context": 96}, "context: 288 tokens do not make whole rows of 64"),
        ({"lengthen": 9, "context": 90, "shortest": 20}, "context: 270 tokens"),
    ],
)
def test_a_plan_without_whole_rows_is_refused(values, message):
    with pytest.raises(CourseError, match=message):
        BatchPlan(**{"rows": 3, "context": 128, **values})
