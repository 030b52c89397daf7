import random

import pytest

from lmcourse.errors import CourseError
from lmcourse.packing import ffd_pack


def by_the_definition(lengths: list[int], T: int) -> list[list[int]]:
    bins: list[list[int]] = []
    for index in sorted(range(len(lengths)), key=lambda i: (-lengths[i], i)):
        if lengths[index] > T:
            continue
        for members in bins:
            if sum(lengths[m] for m in members) + lengths[index] <= T:
                members.append(index)
                break
        else:
            bins.append([index])
    return bins


def test_equals_the_definition_on_random_lengths():
    chance = random.Random(0)
    for _ in range(300):
        T = chance.randint(0, 12)
        lengths = [chance.randint(1, 14) for _ in range(chance.randint(0, 30))]
        assert ffd_pack(lengths, T) == by_the_definition(lengths, T)


def test_ties_keep_their_order_and_long_documents_are_left_out():
    assert ffd_pack([3, 5, 3, 9, 1], 6) == [[1, 4], [0, 2]]


def test_sorting_first_saves_a_bin():
    assert len(ffd_pack([1, 2, 4, 5], 6)) == 2  # in the given order first fit needs three


def test_a_document_of_no_tokens_is_refused():
    with pytest.raises(CourseError, match="at least 1 token, got 0"):
        ffd_pack([3, 0], 6)
