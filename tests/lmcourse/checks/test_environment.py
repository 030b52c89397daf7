"""The environment report: what it says, and that it says so without a notebook."""

from __future__ import annotations

import torch

from lmcourse.checks import environment as room
from lmcourse.checks.environment import UNANSWERED, environment


def test_the_report_names_versions_threads_and_formats() -> None:
    rows = dict(environment().rows)
    assert rows["torch"] == torch.__version__
    assert rows["threads of torch"] == str(torch.get_num_threads())
    assert rows["bfloat16 matrix product"].startswith("works (16 bits, spacing at 1 is 0.0078")


def test_a_format_that_cannot_multiply_is_reported_in_one_line() -> None:
    said = room._try_product(torch.bool)
    assert said.startswith("no: ")
    assert "\n" not in said


def test_a_missing_package_is_said_to_be_missing() -> None:
    assert room._version("no-such-package-anywhere") == "not installed"


def test_the_page_starts_with_no_answer_until_the_browser_gives_one() -> None:
    html = environment().to_html()
    assert UNANSWERED in html
    assert room.MARK in html
    assert room.MARK in room.PROBE
