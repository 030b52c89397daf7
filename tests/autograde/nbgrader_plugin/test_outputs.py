"""A verdict in a grade cell: nbgrader reads out of it exactly the points that the judge gave."""

from __future__ import annotations

import math

import nbformat
import pytest
from nbgrader.utils import determine_grade

from autograde.judge.verdict import FAULTS, STATES, PropertyResult, Verdict
from autograde.nbgrader_plugin.outputs import explanation, grade_outputs


def _cell(verdict: Verdict, max_points: float = 14.0):
    marks = {"grade": True, "solution": False, "locked": True, "grade_id": "W1-4", "points": max_points}
    outputs = grade_outputs(verdict, max_points)
    return nbformat.v4.new_code_cell("# grade", metadata={"nbgrader": marks}, outputs=outputs)


@pytest.mark.parametrize("points", [0.0, 1e-9, 1 / 3, 24 * 7 / 9, 13.999999999999998, 14.0, 14])
@pytest.mark.parametrize("state", ["right", "partly", "wrong", "student_error", "forbidden"])
def test_nbgrader_reads_the_judges_points_to_the_last_bit(points, state):
    verdict = Verdict("W1.4", state, min(points, 14.0), 14.0, message="said")
    assert determine_grade(_cell(verdict)) == (verdict.points, 14.0)


@pytest.mark.parametrize("state", STATES)
def test_every_state_gives_a_valid_cell_without_stderr(state):
    verdict = Verdict("W1.4", state, None if state in FAULTS else 0.0, 14.0)
    cell = _cell(verdict)
    nbformat.validate(nbformat.v4.new_notebook(cells=[cell]))
    assert determine_grade(cell) == (0, 14.0)
    assert all(output.get("name") != "stderr" for output in cell.outputs)


def test_a_student_error_shows_the_message_as_an_error():
    text, error = grade_outputs(Verdict("W1.4", "time_out", 0.0, 14.0, message="took more than 5 s"), 14.0)
    assert error.output_type == "error" and error.evalue == "took more than 5 s"
    assert "took more than 5 s" in text.text


@pytest.mark.parametrize("points", [math.nan, math.inf, -1.0, 14.5])
def test_points_out_of_range_never_reach_a_cell(points):
    verdict = Verdict("W1.4", "partly", 1.0, 14.0)
    object.__setattr__(verdict, "points", points)
    with pytest.raises(ValueError, match="do not fit a cell of 14 points"):
        grade_outputs(verdict, 14.0)


def test_points_above_a_cell_that_is_worth_less_are_refused():
    with pytest.raises(ValueError, match="do not fit a cell of 2 points"):
        grade_outputs(Verdict("W1.4", "partly", 3.0, 14.0), 2.0)


def test_the_words_name_each_property_its_points_the_reason_and_the_case():
    properties = (
        PropertyResult("causal", 4, True),
        PropertyResult("documents apart", 2.5, False, "you see another document", "B=1, T=4"),
        PropertyResult("accepts right ones", 0, True),
    )
    text = explanation(Verdict("W1.4", "partly", 4.0, 14.0, message="not shown twice", properties=properties))
    assert text.splitlines() == [
        "W1.4: partly right, 4 of 14 points",
        "  passed  causal (4)",
        "  failed  documents apart (2.5): you see another document [B=1, T=4]",
        "  passed  accepts right ones",
    ]


def test_of_a_write_a_test_exercise_the_wrong_implementations_are_not_listed():
    properties = (
        PropertyResult("finds: last row only", 12.0, False),
        PropertyResult("finds: no mask", 12.0, True),
    )
    text = explanation(Verdict("W1.7", "partly", 12.0, 24.0, "Your test finds 1 of 2.", properties))
    assert text.splitlines() == ["W1.7: partly right, 12 of 24 points", "Your test finds 1 of 2."]
