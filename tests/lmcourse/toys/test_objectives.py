"""The two means by hand, and the angle that grows with unequal lengths."""

from __future__ import annotations

import numpy as np
import pytest

from lmcourse.toys.objectives import angle_between_objectives, loss, token_weights


def test_the_example_of_the_text() -> None:
    lengths, losses = np.array([2, 8]), np.array([4.0, 1.0])
    assert loss(lengths, losses, "token mean") == pytest.approx(1.6)
    assert loss(lengths, losses, "example mean") == pytest.approx(2.5)
    short, long = token_weights(lengths, "example mean")
    assert short / long == pytest.approx(4)


@pytest.mark.parametrize("objective", ["token mean", "example mean"])
def test_weights_of_all_tokens_add_up_to_one(objective: str) -> None:
    lengths = np.array([1, 7, 30])
    assert (token_weights(lengths, objective) * lengths).sum() == pytest.approx(1)


def test_equal_lengths_give_one_direction_and_uneven_ones_do_not() -> None:
    for seed in range(5):
        assert angle_between_objectives(1, seed) < 1e-3
    angles = [np.mean([angle_between_objectives(ratio, seed) for seed in range(8)]) for ratio in (2, 8, 32)]
    assert 5 < angles[0] < angles[1] < angles[2] < 90
