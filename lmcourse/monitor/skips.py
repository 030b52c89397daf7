"""Which batches of the data a run passes over."""

from __future__ import annotations

import re

from lmcourse.errors import CourseError


class SkipList:
    """Ranges of batch numbers that are not trained on; the batches behind them move up.

    Batches are numbered from 1 in the order of the data. A step takes the next batch that is not on the list,
    so a run from the start with the same list takes the same batches in the same steps, and gives the same
    weights.
    """

    def __init__(self, ranges: list[tuple[int, int]] | None = None) -> None:
        """
        Args:
            ranges: first and last number of each, in any order.
        """
        self.ranges: list[tuple[int, int]] = []
        for first, last in ranges or []:
            self.add(first, last)

    @classmethod
    def parse(cls, text: str, option: str = "skip_batches") -> SkipList:
        """The list that `str` writes: "81,96-110"; an empty text is an empty list.

        Raises:
            CourseError: anything else.
        """
        ranges = []
        for part in filter(None, (piece.strip() for piece in text.split(","))):
            match = re.fullmatch(r"(\d{1,12})(?:-(\d{1,12}))?", part, re.ASCII)
            first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
            if not 1 <= first <= last:
                raise CourseError(f"{option}: expected batch numbers from 1, such as 81,96-110, got {part!r}")
            ranges.append((first, last))
        return cls(ranges)

    def add(self, first: int, last: int | None = None) -> None:
        """Put a range on the list; ranges that touch become one."""
        merged = [(first, first if last is None else last)]
        for low, high in sorted(self.ranges):
            if high + 1 < merged[0][0] or low > merged[0][1] + 1:
                merged.append((low, high))
            else:
                merged[0] = (min(low, merged[0][0]), max(high, merged[0][1]))
        self.ranges = sorted(merged)

    def next_after(self, batch: int) -> int:
        """The number of the batch to take after this one (0 before the first)."""
        following = batch + 1
        for low, high in self.ranges:
            if low <= following <= high:
                following = high + 1
        return following

    def __len__(self) -> int:
        """Batches on the list."""
        return sum(last - first + 1 for first, last in self.ranges)

    def __contains__(self, batch: int) -> bool:
        return any(first <= batch <= last for first, last in self.ranges)

    def __str__(self) -> str:
        return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in self.ranges)
