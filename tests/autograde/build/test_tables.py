"""The generated table of public cases: expected values, marks of mistakes, the same bytes every time."""

from __future__ import annotations

import pytest

from autograde.build.tables import week_table
from lmcourse.checks.tables import parse_table
from lmcourse.errors import CourseError


def test_expected_values_come_from_the_reference_and_marks_from_the_mutants(week, hidden):
    (case,) = parse_table(week_table(week, hidden)).cases("W0.1")
    assert (case.title, case.entry, case.expected) == ("three", "hello_check", 7.0)
    assert case.arguments() == {"x": 3.0}
    assert [(m.name, m.message, m.value) for m in case.mistakes] == [
        ("no one", "You forgot to add one.", 6.0),
        ("square", "You squared x.", 9.0),
    ]


def test_a_mutant_that_agrees_on_these_inputs_leaves_no_mark(week, hidden):
    hidden("W0.1").public_case("nought", "both agree")(lambda: (1.0 + 2.0**0.5,))
    cases = parse_table(week_table(week, hidden)).cases("W0.1")
    assert [m.name for m in cases[1].mistakes] == ["no one"]


def test_the_same_hidden_side_gives_the_same_bytes(week, hidden):
    assert week_table(week, hidden) == week_table(week, hidden)


def test_a_week_without_value_cases_has_no_table(week, hidden):
    hidden("W0.1").public_cases.clear()
    assert week_table(week, hidden) == ""


def test_a_case_that_cannot_be_recorded_is_named(week, hidden):
    hidden("W0.1").public_case("an object", "no plain data")(lambda: (object(),))
    with pytest.raises(CourseError, match=r"W0\.1: the public case 'an object' cannot be recorded"):
        week_table(week, hidden)
