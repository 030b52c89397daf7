"""The rule against what upsets others: NaN in the window, flat windows, spikes that hide the next."""

from __future__ import annotations

import json
import math
import random

import pytest

from lmcourse.monitor import SpikeRule, SpikeSettings

NAN, INF = math.nan, math.inf


def warm(rule: SpikeRule, steps: int = 40, loss: float = 2.0, norm: float = 1.0, noise: float = 0.0) -> None:
    chance = random.Random(3)
    for _ in range(steps):
        assert rule.judge(loss + noise * chance.gauss(0, 1), norm) == "ok"


@pytest.mark.parametrize("loss, norm", [(NAN, 1.0), (INF, 1.0), (-INF, 1.0), (2.0, NAN), (2.0, INF)])
@pytest.mark.parametrize("steps_before", [0, 40])
def test_what_is_not_finite_is_skipped_and_leaves_no_trace(
    loss: float, norm: float, steps_before: int
) -> None:
    rule, other = SpikeRule(), SpikeRule()
    warm(rule, steps_before)
    warm(other, steps_before)
    assert rule.judge(loss, norm) == "skip"
    assert "nan" in rule.reason or "inf" in rule.reason
    assert rule.judge(2.0, 1.0) == other.judge(2.0, 1.0) == "ok"
    assert rule.state_dict() == other.state_dict()


def test_a_spike_does_not_hide_the_next() -> None:
    rule = SpikeRule()
    warm(rule, noise=0.05)
    for spike in (200.0, 4.0, 200.0, 3.5):
        assert rule.judge(spike, 1.0) == "skip"
        assert rule.judge(2.0, 1.0) == "ok"


def test_a_flat_window_lets_a_small_rise_through() -> None:
    rule = SpikeRule()
    warm(rule, steps=128)
    assert rule.judge(2.0 * 1.19, 1.0) == "ok"  # 10 deviations of 2 % of the median
    assert rule.judge(2.0 * 1.25, 1.0) == "skip"


def test_a_fall_is_no_spike() -> None:
    rule = SpikeRule()
    warm(rule)
    assert rule.judge(0.01, 1e-6) == "ok"


def test_a_norm_is_judged_by_its_multiple_of_the_median() -> None:
    rule = SpikeRule()
    warm(rule, norm=0.5)
    assert rule.judge(2.0, 9.9) == "ok"
    assert rule.judge(2.0, 10.2) == "skip"
    assert "median 0.5" in rule.reason


def test_nothing_but_finiteness_is_judged_in_the_warm_up() -> None:
    rule = SpikeRule(SpikeSettings(warmup=32))
    warm(rule, steps=31)
    assert rule.judge(50.0, 1.0) == "ok"
    assert rule.judge(51.0, 1.0) == "skip"


def test_spikes_in_a_row_call_for_a_roll_back() -> None:
    rule = SpikeRule(SpikeSettings(skips=3))
    warm(rule)
    assert [rule.judge(NAN, NAN) for _ in range(3)] == ["skip", "skip", "roll_back"]
    assert not rule.calm


def test_a_loss_that_stays_high_calls_for_a_roll_back() -> None:
    """A slow divergence has no spike in it: each step is near the median of those before it."""
    rule = SpikeRule(SpikeSettings(rise=1.0, rise_steps=20))
    warm(rule, steps=100)
    verdicts, loss = [], 2.0
    while "roll_back" not in verdicts and loss < 20:
        loss *= 1.002
        verdicts.append(rule.judge(loss, 1.0))
    assert verdicts[-1] == "roll_back"
    assert set(verdicts[:-1]) == {"ok"}
    assert 3.0 < loss < 3.6
    assert "best" in rule.reason


def test_roll_backs_are_bounded_and_finite_values_are_then_accepted() -> None:
    rule = SpikeRule(SpikeSettings(skips=2, roll_backs=2))
    warm(rule)
    saved = rule.state_dict()
    verdicts = []
    for _ in range(12):  # data that changed for good
        verdicts.append(rule.judge(9.0, 1.0))
        if verdicts[-1] == "roll_back":
            done = rule.roll_backs
            rule.load_state_dict(saved)
            rule.roll_backs = done + 1
    assert verdicts == ["skip", "roll_back"] * 2 + ["skip"] + ["ok"] * 7
    assert rule.roll_backs == 2


def test_with_no_roll_back_left_a_nan_is_never_accepted() -> None:
    rule = SpikeRule(SpikeSettings(skips=2, roll_backs=0))
    assert [rule.judge(NAN, 1.0) for _ in range(4)] == ["skip", "roll_back", "roll_back", "roll_back"]
    assert rule.exhausted


def test_the_state_survives_json_and_decides_the_same() -> None:
    rule = SpikeRule()
    chance = random.Random(5)
    values = [(chance.lognormvariate(0, 0.8), chance.lognormvariate(0, 1)) for _ in range(300)]
    values[100] = (NAN, 1.0)
    for loss, norm in values[:150]:
        rule.judge(loss, norm)
    copy = SpikeRule()
    copy.load_state_dict(json.loads(json.dumps(rule.state_dict(), allow_nan=False)))
    verdicts = [rule.judge(*value) for value in values[150:]]
    assert verdicts == [copy.judge(*value) for value in values[150:]]
    assert {"ok", "skip"} <= set(verdicts)


def test_the_state_of_a_rule_that_has_seen_nothing_is_plain_too() -> None:
    json.dumps(SpikeRule().state_dict(), allow_nan=False)


def test_switched_off_it_judges_only_finiteness() -> None:
    rule = SpikeRule(SpikeSettings(enabled=False))
    warm(rule)
    assert rule.judge(1e9, 1e9) == "ok"
    assert rule.judge(NAN, 1.0) == "skip"
