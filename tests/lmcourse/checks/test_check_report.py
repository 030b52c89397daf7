"""The table that a student sees: as HTML, as text, and as data."""

from __future__ import annotations

import json
from html.parser import HTMLParser

import pytest
import torch

from lmcourse.checks.compare import difference
from lmcourse.checks.html import to_html
from lmcourse.checks.report import Prediction, Report
from lmcourse.checks.rows import Row
from lmcourse.checks.show import show

VOID = {"br", "hr", "img", "input"}


class Page(HTMLParser):
    """Checks that tags nest, and collects tags and text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict]] = []
        self.words = ""
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.words += data


def report(*rows: Row) -> Report:
    return Report(
        "W1.4",
        "The document mask",
        rows,
        (Prediction("How many <b>?", "9 & more", "2026-11-30T18:05:00+01:00"),),
    )


GOOD = Row("two rows", "causal", "1", "1", True)
BAD = Row("x < y", "id & id", "0", "1", False, "Off by one.", inputs="doc_id = 3", trace="File <cell>")


def test_html_is_an_accessible_table():
    page = Page(to_html(report(GOOD, BAD)))
    tags = [tag for tag, _ in page.tags]
    assert tags.count("table") == tags.count("caption") == 1
    assert [attrs["scope"] for tag, attrs in page.tags if tag == "th"] == ["col"] * 5 + ["row"] * 2
    for words in (
        "x < y",
        "id & id",
        "Off by one.",
        "pass",
        "FAIL",
        "9 & more",
        "How many <b>?",
        "File <cell>",
    ):
        assert words in page.words
    assert tags.count("details") == 2, "inputs and traceback of the failing row are folded"
    assert "30 Nov 2026, 18:05" in page.words
    assert "1 of 2 public checks pass. More checks run when you hand in." in page.words


def test_html_uses_the_theme_and_no_color_for_text():
    html = to_html(report(GOOD))
    assert "--jp-content-font-color1" in html
    assert "<script" not in html and "http" not in html


def test_text_and_json_hold_the_same():
    text = report(GOOD, BAD).to_text()
    data = json.loads(json.dumps(report(GOOD, BAD).to_json()))
    assert "x < y (id & id): FAIL" in text and "You predicted: 9 & more" in text and "doc_id = 3" in text
    assert data["state"] == "failed" and data["reason"] == "Off by one." and data["passed"] == 1
    assert data["rows"][1]["case"] == "x < y" and data["predictions"][0]["answer"] == "9 & more"


@pytest.mark.parametrize(
    ("states", "state"),
    [
        ([], "not checked"),
        (["passed", "passed"], "passed"),
        (["passed", "failed"], "failed"),
        (["failed", "error"], "error"),
        (["failed", "too slow", "not checked"], "too slow"),
        (["not started", "not started"], "not started"),
        (["passed", "not started"], "failed"),
        (["too slow", "not checked"], "too slow"),
    ],
)
def test_the_state_of_an_exercise_is_its_most_urgent_row(states, state):
    rows = [Row("c", "w", "", "", s == "passed", "why" if s != "passed" else "", s) for s in states]
    found = report(*rows)
    assert found.state == state
    assert bool(found.reason) == (state not in ("passed", "not checked"))
    for text in (found.summary, found.to_text(), to_html(found)):
        assert "all tests" not in text.lower() and "all checks" not in text.lower()


def test_an_exercise_without_public_check_says_so():
    assert report().summary == "W1.4 has no public check. It is judged when you hand in."


def test_differences_stand_in_brackets():
    yours = torch.tensor([[[3, 100], [7, 7]]])
    expected = torch.tensor([[[3, -5], [7, 7]]])
    text = show(yours, difference(yours, expected))
    assert text == "int64 [1, 2, 2]\n[ ] differs\nat [0]:\n   3 [100]\n   7    7"


def test_a_large_tensor_is_cropped_around_the_first_difference():
    expected = torch.zeros(3, 200, 300, dtype=torch.int64)
    yours = expected.clone()
    yours[2, 150, 260] = 1
    text = show(yours, difference(yours, expected))
    assert "at [2]:" in text and "[1]" in text and "rows 144 to 155" in text
    assert len(text.splitlines()) < 20 and max(map(len, text.splitlines())) < 60


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        list(range(10_000)),
        "x" * 10_000,
        torch.zeros(0, 4),
        torch.tensor(2.5),
        torch.randn(5, generator=torch.Generator().manual_seed(0)),
        (torch.arange(3), torch.zeros(2, 2, dtype=torch.bool)),
        {"in_order_masked": 0.05},
        object(),
        show,
    ],
    ids=lambda value: type(value).__name__,
)
def test_any_value_has_a_short_text(value):
    text = show(value)
    assert text and len(text) < 1000 and max(map(len, text.splitlines())) <= 60
