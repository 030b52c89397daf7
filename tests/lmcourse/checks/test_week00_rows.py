"""The property rows of week 0, on good and bad first tests."""

from __future__ import annotations

import torch

from lmcourse.checks.rows import property_rows


def states(test) -> list[str]:
    return [row({"test_relu": test}).yours for row in property_rows("W0.2")]


def test_a_test_of_both_signs_tells_the_two_apart() -> None:
    def both_signs(impl) -> None:
        assert impl(torch.tensor([-3.0, 2.0])).tolist() == [0.0, 2.0], "negative numbers must become 0"

    assert states(both_signs) == ["accepted", "rejected: negative numbers must become 0"]


def test_a_test_of_positive_numbers_accepts_both() -> None:
    def friendly(impl) -> None:
        assert impl(torch.tensor([3.0])).item() == 3.0

    assert states(friendly) == ["accepted", "accepted"]
