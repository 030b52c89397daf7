import math

import pytest

from autograde.judge.verdict import STATES, PropertyResult, SubmissionVerdict, Verdict, versions


def verdict(**changes):
    values = dict(
        exercise="W1.4",
        state="partly",
        points=3.1000000000000001,
        max_points=14.0,
        message='"ů" </td> \ud800',
        properties=(
            PropertyResult("causal", 3, True),
            PropertyResult("ids", 2 / 3, False, "wrong", "B=2, T=3", "strict"),
        ),
        wall_seconds=0.1,
        cpu_seconds=1e-9,
        peak_bytes=2**40,
        isolation="none",
        seed=2**62 + 1,
        versions=versions(),
    )
    return Verdict(**{**values, **changes})


def test_a_verdict_survives_json_exactly():
    v = verdict()
    assert Verdict.from_json(v.to_json()) == v
    assert v.case == "B=2, T=3" and [p.name for p in v.failed] == ["ids"] and len(v.passed) == 1


def test_a_submission_survives_json_exactly():
    faults = verdict(state="infrastructure_fault", points=None, properties=())
    s = SubmissionVerdict("ada, =1", "W1", (verdict(), faults), ("a",), ("b", "c"), "", 3.5, 2.5, 7)
    again = SubmissionVerdict.from_json(s.to_json())
    assert again == s
    assert again.points == verdict().points and again.undecided == (faults,)
    assert again.verdict("W1.4") == verdict()
    with pytest.raises(KeyError):
        again.verdict("W1.5")


@pytest.mark.parametrize("points", [math.nan, math.inf, -1, 14.5, True, "14", None])
def test_nothing_but_a_number_in_range_is_a_score(points):
    with pytest.raises(ValueError):
        verdict(points=points)


@pytest.mark.parametrize("state", ["harness_fault", "infrastructure_fault"])
def test_faults_have_no_points_at_all(state):
    with pytest.raises(ValueError):
        verdict(state=state, points=0.0)
    assert verdict(state=state, points=None).points is None


def test_states_are_those_of_the_specification():
    assert set(STATES) == {
        "right", "partly", "wrong", "student_error", "time_out", "resource_limit", "not_attempted", "not_run",
        "forbidden", "harness_fault", "infrastructure_fault",
    }  # fmt: skip
    with pytest.raises(ValueError):
        verdict(state="fine")
