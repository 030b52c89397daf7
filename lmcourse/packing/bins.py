"""Bin packing: whole documents into rows, with padding instead of cuts."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush

from lmcourse.errors import CourseError


def ffd_pack(lengths: Sequence[int], T: int) -> list[list[int]]:
    """First-fit decreasing: longest document first, each into the first open bin that has room.

    Never needs more than 11/9 of the best possible number of bins plus 6/9 (D. S. Johnson, 1973; the exact
    constant: G. Dosa, 2007).

    Args:
        lengths: tokens of each document, >= 1.
        T: capacity of a bin in tokens.

    Returns:
        indices of `lengths` by bin, in order of opening and, inside a bin, of placement. Equal lengths keep
        their order. Documents longer than T are left out.

    Raises:
        CourseError: a length below 1.
    """
    if len(lengths) and min(lengths) < 1:
        raise CourseError(f"lengths: a document has at least 1 token, got {min(lengths)}")
    bins: list[list[int]] = []
    # The open bins by the room they have left, each a heap of bin numbers: the first bin with room for n
    # tokens is the smallest number on top of the heaps n..T. Asking every bin takes time with the square.
    by_room: list[list[int]] = [[] for _ in range(max(T, 0) + 1)]
    for index in sorted(range(len(lengths)), key=lambda i: -lengths[i]):  # stable: ties keep their order
        length = lengths[index]
        if length > T:
            continue
        first, room = min(
            ((heap[0], room) for room, heap in enumerate(by_room) if heap and room >= length),
            default=(len(bins), T),
        )
        if first == len(bins):
            bins.append([])
        else:
            heappop(by_room[room])
        bins[first].append(index)
        heappush(by_room[room - length], first)
    return bins
