"""Comparison of an answer with the expected value: tolerance from the dtype, and reasons in words."""

import math

import numpy as np
import pytest
import torch

from lmcourse.checks.compare import difference

EPS32 = torch.finfo(torch.float32).eps


@pytest.mark.parametrize(
    ("yours", "expected"),
    [
        (3, 3),
        (np.int64(3), 3),
        (torch.tensor(3), 3),
        (2.0, 2),
        (0.1 + 0.2, 0.3),
        (torch.tensor(0.1), 0.1),
        (np.float16(0.1), 0.1),
        (math.inf, math.inf),
        (math.nan, math.nan),
        ([1, 2], (1, 2)),
        ([[np.int64(0)], []], [[0], []]),
        ({"b": 1, "a": 2.0}, {"a": 2, "b": 1}),
        (torch.zeros(0, 3), torch.zeros(0, 3)),
        (torch.tensor([1.0, math.nan]), torch.tensor([1.0, math.nan])),
        (torch.tensor([0.1, 700.0], dtype=torch.float32), torch.tensor([0.1, 700.0], dtype=torch.float64)),
    ],
)
def test_equal(yours, expected):
    assert difference(yours, expected) is None


@pytest.mark.parametrize(
    ("yours", "expected", "words"),
    [
        (4, 3, "the result is 4; expected 3, off by 1"),
        (None, 3, "is a `return` missing?"),
        (True, 1, "is the truth value True; expected a number"),
        (1, True, "is the number 1; expected True or False"),
        ("3", 3, "is the text '3'; expected a number"),
        (torch.tensor([3]), 3, "a tensor of dtype int64 and shape (1,); expected a number"),
        (-math.inf, math.inf, "is -inf; expected inf"),
        ([1, 2], [1, 2, 3], "is a list of length 2; expected 3"),
        ([[0, 1], [4]], [[0, 1], [3]], "result[1][0] is 4; expected 3"),
        ({"a": 1}, {"a": 1, "b": 2}, "misses key: 'b'"),
        ({"a": 1, "b": 2}, {"a": 1}, "has an extra key: 'b'"),
        (np.zeros(3), torch.zeros(3), "is a numpy array of dtype float64 and shape (3,); expected a tensor"),
        (torch.zeros(3, 2), torch.zeros(2, 3), "has shape (3, 2); expected (2, 3)"),
        (torch.tensor([1, 2]).int(), torch.tensor([1, 2]), "the values are right, the dtype is the reason"),
        (torch.tensor([1, 3]).int(), torch.tensor([1, 2]), "the values differ, too"),
        (
            (torch.tensor([1]), torch.tensor([[5, -9, 2]])),
            (torch.tensor([1]), torch.tensor([[5, 4, 1]])),
            "result[1]: 2 of 3 elements differ; max abs difference 13 at [0, 1]: yours -9, expected 4",
        ),
        (torch.tensor([1.0, math.nan]), torch.tensor([1.0, 2.0]), "at [1]: yours nan, expected 2"),
    ],
)
def test_different(yours, expected, words):
    assert words in difference(yours, expected).reason


def test_the_tolerance_follows_the_coarser_dtype():
    expected = torch.tensor([1.0, 0.25, -3.0], dtype=torch.float64)
    near = expected + torch.tensor([0.0, 0.0, 100 * EPS32], dtype=torch.float64)
    assert difference(near.float(), expected) is None
    assert difference(near, expected) is not None
    assert difference((expected * 1.001).float(), expected) is not None


def test_places_of_all_different_elements():
    found = difference(
        torch.tensor([[True, False], [True, True]]), torch.tensor([[True, True], [False, True]])
    )
    assert found.places == ((0, 1), (1, 0))
