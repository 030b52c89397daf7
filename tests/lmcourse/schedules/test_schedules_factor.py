import math
from itertools import pairwise

import pytest

from lmcourse.errors import CourseError
from lmcourse.schedules import KINDS, SHAPES, Schedule, factor, warmup_cosine

EVERY = [Schedule(kind, 97, warmup=13, floor=0.05, decay=0.3) for kind in KINDS if kind != "wsd"] + [
    Schedule("wsd", 97, warmup=13, floor=0.05, decay=0.3, shape=shape) for shape in SHAPES
]
LABELS = [f"{s.kind} {s.shape}" for s in EVERY]


def factors(schedule, steps=None):
    return [factor(schedule, s) for s in range(steps or schedule.total)]


def test_cosine_gives_the_table_of_a_published_course():
    schedule = Schedule("cosine", 2000, warmup=100, floor=0.1)
    table = {0: 1.0e-5, 49: 5.0e-4, 99: 1.0e-3, 575: 8.7e-4, 1050: 5.5e-4, 1525: 2.3e-4, 2000: 1.0e-4}
    for step, rate in table.items():
        assert float(f"{1e-3 * factor(schedule, step):.1e}") == rate


def test_cosine_is_warmup_cosine_with_peak_one():
    schedule = Schedule("cosine", 50, warmup=7, floor=0.2)
    for step in range(60):
        assert factor(schedule, step) == warmup_cosine(step, peak=1.0, floor=0.2, warmup=7, total=50)


def test_wsd_gives_the_values_of_a_recorded_run():
    schedule = Schedule("wsd", 10_070, warmup=200, floor=0.0, decay=0.3)
    table = {0: 0.005, 99: 0.5, 199: 1, 1006: 1, 3021: 1, 7048: 1, 7049: 1, 8500: 0.520, 10_069: 0.000}
    for step, value in table.items():
        assert round(factor(schedule, step), 3) == value
    assert factor(schedule, 7050) < 1
    assert factor(schedule, 10_069) == pytest.approx(1 / 3021)  # the last step is not thrown away


@pytest.mark.parametrize(("shape", "half"), [("linear", 0.5), ("cosine", 0.5), ("sqrt", 1 - math.sqrt(0.5))])
def test_the_shapes_of_a_decay_differ_in_its_middle(shape, half):
    schedule = Schedule("wsd", 100, floor=0.2, decay=0.4, shape=shape)
    assert factor(schedule, 80) == pytest.approx(0.2 + 0.8 * half)


def test_linear_falls_by_equal_parts_to_zero_at_the_end():
    values = factors(Schedule("linear", 20, warmup=4, floor=0.0))
    assert values[4:] == pytest.approx([1 - k / 16 for k in range(16)])


@pytest.mark.parametrize("total", [10, 97, 100, 1000, 20_000])
def test_steps_change_exactly_at_eighty_and_ninety_percent(total):
    values = factors(Schedule("steps", total))
    for step, value in enumerate(values):
        assert value == (1.0 if 10 * step < 8 * total else 0.316 if 10 * step < 9 * total else 0.1)
    assert set(values) == {1.0, 0.316, 0.1}


@pytest.mark.parametrize("schedule", EVERY, ids=LABELS)
def test_the_warmup_starts_moving_reaches_the_peak_and_hands_over_without_a_jump(schedule):
    assert factor(schedule, 0) == pytest.approx(1 / 13)
    assert factor(schedule, 12) == factor(schedule, 13) == 1.0
    assert all(b - a == pytest.approx(1 / 13) for a, b in pairwise(factors(schedule, 13)))


@pytest.mark.parametrize("schedule", EVERY, ids=LABELS)
def test_no_rate_rises_after_the_warmup_not_even_after_the_end(schedule):
    values = factors(schedule, 400)[12:]
    assert all(a >= b for a, b in pairwise(values))
    ends = {"constant": 1.0, "steps": 0.1}.get(schedule.kind, 0.05)
    assert set(values[97 - 12 :]) == {ends}


@pytest.mark.parametrize("kind", ["cosine", "linear", "wsd"])
def test_neighbors_never_differ_by_much(kind):
    values = factors(Schedule(kind, 1000, warmup=100, floor=0.0, decay=0.5, shape="linear"), 1001)
    assert max(abs(a - b) for a, b in pairwise(values)) <= 0.0101


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("warmup", "total"), [(0, 1), (0, 5), (5, 5), (9, 5), (4, 5)])
@pytest.mark.parametrize("decay", [0.0, 0.01, 1.0])
def test_odd_lengths(kind, warmup, total, decay):
    values = factors(Schedule(kind, total, warmup=warmup, floor=0.1, decay=decay))
    assert all(0 < value <= 1 for value in values)
    assert values[0] == (1 / warmup if warmup else 1.0)


def test_a_decay_over_the_whole_run_starts_after_the_warmup_and_none_stays_at_the_peak():
    assert factors(Schedule("wsd", 40, warmup=8, decay=1.0)) == factors(Schedule("linear", 40, warmup=8))
    assert set(factors(Schedule("wsd", 40, decay=0.0))) == {1.0}


def test_the_plateau_does_not_know_where_the_run_ends():
    short, long = (Schedule("wsd", total, warmup=10, decay=0.25) for total in (80, 200))
    assert factors(short, 61) == factors(long, 61)
    assert factor(short, 61) < factor(long, 61)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"kind": "cosin"}, "kind: expected one of cosine, wsd"),
        ({"shape": "square"}, "shape: expected one of linear"),
        ({"total": 0}, "total: expected a whole number of steps from 1, got 0"),
        ({"total": 10.0}, "total"),
        ({"warmup": -1}, "warmup"),
        ({"warmup": True}, "warmup"),
        ({"floor": 1.1}, "floor: expected a share from 0 to 1, got 1.1"),
        ({"floor": float("nan")}, "floor"),
        ({"decay": -0.1}, "decay"),
    ],
)
def test_what_no_schedule_can_have_is_one_line(values, message):
    with pytest.raises(CourseError, match=message):
        Schedule(**{"kind": "wsd", "total": 10, **values})


def test_a_negative_step_is_refused():
    with pytest.raises(CourseError, match="step: expected 0 or more, got -1"):
        factor(Schedule("constant", 10), -1)
