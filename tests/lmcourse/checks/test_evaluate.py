"""What `check` says about each way in which an answer can be wrong."""

from __future__ import annotations

import random

import numpy as np
import pytest
import torch

from lmcourse.checks import evaluate as engine
from lmcourse.checks.rows import PropertyRow, Row, outcome
from lmcourse.checks.tables import Table
from lmcourse.errors import CourseError

RIGHT = """
def document_mask(doc_id):
    T = doc_id.shape[1]
    return (doc_id[:, :, None] == doc_id[:, None, :]) & torch.ones(T, T, dtype=torch.bool).tril()
"""


def test_right(evaluate_source):
    report = evaluate_source(RIGHT)
    assert (report.state, report.passed, report.reason) == ("passed", 2, "")
    assert report.summary == "2 of 2 public checks pass. More checks run when you hand in."


def test_a_known_mistake_is_named_with_the_worst_element(evaluate_source):
    report = evaluate_source(
        "def document_mask(doc_id):\n    B, T = doc_id.shape\n    return torch.ones(B, T, T).tril().bool()\n"
    )
    first, second = report.rows
    assert "13 of 50 elements differ; the first at [0, 2, 0]: yours True, expected False" in first.message
    assert first.message.endswith("Your mask does not use the document ids.")
    assert "[1]" in first.yours and "[.]" in first.expected
    assert second.ok, "one token has nothing to forget"


def test_a_clear_case_decides_for_an_unclear_one(evaluate_source):
    """For one token the inverted mask and the empty one are the same; for two rows they are not."""
    source = "def document_mask(doc_id):\n    B, T = doc_id.shape\n    return torch.zeros(B, T, T).bool()\n"
    first, second = evaluate_source(source).rows
    assert first.message.endswith("Your mask allows nothing.")
    assert not first.ok and not second.ok and "inverted" not in first.message + second.message
    assert "allows nothing" not in second.message, "it is said once"


def test_a_row_with_nothing_new_to_say_points_to_the_one_that_said_it():
    wrong = Row("a", "it", "1", "2", False, "Wrong.")
    other = Row("b", "it", "1", "1", False, "Wrong.")
    waiting = Row("c", "it", "", "", False, "Not yet.", "not started")
    said = engine._said_once([wrong, other, Row("d", "it", "1", "1", True), waiting, waiting], [""] * 5)
    assert [row.message for row in said] == ["Wrong.", "The same as above.", "", "Not yet.", ""]


def test_an_unknown_mistake_gets_no_name(evaluate_source):
    message = evaluate_source(RIGHT.replace("tril()", "triu()")).rows[0].message
    assert "elements differ" in message and "Your mask does not" not in message


@pytest.mark.parametrize(
    ("source", "state", "words"),
    [
        ("x = 1", "not started", "`document_mask` is not defined: run the cell of W1.4"),
        ("document_mask = None", "not started", "`document_mask` is still None"),
        ("document_mask = ...", "not started", "`document_mask` is still Ellipsis"),
        (
            "def document_mask(doc_id):\n    raise NotImplementedError",
            "not started",
            "the stub is still in place",
        ),
        ("def doc_mask(doc_id):\n    return doc_id", "failed", "but `doc_mask` is: was it renamed?"),
        ("document_mask = torch.ones(2, 2)", "failed", "is a tensor of dtype float32"),
        (
            "def document_mask(doc_id):\n    doc_id == doc_id",
            "failed",
            "The result is None; is a `return` missing?",
        ),
        (
            "def document_mask(doc_id):\n    return [[True]]",
            "failed",
            "a list of length 1; expected a tensor",
        ),
        (
            "def document_mask(doc_id):\n    return doc_id == 1",
            "failed",
            "has shape (2, 5); expected (2, 5, 5)",
        ),
        (
            RIGHT.replace("return (", "return 1 * (").replace(" & ", " * "),
            "failed",
            "has dtype int64; expected bool (the values are right, the dtype is the reason)",
        ),
        (
            "def document_mask(doc_id):\n    return doc_id[7]",
            "error",
            "IndexError: index 7 is out of bounds for dimension 0 with size 2 "
            "(your line 2 in document_mask: return doc_id[7])",
        ),
        ("def document_mask():\n    return 1", "failed", "TypeError"),
        ("def document_mask(doc_id):\n    return document_mask(doc_id)", "error", "RecursionError"),
        ("def document_mask(doc_id):\n    raise SystemExit(3)", "error", "SystemExit: 3"),
    ],
)
def test_each_failure_in_its_own_words(evaluate_source, source, state, words):
    report = evaluate_source(source)
    assert report.state == state
    assert words in report.reason
    assert words in " ".join(report.to_text().split())


def test_not_implemented_by_torch_is_an_error_and_not_a_stub(evaluate_source):
    source = "def document_mask(doc_id):\n    return torch.empty(2, device='meta').item()"
    assert evaluate_source(source).state == "error"


def test_the_traceback_holds_the_students_frames_only(evaluate_source):
    source = "def helper(x):\n    return x[7]\n\ndef document_mask(doc_id):\n    return helper(doc_id)\n"
    row = evaluate_source(source).rows[0]
    assert "in helper: return x[7]" in row.message
    assert "line 5, in document_mask" in row.trace and "line 2, in helper" in row.trace
    assert "evaluate.py" not in row.trace


def test_a_slow_function_is_ended_and_the_other_cases_do_not_run(evaluate_source):
    report = evaluate_source("def document_mask(doc_id):\n    while True:\n        pass\n", seconds=0.3)
    assert [row.state for row in report.rows] == ["too slow", "not checked"]
    assert report.state == "too slow"
    assert report.reason == "document_mask did not finish in 0.3 s"


def test_changed_inputs_and_global_state_are_named(evaluate_source):
    touched = RIGHT.replace(
        "    T =",
        "    import random\n"
        "    random.random()\n"
        "    torch.rand(3)\n"
        "    torch.set_default_dtype(torch.float64)\n"
        "    doc_id += 1\n"
        "    T =",
    )
    before = torch.random.get_rng_state(), np.random.get_state()[1].copy(), random.getstate()
    report = evaluate_source(touched)
    assert report.state == "failed"
    for words in (
        "changed its argument `doc_id` in place",
        "torch's global random generator",
        "Python's global random generator",
        "changed torch's default dtype to torch.float64",
    ):
        assert words in report.reason
    assert "numpy" not in report.reason
    assert torch.equal(torch.random.get_rng_state(), before[0])
    assert np.array_equal(np.random.get_state()[1], before[1]) and random.getstate() == before[2]
    assert torch.get_default_dtype() == torch.float32


def test_a_value_may_come_in_any_form_of_number(evaluate_source):
    for source in ("0.9921875", "torch.tensor(127 / 128)", "__import__('numpy').float32(127 / 128)"):
        assert evaluate_source(f"overlap_share = {source}", "W1.2").state == "passed", source


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("overlap_share = 126 / 128", "The result is 0.984375; expected 0.9921875, off by 0.00781."),
        ("overlap_share = lambda: 127 / 128", "is a function (<lambda>); expected the value itself"),
        ("overlap_share = '127/128'", "is the text '127/128'; expected a number"),
        ("overlap_share = True", "is the truth value True; expected a number"),
        ("overlap_share = float('nan')", "is nan; expected 0.9921875"),
    ],
)
def test_a_wrong_value(evaluate_source, source, words):
    report = evaluate_source(source, "W1.2")
    assert report.state == "failed" and words in report.reason


def test_an_unknown_exercise_is_one_line():
    with pytest.raises(CourseError, match=r"did you mean 'W1\.4'"):
        engine.evaluate("W1.44", {})


def property_report(
    monkeypatch, judge, source="def document_mask(doc_id):\n    return doc_id[9]", seconds=5.0
):
    monkeypatch.setattr(
        engine, "property_rows", lambda exercise_id: [PropertyRow("W1.4", "a case", "it", judge)]
    )
    monkeypatch.setattr(engine, "load_table", lambda week: Table("W1"))
    namespace = {"__name__": "__main__"}
    exec(source, namespace)
    return engine.evaluate("W1.4", namespace, seconds)


def test_a_property_row_is_filled_in_and_its_message_shown_only_when_it_fails(monkeypatch):
    row = property_report(monkeypatch, lambda names: outcome("1", "2", False, "Look again.")).rows[0]
    assert (row.case, row.checks, row.state, row.message) == ("a case", "it", "failed", "Look again.")
    row = property_report(monkeypatch, lambda names: outcome("2", "2", True, "Look again.")).rows[0]
    assert (row.state, row.message) == ("passed", "")


def test_a_property_row_may_raise_an_assertion_for_the_student(monkeypatch):
    def judge(names) -> Row:
        raise AssertionError("two tensors are asked for")

    assert property_report(monkeypatch, judge).rows[0].message == "two tensors are asked for"


def test_what_a_property_row_cannot_use_is_the_students_failure(monkeypatch):
    row = property_report(
        monkeypatch, lambda names: names["document_mask"](1) + 1, "def document_mask(x): return None"
    ).rows[0]
    assert row.state == "failed" and row.message.startswith("the result cannot be used: TypeError")


def test_the_students_exception_passes_through_a_property_row(monkeypatch):
    row = property_report(monkeypatch, lambda names: names["document_mask"]([1])).rows[0]
    assert row.state == "error" and row.message.startswith("IndexError: list index out of range (your line 2")


def test_a_property_row_has_the_time_limit_too(monkeypatch):
    source = "def document_mask(x):\n    while True: pass"
    report = property_report(monkeypatch, lambda names: names["document_mask"](1), source, seconds=0.2)
    assert report.reason == "document_mask did not finish in 0.2 s"


@pytest.mark.parametrize("before", [1, 2])
def test_rows_run_on_one_thread_and_give_the_threads_back(before):
    seen = []

    def hello_check(x):
        seen.append(torch.get_num_threads())
        return 2 * x + 1

    found = torch.get_num_threads()
    torch.set_num_threads(before)
    try:
        engine.evaluate("W0.1", {"hello_check": hello_check})
        assert set(seen) == {1} and torch.get_num_threads() == before
    finally:
        torch.set_num_threads(found)
