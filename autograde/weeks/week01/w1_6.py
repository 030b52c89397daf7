"""W1.6, first-fit decreasing: the longest document first, each into the first open bin that has room."""

from __future__ import annotations

import numpy as np

from autograde import expect
from autograde.exercise import Answer, Draw, HiddenExercise
from lmcourse.packing import ffd_pack

EXERCISE = HiddenExercise(
    "W1.6",
    manners_points=1,
    forbidden=("lmcourse.packing.ffd_pack",),
    instead="Sort by length and put each document into the first bin with room yourself.",
)

EXERCISE.set_reference(ffd_pack)


@EXERCISE.variant("numpy argsort", "stable argsort of the negated lengths; sums each bin again")
def _(lengths, T):
    bins = []
    for index in np.argsort(-np.array(lengths, dtype=np.int64), kind="stable"):
        if lengths[index] > T:
            continue
        for bin_ in bins:
            if sum(lengths[i] for i in bin_) + lengths[index] <= T:
                bin_.append(int(index))
                break
        else:
            bins.append([int(index)])
    return bins


@EXERCISE.variant("pairs", "sorts (-length, index) pairs and looks for the bin with next()")
def _(lengths, T):
    pairs = sorted((-length, index) for index, length in enumerate(lengths) if length <= T)
    fill, bins = [], []
    for negative, index in pairs:
        found = next((k for k, used in enumerate(fill) if used - negative <= T), None)
        if found is None:
            found = len(bins)
            bins.append([])
            fill.append(0)
        bins[found].append(index)
        fill[found] -= negative
    return bins


@EXERCISE.variant("bin by bin", "fills the first bin with all that first-fit would give it, then the next")
def _(lengths, T):
    waiting = sorted((i for i in range(len(lengths)) if lengths[i] <= T), key=lambda i: (-lengths[i], i))
    bins = []
    while waiting:
        room, taken = T, []
        for index in waiting:
            if lengths[index] <= room:
                taken.append(index)
                room -= lengths[index]
        bins.append(taken)
        waiting = [index for index in waiting if index not in taken]
    return bins


# Mutants.


def _by_length(lengths: list[int], T: int) -> list[int]:
    return sorted((i for i in range(len(lengths)) if lengths[i] <= T), key=lambda i: -lengths[i])


def _fit(lengths, order, T, choose=min):
    """Place indices in `order`; `choose` picks one of the bins with room, given (bin, room left) pairs."""
    bins, room = [], []
    for index in order:
        fitting = [(slot, free) for slot, free in enumerate(room) if lengths[index] <= free]
        if fitting:
            slot, _free = choose(fitting)
        else:
            slot = len(bins)
            bins.append([])
            room.append(T)
        bins[slot].append(index)
        room[slot] -= lengths[index]
    return bins


@EXERCISE.mutant(
    "not sorted",
    "Your result is first-fit in the order of arrival: sort by decreasing length first, so that short "
    "documents fill the gaps.",
)
def _(lengths, T):
    return _fit(lengths, [i for i in range(len(lengths)) if lengths[i] <= T], T)


@EXERCISE.mutant(
    "increasing",
    "Your documents are placed shortest first; first-fit decreasing begins with the longest.",
)
def _(lengths, T):
    return _fit(lengths, sorted(_by_length(lengths, T), key=lambda i: (lengths[i], i)), T)


@EXERCISE.mutant(
    "best fit",
    "Your result is best-fit decreasing: it takes the bin with the least room left; first-fit takes the "
    "bin that was opened first.",
)
def _(lengths, T):
    return _fit(lengths, _by_length(lengths, T), T, lambda fitting: min(fitting, key=lambda pair: pair[1]))


@EXERCISE.mutant(
    "worst fit",
    "Your result is worst-fit: it takes the bin with the most room left; first-fit takes the bin that was "
    "opened first.",
)
def _(lengths, T):
    return _fit(lengths, _by_length(lengths, T), T, lambda fitting: max(fitting, key=lambda pair: pair[1]))


@EXERCISE.mutant(
    "last fit",
    "Your result takes the bin opened last among those with room; first-fit takes the one opened first.",
)
def _(lengths, T):
    return _fit(lengths, _by_length(lengths, T), T, max)


@EXERCISE.mutant(
    "next fit",
    "Your result looks only at the newest bin: first-fit also goes back to older bins that still have room.",
)
def _(lengths, T):
    bins, room = [], 0
    for index in _by_length(lengths, T):
        if not bins or lengths[index] > room:
            bins.append([])
            room = T
        bins[-1].append(index)
        room -= lengths[index]
    return bins


@EXERCISE.mutant(
    "one bin each",
    "Your result gives every document a bin of its own: that is padding, nothing is packed.",
)
def _(lengths, T):
    return [[index] for index in _by_length(lengths, T)]


@EXERCISE.mutant(
    "last token of room unused",
    "Your bins never get full: a document that fits exactly (length equal to the room left) does fit.",
)
def _(lengths, T):
    bins, room = [], []
    for index in _by_length(lengths, T):
        for slot, free in enumerate(room):
            if lengths[index] < free:
                bins[slot].append(index)
                room[slot] -= lengths[index]
                break
        else:
            bins.append([index])
            room.append(T - lengths[index])
    return bins


@EXERCISE.mutant(
    "one token too much",
    "Your bins hold T + 1 tokens; the capacity is T.",
)
def _(lengths, T):
    return _fit(lengths, _by_length(lengths, T), T + 1)


@EXERCISE.mutant(
    "length T left out",
    "Your result leaves out documents of length exactly T; they fill a bin, only longer ones are left out.",
)
def _(lengths, T):
    return _fit(lengths, [i for i in _by_length(lengths, T) if lengths[i] < T], T)


@EXERCISE.mutant(
    "too long gets a bin",
    "Your result gives a bin to a document longer than T: it would be cut without a word. Such documents "
    "are left out.",
)
def _(lengths, T):
    order = sorted(range(len(lengths)), key=lambda i: -lengths[i])
    return _fit(lengths, order, T)


@EXERCISE.mutant(
    "too long is cut",
    "Your result cuts documents longer than T down to T; they are left out instead.",
)
def _(lengths, T):
    cut = [min(length, T) for length in lengths]
    return _fit(cut, _by_length(cut, T), T)


@EXERCISE.mutant(
    "stops at a long document",
    "Your result ends at the first document that is longer than T: skip it and go on.",
)
def _(lengths, T):
    order = []
    for index in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        if lengths[index] > T:
            break
        order.append(index)
    return _fit(lengths, order, T)


@EXERCISE.mutant(
    "an empty bin for the long one",
    "Your result has an empty bin: open a bin only when something goes into it.",
)
def _(lengths, T):
    return _fit(lengths, _by_length(lengths, T), T) + [[] for length in lengths if length > T][:1]


@EXERCISE.mutant(
    "equal lengths lost",
    "Your result loses documents: those of the same length share one key, so only one of them is placed.",
)
def _(lengths, T):
    one_each = {length: index for index, length in reversed(list(enumerate(lengths)))}
    return _fit(
        lengths, sorted((i for i in one_each.values() if lengths[i] <= T), key=lambda i: -lengths[i]), T
    )


@EXERCISE.mutant(
    "lengths.index",
    "Your result names the same document twice: lengths.index finds the first document of that length, "
    "again and again.",
)
def _(lengths, T):
    return [[lengths.index(lengths[i]) for i in bin_] for bin_ in _fit(lengths, _by_length(lengths, T), T)]


@EXERCISE.mutant(
    "ties from the back",
    "Your result places documents of equal length from the back: with equal lengths the smaller index goes "
    "first (reverse=True on (length, index) pairs turns the indices too).",
)
def _(lengths, T):
    order = [i for _n, i in sorted(((n, i) for i, n in enumerate(lengths) if n <= T), reverse=True)]
    return _fit(lengths, order, T)


@EXERCISE.mutant(
    "lengths instead of indices",
    "Your bins hold lengths; they should hold the indices of the documents.",
)
def _(lengths, T):
    return [[lengths[i] for i in bin_] for bin_ in _fit(lengths, _by_length(lengths, T), T)]


@EXERCISE.mutant(
    "places in the sorted list",
    "Your bins hold places in the sorted list; they should hold the indices in `lengths` as it was given.",
)
def _(lengths, T):
    ordered = sorted((n for n in lengths if n <= T), reverse=True)
    return _fit(ordered, range(len(ordered)), T)


@EXERCISE.mutant(
    "indices from one",
    "Your indices count from 1.",
)
def _(lengths, T):
    return [[i + 1 for i in bin_] for bin_ in _fit(lengths, _by_length(lengths, T), T)]


@EXERCISE.mutant(
    "indices sorted",
    "Your bins list their indices in increasing order; the contract keeps the order of placement.",
)
def _(lengths, T):
    return [sorted(bin_) for bin_ in _fit(lengths, _by_length(lengths, T), T)]


@EXERCISE.mutant(
    "bins sorted",
    "Your bins are sorted; the contract keeps the order in which they were opened.",
)
def _(lengths, T):
    return sorted(_fit(lengths, _by_length(lengths, T), T))


@EXERCISE.mutant(
    "bins given back when full",
    "Your result lists bins in the order in which they became full; the contract keeps the order of opening.",
)
def _(lengths, T):
    bins = _fit(lengths, _by_length(lengths, T), T)
    full = [bin_ for bin_ in bins if sum(lengths[i] for i in bin_) == T]
    return full + [bin_ for bin_ in bins if bin_ not in full]


@EXERCISE.mutant(
    "number of bins",
    "Your function returns how many bins there are; it should return the bins.",
)
def _(lengths, T):
    return len(_fit(lengths, _by_length(lengths, T), T))


@EXERCISE.mutant(
    "sorts the argument",
    "Your function sorts the list that it was given; the caller's indices would no longer fit. Sort a copy.",
)
def _(lengths, T):
    bins = _fit(lengths, _by_length(lengths, T), T)
    lengths.sort(reverse=True)
    return bins


# Properties.


@EXERCISE.property("every index once, no bin too full", 2)
def _(answer: Answer, draw: Draw) -> None:
    rng = draw.rng
    for n, T in ((3, 6), (9, 10), (40, 31)):
        lengths = rng.integers(1, T + 1, size=n).tolist()
        lengths[:3] = [T // 3] * 3  # room for more than one in a bin
        lengths[3:4] = [T] * (n > 3)
        case = expect.case(draw, documents=n, T=T)
        bins = expect.lists_of_integers(answer(list(lengths), T), what="the result", item="index", case=case)
        _check_cover(bins, lengths, T, case)
        if len(bins) == n:
            message = "every document has a bin of its own, although two of them fit into one"
            raise expect.wrong(message, case)


@EXERCISE.property("equal to first-fit decreasing", 4)
def _(answer: Answer, draw: Draw) -> None:
    rng = draw.rng
    for n, T in ((4, 8), (7, 12), (12, 20), (20, 50), (30, 97), (45, 64), (60, 200)):
        lengths = rng.permutation(np.arange(1, T + 1))[
            :n
        ].tolist()  # all different: ties have their own property
        small = 1 + np.arange(n) % max(T // 3, 1)
        mixed = np.where(rng.random(n) < 0.5, small, rng.integers(1, T + 1, size=n))
        _compare(answer, lengths, T, expect.case(draw, documents=n, T=T))
        if n >= 20:
            _compare(
                answer, _without_ties(mixed.tolist(), T), T, expect.case(draw, "many short", documents=n, T=T)
            )
    older = [int(i) for i in rng.permutation([6, 4, 3, 1])]
    _compare(
        answer, older, 8, expect.case(draw, "an older bin has more room than a newer one", lengths=older, T=8)
    )


@EXERCISE.property("a bin can be filled exactly", 1)
def _(answer: Answer, draw: Draw) -> None:
    for lengths, T in (([4, 2], 6), ([5, 3, 9, 4], 9), ([1], 1)):
        _compare(answer, lengths, T, expect.case(draw, lengths=lengths, T=T))


@EXERCISE.property("equal lengths keep their order", 2)
def _(answer: Answer, draw: Draw) -> None:
    rng = draw.rng
    for n, T in ((3, 2), (6, 5), (25, 9)):
        lengths = rng.integers(1, 4, size=n).tolist()
        lengths[-2:] = [2, 2]
        lengths = [min(length, T) for length in lengths]
        _compare(answer, lengths, T, expect.case(draw, documents=n, T=T))


@EXERCISE.property("documents longer than T are left out", 1)
def _(answer: Answer, draw: Draw) -> None:
    for lengths, T in (([8, 3], 7), ([2, 9, 5, 8, 1], 6), ([4, 30, 6, 2], 6)):
        _compare(answer, lengths, T, expect.case(draw, lengths=lengths, T=T))


@EXERCISE.property("nothing to pack, one document, all too long", 1)
def _(answer: Answer, draw: Draw) -> None:
    for lengths, T in (([], 5), ([3], 5), ([5], 5), ([7, 6], 5)):
        _compare(answer, lengths, T, expect.case(draw, lengths=lengths, T=T))


# Public rows.


@EXERCISE.public_case("five documents", "the example of the statement")
def _():
    return [3, 6, 2, 7, 4], 10


@EXERCISE.public_case("seven documents", "one of them too long")
def _():
    return [5, 12, 9, 3, 6, 2, 4], 11


# Oracle.


def _check_cover(bins: list[list[int]], lengths: list[int], T: int, case: str) -> None:
    placed = [index for bin_ in bins for index in bin_]
    for index in placed:
        if not 0 <= index < len(lengths):
            raise expect.wrong(
                f"there is no document {index}", case, f"Indices run from 0 to {len(lengths) - 1}."
            )
        if placed.count(index) > 1:
            raise expect.wrong(f"document {index} is placed {placed.count(index)} times", case)
    for index, length in enumerate(lengths):
        if length <= T and index not in placed:
            raise expect.wrong(f"document {index} of length {length} is in no bin", case)
    for number, bin_ in enumerate(bins):
        total = sum(lengths[index] for index in bin_)
        if total > T:
            raise expect.wrong(f"bin {number} holds {total} tokens, the capacity is {T}", case)


def _compare(answer: Answer, lengths: list[int], T: int, case: str) -> None:
    """Compare with the definition: repeatedly take the longest document left, walk along the bins."""
    left = {index: length for index, length in enumerate(lengths) if length <= T}
    right: list[list[int]] = []
    while left:
        longest = max(left.values())
        index = min(i for i, length in left.items() if length == longest)
        for bin_ in right:
            if sum(lengths[i] for i in bin_) + longest <= T:
                bin_.append(index)
                break
        else:
            right.append([index])
        del left[index]
    bins = expect.lists_of_integers(answer(list(lengths), T), what="the result", item="index", case=case)
    if bins == right:
        return
    _check_cover(bins, lengths, T, case)
    for index, length in enumerate(lengths):
        if length > T and any(index in bin_ for bin_ in bins):
            raise expect.wrong(f"document {index} is longer than T and should be left out", case)
    if len(bins) != len(right):
        raise expect.wrong(f"{len(bins)} bins, first-fit decreasing gives {len(right)}", case)
    if sorted(map(sorted, bins)) == sorted(map(sorted, right)):
        hint = "Bins stand in the order of opening, the indices of a bin in the order of placement."
        raise expect.wrong("the bins are right, but not their order or the order in them", case, hint)
    number = next(k for k in range(len(bins)) if bins[k] != right[k])
    hint = "Longest first, ties by smaller index, each into the first open bin with room."
    raise expect.wrong(f"bin {number} is not what first-fit decreasing puts there", case, hint)


def _without_ties(lengths: list[int], T: int) -> list[int]:
    """Each length once, in the order of appearance."""
    return list(dict.fromkeys(min(length, T) for length in lengths))
