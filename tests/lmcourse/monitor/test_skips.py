from __future__ import annotations

import pytest

from lmcourse.errors import CourseError
from lmcourse.monitor import SkipList


@pytest.mark.parametrize(
    "text, meaning",
    [
        ("", ""),
        ("81", "81"),
        ("96-110,81", "81,96-110"),
        ("3, 4 ,5-6", "3-6"),
        ("1-9,4-5,9-12", "1-12"),
        ("7-7", "7"),
    ],
)
def test_what_is_read_is_written_in_one_form(text: str, meaning: str) -> None:
    assert str(SkipList.parse(text)) == meaning
    assert str(SkipList.parse(meaning)) == meaning


@pytest.mark.parametrize("text", ["0", "5-3", "a", "1-2-3", "-4", "1.5", "٣", "1;2", "9" * 30])
def test_anything_else_is_one_line_with_the_part_that_was_wrong(text: str) -> None:
    with pytest.raises(CourseError, match="skip_batches: expected batch numbers") as caught:
        SkipList.parse(f"2,{text}")
    assert "\n" not in str(caught.value)


def test_the_batches_behind_a_range_move_up() -> None:
    skips = SkipList.parse("1-2,5,7-8")
    taken, batch = [], 0
    for _ in range(6):
        batch = skips.next_after(batch)
        taken.append(batch)
    assert taken == [3, 4, 6, 9, 10, 11]
    assert len(skips) == 5
    assert [n for n in range(1, 12) if n in skips] == [1, 2, 5, 7, 8]


def test_ranges_that_touch_are_one_so_that_next_never_lands_on_the_list() -> None:
    skips = SkipList([(5, 6)])
    for first, last in ((9, 9), (7, 8), (1, 3), (4, 4)):
        skips.add(first, last)
    assert skips.ranges == [(1, 9)]
    assert skips.next_after(0) == 10
