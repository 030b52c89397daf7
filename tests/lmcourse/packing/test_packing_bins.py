import random

import pytest

from lmcourse.errors import CourseError
from lmcourse.packing import best_fit_pack, ffd_pack

PACKERS = {"first": ffd_pack, "best": best_fit_pack}


def by_the_definition(lengths: list[int], T: int, fit: str) -> list[list[int]]:
    bins: list[list[int]] = []
    for index in sorted(range(len(lengths)), key=lambda i: (-lengths[i], i)):
        if lengths[index] > T:
            continue
        left = [T - sum(lengths[m] for m in members) for members in bins]
        fitting = [b for b, room in enumerate(left) if room >= lengths[index]]
        if not fitting:
            bins.append([index])
        elif fit == "first":
            bins[fitting[0]].append(index)
        else:
            bins[min(fitting, key=lambda b: (left[b], b))].append(index)
    return bins


@pytest.mark.parametrize("fit", PACKERS)
def test_equals_the_definition_on_random_lengths(fit):
    chance = random.Random(0)
    for _ in range(300):
        T = chance.randint(0, 12)
        lengths = [chance.randint(1, 14) for _ in range(chance.randint(0, 30))]
        assert PACKERS[fit](lengths, T) == by_the_definition(lengths, T, fit)


@pytest.mark.parametrize("fit", PACKERS)
def test_each_document_that_fits_is_in_exactly_one_bin_with_room(fit):
    chance = random.Random(1)
    lengths = [chance.randint(1, 300) for _ in range(2000)]
    bins = PACKERS[fit](lengths, 256)
    placed = sorted(index for members in bins for index in members)
    assert placed == [i for i, length in enumerate(lengths) if length <= 256]
    assert all(sum(lengths[i] for i in members) <= 256 for members in bins)


def test_best_fit_takes_the_fullest_bin_and_first_fit_the_first():
    lengths = [4, 6, 5, 7, 1, 4]  # the 1 finds room in the bins of 7, of 6 + 4 and of 5 + 4
    assert ffd_pack(lengths, 10) == [[3, 4], [1, 0], [2, 5]]
    assert best_fit_pack(lengths, 10) == [[3], [1, 0], [2, 5, 4]]


@pytest.mark.parametrize("fit", PACKERS)
def test_ties_keep_their_order_and_long_documents_are_left_out(fit):
    assert PACKERS[fit]([3, 5, 3, 9, 1], 6) == [[1, 4], [0, 2]]


def test_sorting_first_saves_a_bin():
    assert len(ffd_pack([1, 2, 4, 5], 6)) == 2  # in the given order first fit needs three


@pytest.mark.parametrize("fit", PACKERS)
def test_a_document_of_no_tokens_is_refused(fit):
    with pytest.raises(CourseError, match="at least 1 token, got 0"):
        PACKERS[fit]([3, 0], 6)
