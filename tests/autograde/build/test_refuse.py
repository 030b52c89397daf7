"""What the build refuses: one readable line for each fault, and none for a complete exercise."""

from __future__ import annotations

from dataclasses import replace

import pytest

from autograde.build.refuse import hidden_faults, registry_faults, stub_faults
from lmcourse.exercises import WEEKS

STUB = 'def hello_check(x):\n    raise NotImplementedError("W0.1: replace this line with your answer")'


def test_complete_exercises_pass(week, hidden):
    assert registry_faults(week) == []
    assert hidden_faults(hidden("W0.1")) == hidden_faults(hidden("W0.2")) == []
    assert stub_faults(hidden("W0.1"), STUB, 0.0, "student_error") == []


@pytest.mark.parametrize("week", WEEKS, ids=lambda w: w.id)
def test_the_registry_has_no_faults(week):
    assert registry_faults(week) == []


def _with_first(week, **changes):
    return replace(week, exercises=(replace(week.exercises[0], **changes), *week.exercises[1:]))


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"id": "W0.2"}, "W0.2 is twice in the registry"),
        ({"id": "W7.1"}, "W7.1 stands in week W0 of the registry"),
        ({"points": 0}, "W0.1 has no points in the registry"),
        ({"minutes": 0}, "W0.1 has no minutes in the registry"),
        ({"minutes": 15}, "W0 promises 30 depth minutes, its exercises add up to 35"),
        ({"core": True}, "W0 promises 0 core minutes, its exercises add up to 10"),
        ({"kind": "X"}, "W0.1 has the unknown kind 'X'"),
        ({"names": ()}, "W0.1 asks for no name that could be judged"),
    ],
)
def test_a_fault_of_the_registry_is_named(week, changes, fault):
    assert fault in registry_faults(_with_first(week, **changes))


def _drop(name, keep):
    return lambda exercise: setattr(exercise, name, getattr(exercise, name)[:keep])


@pytest.mark.parametrize(
    ("exercise_id", "damage", "fault"),
    [
        ("W0.1", lambda e: setattr(e, "reference", None), "W0.1 has no reference"),
        ("W0.1", lambda e: e.reference.names.clear(), "W0.1: the reference lacks hello_check"),
        ("W0.1", _drop("variants", 1), "W0.1 has 1 variants; at least 2 are asked for"),
        ("W0.1", _drop("mutants", 0), "W0.1 has no mutants"),
        ("W0.2", _drop("accept", 1), "W0.2 has 1 accepted implementations; at least 2 are asked for"),
        ("W0.2", _drop("reject", 0), "W0.2 has no rejected implementations"),
        ("W0.1", lambda e: e.mutant("mute", " ")(abs), "W0.1: 'mute' has no message for the student"),
        ("W0.1", lambda e: e.mutant("square", "again")(abs), "W0.1: two solutions are called 'square'"),
        ("W0.2", lambda e: e.rejects("torch", "again")(abs), "W0.2: two solutions are called 'torch'"),
        ("W0.1", _drop("properties", 0), "W0.1: properties and manners give 0 points, the registry 1"),
        (
            "W0.1",
            lambda e: setattr(e, "manners_points", 0.5),
            "W0.1: properties and manners give 1.5 points, the registry 1",
        ),
    ],
)
def test_a_fault_of_the_hidden_side_is_named(hidden, exercise_id, damage, fault):
    exercise = hidden(exercise_id)
    damage(exercise)
    assert hidden_faults(exercise) == [fault]


@pytest.mark.parametrize(
    ("stub", "points", "state", "fault"),
    [
        (STUB, 1.0, "right", "W0.1: the stub as released earns 1 of 1 points"),
        (STUB, 0.25, "partly", "W0.1: the stub as released earns 0.25 of 1 points"),
        (STUB, None, "harness_fault", "W0.1: judging the stub as released ends in 'harness_fault'"),
        (
            "x = 1",
            0.0,
            "wrong",
            "W0.1: the answer cell has no solution region, so its stub shows no place to fill in",
        ),
        (STUB + "\n" * 50, 0.0, "wrong", "W0.1: the stub has 51 lines; more than 40 give too much away"),
    ],
)
def test_a_stub_that_is_no_stub_is_refused(hidden, stub, points, state, fault):
    assert stub_faults(hidden("W0.1"), stub, points, state) == [fault]
