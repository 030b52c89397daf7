"""Comparisons say in words what is wrong, and never show more than one element of what was expected."""

from fractions import Fraction

import numpy as np
import pytest
import torch

from autograde import expect
from autograde.exercise import Draw, Wrong


def message_of(check, *args, **kwargs) -> str:
    with pytest.raises(Wrong) as caught:
        check(*args, **kwargs)
    return caught.value.message


def test_case_lists_words_sizes_and_seed():
    assert expect.case(Draw(42), "one document", B=3, T=7) == "one document, B=3, T=7, seed 42"


def test_a_wrong_keeps_its_case_and_appends_the_hint():
    with pytest.raises(Wrong) as caught:
        expect.shape(torch.zeros(2), (3,), what="x", case="N=3, seed 1", hint="Count again.")
    assert caught.value.case == "N=3, seed 1"
    assert caught.value.message == "x should have shape (3,), but has (2,). Count again."


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (None, "nothing (None)"),
        ([1, 2], "a list of length 2"),
        (np.zeros((2, 1), dtype=np.int16), "a numpy array of shape (2, 1) and dtype int16"),
        (True, "the boolean True"),
        ("abc", "the text 'abc'"),
        (2.5, "the number 2.5"),
        (10**5000, "a very large whole number"),
        ({1: 2}, "a dict"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_no_tensor_is_named(value, words):
    assert words in message_of(expect.is_tensor, value, what="the mask")


def test_dtype_names_both():
    said = message_of(expect.dtype, torch.zeros(2, dtype=torch.int32), torch.int64, what="x")
    assert said == "the dtype of x should be int64, but is int32"


class TestEqualIntegers:
    def test_any_integer_dtype_and_booleans_pass(self):
        expect.equal_integers(torch.tensor([1, 0], dtype=torch.uint8), torch.tensor([True, False]))
        expect.equal_integers(torch.zeros(0, 3, dtype=torch.int32), torch.zeros(0, 3, dtype=torch.int64))

    def test_first_difference_and_their_number(self):
        got, right = torch.tensor([[5, 6], [9, 9]]), torch.tensor([[5, 7], [9, 8]])
        said = message_of(expect.equal_integers, got, right, what="x")
        assert said == "x is wrong in 2 of 4 elements; the first is at index (0, 1): 6 instead of 7"

    def test_only_one_element_of_the_oracle_is_shown(self):
        said = message_of(expect.equal_integers, torch.zeros(4).long(), torch.tensor([0, 311, 322, 333]))
        assert "311" in said
        assert "322" not in said and "333" not in said

    def test_floats_are_refused_by_dtype(self):
        assert "float32" in message_of(expect.equal_integers, torch.ones(2), torch.ones(2, dtype=torch.int64))

    def test_large_integers_are_not_rounded(self):
        big = torch.tensor([2**53 + 1])
        assert "instead of" in message_of(expect.equal_integers, big - 1, big)


class TestClose:
    def test_tolerance_follows_from_dtype_and_terms(self):
        eps = torch.finfo(torch.float32).eps
        assert expect.tolerance(torch.float32, terms=100) == pytest.approx(640 * eps)
        right = torch.tensor([1.0, -2.0], dtype=torch.float64)
        expect.close((right * (1 + 60 * eps)).float(), right)
        assert message_of(expect.close, right * (1 + 70 * eps), right)
        expect.close(right * (1 + 70 * eps), right, terms=4)

    def test_largest_difference_and_its_index(self):
        right = torch.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=torch.float64)
        got = torch.tensor([[1.0, 2.5], [3.0, 4.1]])
        said = message_of(expect.close, got, right, what="the loss")
        assert "differs by up to 0.5" in said
        assert "(0, 1): 2.5 instead of 2" in said

    def test_dtype_is_named_where_it_is_the_reason(self):
        right = torch.tensor([0.1, 0.7, 1.3], dtype=torch.float64)
        assert "The dtype is the reason: float16" in message_of(expect.close, right.half(), right)
        assert "dtype" not in message_of(expect.close, right.float() + 0.5, right)

    def test_nan_is_an_answer_of_its_own(self):
        right = torch.tensor([1.0, 2.0])
        assert "nan at index 1" in message_of(expect.close, torch.tensor([1.0, float("nan")]), right)

    def test_infinities_and_empty_tensors(self):
        right = torch.tensor([float("-inf"), 2.0])
        expect.close(right.clone(), right)
        assert message_of(expect.close, torch.tensor([0.0, 2.0]), right)
        expect.close(torch.zeros(0), torch.zeros(0))

    def test_numbers_and_arrays_are_taken(self):
        expect.close(2, 2.0)
        expect.close(np.array([1.0, 2.0]), torch.tensor([1.0, 2.0]))
        assert "a list" in message_of(expect.close, [1.0], torch.tensor([1.0]))
        assert "shape" in message_of(expect.close, torch.ones(3), torch.ones(2))


class TestNumber:
    @pytest.mark.parametrize(
        "value",
        [3, 3.0, np.float32(3), np.int8(3), torch.tensor(3), torch.tensor(3.0), np.array(3), Fraction(6, 2)],
    )
    def test_every_kind_of_number(self, value):
        assert expect.number(value) == 3.0

    @pytest.mark.parametrize(
        ("value", "words"),
        [
            (True, "boolean"),
            (np.bool_(True), "boolean"),
            (torch.tensor(True), "boolean"),
            ("3", "text"),
            (None, "nothing"),
            (1j, "complex"),
            (float("nan"), "finite"),
            (torch.tensor(float("inf")), "finite"),
            (torch.tensor([3.0]), "shape (1,)"),
            ([3], "list"),
            (10**400, "too large"),
            (-(10**5000), "too large"),
        ],
        ids=lambda value: type(value).__name__,
    )
    def test_what_is_no_number(self, value, words):
        assert words in message_of(expect.number, value)

    def test_whole_numbers(self):
        assert expect.whole_number(torch.tensor(4)) == 4
        assert expect.whole_number(np.int32(4)) == 4
        assert expect.whole_number(10**5000) == 10**5000
        for value in (4.0, True, "4", torch.tensor(4.0), None, torch.tensor([4])):
            assert "whole number" in message_of(expect.whole_number, value)


class TestSequences:
    def test_parts_of_a_tuple_or_list(self):
        assert expect.parts((1, 2), ("x", "y")) == [1, 2]
        assert expect.parts([1, 2], ("x", "y")) == [1, 2]
        assert "(x, y)" in message_of(expect.parts, torch.zeros(2), ("x", "y"))
        assert "3 values" in message_of(expect.parts, (1, 2, 3), ("x", "y"))

    def test_lists_of_integers_become_plain(self):
        rows = expect.lists_of_integers(
            [(np.int64(1), torch.tensor(2)), np.array([3]), torch.tensor([4, 5]), []]
        )
        assert rows == [[1, 2], [3], [4, 5], []]
        assert all(type(x) is int for row in rows for x in row)

    @pytest.mark.parametrize("value", [None, 3, "ab", [1, 2], [[1.0]], [[True]], ["12"], {0: [1]}])
    def test_what_is_no_list_of_lists(self, value):
        assert "should be" in message_of(expect.lists_of_integers, value)
