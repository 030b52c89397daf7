"""The matrix finds survivors, failing variants, lucky draws, endless loops and broken properties."""

from __future__ import annotations

import json
import time

import pytest

from autograde.exercise import HiddenExercise, Solution, Wrong
from autograde.matrix.rows import RIGHT, WRONG, Matrix, matrix, row, solutions_of
from autograde.matrix.table import render


@pytest.fixture
def exercise():
    """W1.4 with stand-in tests: `document_mask` must double a number; 13 + 1 points."""
    exercise = HiddenExercise("W1.4")

    def document_mask(x):
        return 2 * x

    exercise.set_reference(document_mask)

    @exercise.property("doubles one", 13)
    def _(answer, draw):
        if answer(1) != 2:
            raise Wrong("one is not doubled", "x = 1")

    @exercise.property("doubles a random number", 1)
    def _(answer, draw):
        x = int(draw.rng.integers(2, 10**6))
        if answer(x) != 2 * x:
            raise Wrong("not doubled", f"x = {x}")

    return exercise


def _row(exercise, function, expected=WRONG, kind="mutant", **options):
    return row(exercise, kind, expected, Solution("it", "note", {"document_mask": function}), **options)


def test_a_killed_mutant_names_the_properties(exercise):
    found = _row(exercise, lambda x: x + 1)
    assert (found.points, found.kills, found.flickers) == ((13.0, 13.0), ("doubles a random number",), ())
    assert found.fault(14) == ""


def test_a_survivor_is_a_fault(exercise):
    assert _row(exercise, lambda x: x + x).fault(14) == "survives: it is wrong and gets full points"


def test_a_mutant_that_is_wrong_under_one_seed_only_is_a_fault_and_named_with_the_seed(exercise):
    seen = []

    def lucky(x):
        seen.append(x)
        return 2 * x if len(seen) <= 2 else 0

    found = _row(exercise, lucky)
    assert found.points == (14.0, 0.0) and set(found.flickers) == set(p.name for p in exercise.properties)
    assert found.fault(14) == "survives under seed 1: it is wrong and gets full points"


@pytest.mark.parametrize("kind", ["reference", "variant"])
def test_a_right_solution_that_loses_points_is_a_fault_with_the_reason(exercise, kind):
    found = _row(exercise, lambda x: 2 if x == 1 else 0, expected=RIGHT, kind=kind)
    assert found.fault(14) == "is right, but gets 13 of 14 points: not doubled"


def test_a_stub_that_earns_anything_is_a_fault(exercise):
    assert _row(exercise, lambda x: x + 1, kind="stub").fault(14) == "earns 13 points as released"
    assert _row(exercise, lambda x: x, kind="stub").fault(14) == ""


def test_a_property_that_breaks_is_a_fault_and_no_kill(exercise):
    exercise.properties[1] = type(exercise.properties[1])("broken", 1, lambda answer, draw: 1 / 0)
    found = _row(exercise, lambda x: 2 * x)
    assert found.points == (None, None)
    assert found.fault(14).startswith("cannot be scored: ZeroDivisionError")


def _spin(x):
    while True:
        x += 1


def test_a_mutant_that_never_ends_is_stopped_and_counts_as_killed(exercise):
    started = time.process_time()
    found = _row(exercise, _spin, limit=0.2)
    assert found.points == (0.0, 0.0) and "took more than 0.2 s" in found.remark
    assert found.fault(14) == ""
    assert time.process_time() - started >= 0.3  # twice 0.2 s, by the clock's coarse ticks


def test_a_mutant_that_sleeps_is_stopped_as_well(exercise):
    assert _row(exercise, lambda x: time.sleep(3600), limit=0.1).points == (0.0, 0.0)


def test_the_alarm_leaves_the_process_as_it_was(exercise):
    _row(exercise, _spin, limit=0.1)
    started = time.process_time()
    while time.process_time() - started < 0.3:
        pass


def test_an_interrupt_by_the_user_is_not_taken_for_a_time_out(exercise):
    def stop(x):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        _row(exercise, stop)


def _matrix(exercise) -> Matrix:
    return matrix(exercise, [row(exercise, *solution) for solution in solutions_of(exercise)])


def test_the_matrix_collects_faults_and_properties_that_kill_nothing(exercise):
    exercise.variant("adds", "adds the number to itself")(lambda x: x + x)
    exercise.mutant("adds one", "one is not two")(lambda x: x + 1)
    exercise.mutant("secret twin", "not a mistake at all")(lambda x: 2 * x)
    found = _matrix(exercise)
    assert [(r.kind, r.name) for r in found.rows] == [
        ("reference", "reference"),
        ("variant", "adds"),
        ("mutant", "adds one"),
        ("mutant", "secret twin"),
    ]
    assert found.faults == ["W1.4: mutant 'secret twin' survives: it is wrong and gets full points"]
    assert found.idle == ["doubles one"]
    assert json.loads(json.dumps(found.to_dict()))["rows"][2]["kills"] == ["doubles a random number"]


def test_the_table_marks_each_kill_and_each_fault(exercise):
    exercise.mutant("adds one", "one is not two")(lambda x: x + 1)
    exercise.mutant("secret twin", "not a mistake at all")(lambda x: 2 * x)
    text = render(_matrix(exercise)).splitlines()
    assert text[0] == "W1.4 The document mask, 14 points"
    assert text[1].split() == ["1", "doubles", "one", "(13)"]
    (line,) = [line for line in text if "adds one" in line]
    assert line.split() == ["mutant", "adds", "one", ".", "x", "13"]
    assert text[-1].strip() == "kills nothing: doubles one"
    assert any("secret twin" in line and "<-- survives" in line for line in text)


def test_wrong_tests_of_a_write_a_test_exercise_are_scored_too():
    exercise = HiddenExercise("W0.2")

    def test_relu(impl):
        assert impl(-1.0) == 0.0 and impl(2.0) == 2.0

    exercise.set_reference(test_relu)
    exercise.accepts("max")(lambda x: max(x, 0.0))
    exercise.accepts("product")(lambda x: x * (x > 0))
    exercise.rejects("identity", "nothing is cut off")(lambda x: x)
    exercise.rejects("never ends", "it never ends")(lambda x: abs(x))

    @exercise.mutant("positive only", "Your test never looks below 0.")
    def _(impl):
        assert impl(2.0) == 2.0

    @exercise.mutant("rejects everything", "Your test accepts nothing.")
    def _(impl):
        raise AssertionError

    @exercise.variant("two numbers")
    def _(impl):
        assert [impl(-3.0), impl(0.5)] == [0.0, 0.5]

    found = _matrix(exercise)
    assert found.faults == []
    assert [r.points for r in found.rows] == [(1.0, 1.0), (1.0, 1.0), (0.0, 0.0), (0.0, 0.0)]
    assert "finds: identity" in found.rows[2].kills
