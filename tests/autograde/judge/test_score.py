from fractions import Fraction

import numpy as np
import pytest
import small_course
import torch

from autograde import expect
from autograde.exercise import HiddenExercise, StudentError, Wrong
from autograde.judge.ended import AnswerEnded
from autograde.judge.local import LocalAnswer
from autograde.judge.score import MANNERS, score

EXERCISES = small_course.hidden_exercises()


def verdict_of(exercise_id, *functions, **values):
    exercise = EXERCISES[exercise_id]
    names = {**dict(zip([exercise.entry], functions, strict=False)), **values}
    return score(exercise, LocalAnswer(exercise, names), seed=11)


def test_a_right_answer_gets_all_points_and_says_what_it_ran_on():
    v = verdict_of("W1.3", lambda x: x + 3)
    assert (v.state, v.points, v.max_points, v.message) == ("right", 12.0, 12.0, "")
    assert [p.name for p in v.passed] == ["adds", "also an empty one", MANNERS]
    assert v.isolation == "none" and v.seed == 11 and v.versions["torch"] == torch.__version__


def test_points_come_only_from_properties_that_hold():
    v = verdict_of("W1.3", lambda x: x + 7)
    assert (v.state, v.points, v.message) == ("partly", 3.0, "the sum is wrong")
    assert v.case.startswith("shape (2, 3), seed ")


def test_a_known_mistake_is_called_by_its_name():
    v = verdict_of("W1.3", lambda x: -(3 - x))
    adds = v.properties[0]
    assert (adds.mutant, adds.message) == ("minus", "You subtract 3.")
    assert v.message == "You subtract 3."


def test_between_two_mistakes_that_agree_the_one_that_agrees_more_often_is_named():
    exercise = HiddenExercise("W1.1")
    exercise.set_reference(sample_windows=lambda x: x)
    exercise.mutants += [
        small_course._solution("off by one from 5", "late", exercise.spec, lambda x: x + (x >= 5), {}),
        small_course._solution("off by one", "always", exercise.spec, lambda x: x + 1, {}),
    ]
    for name, start in (("large", 5), ("small", 0)):

        @exercise.property(name, 4)
        def _(answer, draw, start=start):
            if answer(start) != start:
                raise Wrong("no")

    v = score(exercise, LocalAnswer(exercise, {"sample_windows": lambda x: x + 1}), 0)
    assert [p.mutant for p in v.properties] == ["off by one", "off by one"]


def test_an_answer_equal_to_the_reference_is_no_mutant():
    exercise = HiddenExercise("W1.1")
    exercise.set_reference(sample_windows=lambda x: x)
    exercise.mutants.append(small_course._solution("same", "equal", exercise.spec, lambda x: x, {}))

    @exercise.property("impossible", 8)
    def _(answer, draw):
        answer(1)
        raise Wrong("never right")

    v = score(exercise, LocalAnswer(exercise, {"sample_windows": lambda x: x}), 0)
    assert v.properties[0].mutant == "" and v.message == "never right"


def stub(x):
    raise NotImplementedError


def test_the_stub_earns_nothing_not_even_for_manners():
    v = verdict_of("W1.3", stub)
    assert (v.state, v.points) == ("student_error", 0.0)
    assert "NotImplementedError" in v.message


def test_changing_an_input_costs_the_points_for_manners_and_is_named():
    v = verdict_of("W1.3", lambda x: x.add_(3))
    assert (v.state, v.points) == ("partly", 10.0)
    assert "changed its argument `x` in place" in v.message


def test_an_argument_that_may_be_changed_costs_nothing():
    exercise = small_course.hidden_exercises()["W1.3"]
    exercise.may_change = ("x",)
    v = score(exercise, LocalAnswer(exercise, {"pack": lambda x: x.add_(3)}), 1)
    assert v.state == "right"


def test_using_global_randomness_costs_the_points_for_manners():
    v = verdict_of("W1.3", lambda x: x + 3 + 0 * torch.randint(9, (1,)))
    assert v.points == 10.0 and "torch's global random state" in v.message


def test_missing_names_are_said_by_name():
    v = verdict_of("W1.3")
    assert (v.state, v.points, v.message) == ("student_error", 0.0, "`pack` is not defined")
    v = verdict_of("W1.2", lambda x: x + 2)
    assert (v.state, v.points) == ("partly", 5.0)
    assert v.message == "`overlap_share` is not defined"


def test_a_fault_of_the_hidden_side_is_no_zero():
    exercise = HiddenExercise("W1.3")

    @exercise.property("broken", 12)
    def _(answer, draw):
        return answer(1).no_such_attribute

    v = score(exercise, LocalAnswer(exercise, {"pack": lambda x: x}), 0)
    assert (v.state, v.points) == ("harness_fault", None) and "AttributeError" in v.message


def test_properties_that_are_not_worth_the_points_are_a_fault():
    exercise = HiddenExercise("W1.3")
    exercise.property("cheap", 1)(lambda answer, draw: None)
    assert score(exercise, LocalAnswer(exercise, {"pack": abs}), 0).state == "harness_fault"


@pytest.mark.parametrize("state", ["time_out", "resource_limit", "forbidden"])
def test_an_answer_that_ends_gets_nothing_for_what_it_did_before(state):
    exercise = HiddenExercise("W1.3")
    exercise.property("first", 6)(lambda answer, draw: None)

    @exercise.property("second", 5)
    def _(answer, draw):
        raise AnswerEnded(state, "it ended")

    exercise.property("third", 1)(lambda answer, draw: None)
    v = score(exercise, LocalAnswer(exercise, {"pack": abs}), 0)
    assert (v.state, v.points, v.message) == (state, 0.0, "it ended")
    assert [p.passed for p in v.properties] == [True, False, False]


def test_each_property_draws_its_own_data_and_the_same_again():
    seen = []
    exercise = HiddenExercise("W1.3")
    for name in ("a", "b"):
        exercise.property(name, 6)(lambda answer, draw: seen.append(draw.seed))
    for seed in (1, 1, 2):
        score(exercise, LocalAnswer(exercise, {"pack": abs}), seed)
    assert seen[:2] == seen[2:4] and len(set(seen)) == 4


@pytest.mark.parametrize(
    "value",
    [
        2,
        np.int32(2),
        np.float64(2.0),
        torch.tensor(2),
        torch.tensor(2.0, dtype=torch.bfloat16),
        Fraction(2),
        2.0,
    ],
    ids=repr,
)
def test_every_kind_of_number_reaches_the_hidden_side_as_a_number(value):
    exercise = EXERCISES["W1.2"]
    answer = LocalAnswer(exercise, {"overlap_share": value})
    assert expect.number(answer.value("overlap_share")) == 2.0


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "2", True, None, [2]], ids=repr)
def test_what_is_no_number_is_refused(value):
    with pytest.raises(Wrong):
        expect.number(LocalAnswer(EXERCISES["W1.2"], {"overlap_share": value}).value("overlap_share"))


def test_arguments_are_copies_and_errors_are_text():
    answer = LocalAnswer(EXERCISES["W1.3"], {"pack": lambda x: x.zero_()})
    x = torch.ones(2)
    assert answer(x).tolist() == [0, 0] and x.tolist() == [1, 1]
    with pytest.raises(StudentError, match="pack raised AttributeError"):
        answer(3)
