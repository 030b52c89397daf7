"""Bin packing: whole documents into rows, with padding instead of cuts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from heapq import heappop, heappush

from lmcourse.errors import CourseError

Packer = Callable[[Sequence[int], int], list[list[int]]]


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
    return _pack(lengths, T, lambda number, room: (number, room))


def best_fit_pack(lengths: Sequence[int], T: int) -> list[list[int]]:
    """Best-fit decreasing: longest document first, each into the fullest open bin that has room.

    Of bins with equal room the first is taken. The worst case is that of first-fit decreasing.

    Args, returns and raises: as `ffd_pack`.
    """
    return _pack(lengths, T, lambda number, room: (room, number))


def _pack(
    lengths: Sequence[int], T: int, preference: Callable[[int, int], tuple[int, int]]
) -> list[list[int]]:
    """Longest first, each into the bin with the smallest preference, made of its number and its room."""
    if len(lengths) and min(lengths) < 1:
        raise CourseError(f"lengths: a document has at least 1 token, got {min(lengths)}")
    bins: list[list[int]] = []
    # The open bins by the room they have left, each a heap of bin numbers: of the bins with equal room the
    # first is on top, so there are no more than T + 1 to choose from. Asking every bin takes time with the
    # square.
    by_room: list[list[int]] = [[] for _ in range(max(T, 0) + 1)]
    for index in sorted(range(len(lengths)), key=lambda i: -lengths[i]):  # stable: ties keep their order
        length = lengths[index]
        if length > T:
            continue
        room = min(
            (room for room in range(length, T + 1) if by_room[room]),
            key=lambda room: preference(by_room[room][0], room),
            default=None,
        )
        if room is None:
            number, room = len(bins), T
            bins.append([])
        else:
            number = heappop(by_room[room])
        bins[number].append(index)
        heappush(by_room[room - length], number)
    return bins
