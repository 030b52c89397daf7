"""Bin packing: whole documents into rows, with padding instead of cuts."""

from __future__ import annotations

from collections.abc import Sequence

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
    if any(length < 1 for length in lengths):
        raise CourseError(f"lengths: a document has at least 1 token, got {min(lengths)}")
    bins: list[list[int]] = []
    room: list[int] = []
    for index in sorted(range(len(lengths)), key=lambda i: -lengths[i]):  # stable: ties keep order
        length = lengths[index]
        if length > T:
            continue
        for slot, free in enumerate(room):
            if length <= free:
                bins[slot].append(index)
                room[slot] -= length
                break
        else:
            bins.append([index])
            room.append(T - length)
    return bins
