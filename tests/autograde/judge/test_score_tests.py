import pytest
import small_course
import torch

from autograde.exercise import HiddenExercise
from autograde.judge.local import LocalAnswer
from autograde.judge.score import score

EXERCISE = small_course.hidden_exercises()["W1.7"]
X = torch.tensor([-2, 1, 5])


def verdict_of(test, seed=3):
    return score(EXERCISE, LocalAnswer(EXERCISE, {"test_no_leak": test}), seed)


def good(f):
    assert f(X).tolist() == [-4, 2, 10]


def test_a_test_that_tells_right_from_wrong_gets_all_points():
    v = verdict_of(good)
    assert (v.state, v.points) == ("right", 24.0)


def test_points_are_the_share_of_wrong_implementations_that_are_found():
    def positive_only(f):
        assert f(X.abs()).tolist() == [4, 2, 10]

    v = verdict_of(positive_only)
    assert (v.state, v.points) == ("partly", 16.0)
    assert "2 of 3" in v.message and "wrong for negative numbers only" in v.message


def test_a_test_that_accepts_everything_gets_nothing():
    v = verdict_of(lambda f: None)
    assert (v.state, v.points) == ("wrong", 0.0) and "0 of 3" in v.message


def test_a_verdict_that_is_returned_instead_of_raised_is_explained():
    v = verdict_of(lambda f: f(X).tolist() == [-4, 2, 10])
    assert v.points == 0.0 and "raising AssertionError" in v.message


def test_rejecting_a_right_implementation_costs_everything():
    def too_strict(f):
        good(f)
        assert f(torch.tensor([0.5])).item() != 1.0

    v = verdict_of(too_strict)
    assert (v.state, v.points) == ("wrong", 0.0) and "rejects an implementation that is right" in v.message


def test_an_error_is_not_a_rejection():
    def broken(f):
        assert f(X).tolist() == [-4, 2, 10]
        raise KeyError("k")

    v = verdict_of(broken)
    assert (v.state, v.points) == ("student_error", 0.0) and "KeyError" in v.message

    def error_as_verdict(f):
        if f(X).tolist() != [-4, 2, 10]:
            raise ValueError("wrong")

    assert verdict_of(error_as_verdict).points == 0.0


@pytest.mark.parametrize("seed", range(8))
def test_counting_calls_gains_nothing(seed):
    """It does not help to know how many implementations there are and in which order they were written."""
    calls = []

    def counting(f):
        calls.append(f)
        assert len(calls) <= 2

    assert verdict_of(counting, seed).points == 0.0
    assert len(calls) <= 7


def test_the_order_is_the_students_own_and_the_same_again():
    def order(seed):
        seen = []
        verdict_of(lambda f: seen.append(f(torch.tensor([-3])).item()), seed)
        return seen

    assert order(1) == order(1) and len({tuple(order(seed)) for seed in range(6)}) > 1
    assert order(1).count(-6) == 4  # each right implementation twice


def test_the_implementation_gets_copies_and_its_errors_arrive():
    seen = []

    def nosy(f):
        x = torch.ones(2)
        f(x)
        seen.append(x.tolist())
        try:
            f("text", 3)
        except TypeError:
            seen.append("TypeError")
        good(f)

    assert verdict_of(nosy).points == 24.0
    assert seen[:2] == [[1.0, 1.0], "TypeError"]


def test_a_hidden_side_without_implementations_is_a_fault():
    exercise = HiddenExercise("W1.7")
    exercise.accepts("a")(lambda x: x)
    assert score(exercise, LocalAnswer(exercise, {"test_no_leak": good}), 0).state == "harness_fault"
