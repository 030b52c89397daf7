"""W1.5, positions and loss mask: at a document boundary positions restart and predictions do not count."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from autograde import expect
from autograde.exercise import Answer, Draw, HiddenExercise
from autograde.weeks.week01.documents import rows_of_ids
from lmcourse.packing import positions_and_loss_mask

EXERCISE = HiddenExercise(
    "W1.5",
    manners_points=1,
    forbidden=("lmcourse.packing.positions_and_loss_mask",),
    instead="Work out from the document numbers where each document begins and ends.",
)

EXERCISE.set_reference(positions_and_loss_mask)


@EXERCISE.variant("loops", "one place at a time")
def _(doc_id, eos_positions):
    B, T = doc_id.shape
    pos, keep = torch.zeros(B, T, dtype=torch.long), torch.ones(B, T, dtype=torch.bool)
    for b in range(B):
        for i in range(T):
            if i and doc_id[b, i] == doc_id[b, i - 1]:
                pos[b, i] = pos[b, i - 1] + 1
            if eos_positions[b, i] or (i + 1 < T and doc_id[b, i + 1] != doc_id[b, i]):
                keep[b, i] = False
    return pos, keep


@EXERCISE.variant("counting", "counts earlier tokens of the same document by a mask; keep by padding")
def _(doc_id, eos_positions):
    T = doc_id.shape[1]
    same = doc_id[:, :, None] == doc_id[:, None, :]
    pos = (same & torch.ones(T, T, dtype=torch.bool).tril(-1)).sum(-1)
    following = torch.cat([doc_id[:, 1:], doc_id[:, -1:]], dim=1)
    return pos, torch.logical_and(following == doc_id, torch.logical_not(eos_positions))


@EXERCISE.variant("numpy", "running maximum of the starts in numpy, in place")
def _(doc_id, eos_positions):
    ids = doc_id.numpy()
    starts = np.zeros(ids.shape, dtype=np.int32)
    starts[:, 1:] = np.where(ids[:, 1:] != ids[:, :-1], np.arange(1, ids.shape[1]), 0)
    np.maximum.accumulate(starts, axis=1, out=starts)
    keep = eos_positions.clone().logical_not_()
    keep[:, :-1] &= doc_id[:, 1:] == doc_id[:, :-1]
    return torch.from_numpy(np.arange(ids.shape[1]) - starts).long(), keep


# Mutants of the positions.


def _right(doc_id: Tensor, eos_positions: Tensor) -> tuple[Tensor, Tensor]:
    return positions_and_loss_mask(doc_id, eos_positions)


def _restart(starts: Tensor) -> Tensor:
    """Positions that restart at 0 where `starts` is true."""
    index = torch.arange(starts.shape[1]).expand(starts.shape)
    return index - torch.where(starts, index, 0).cummax(1).values


def _changes(doc_id: Tensor) -> Tensor:
    changes = torch.zeros_like(doc_id, dtype=torch.bool)
    changes[:, 1:] = doc_id[:, 1:] != doc_id[:, :-1]
    return changes


@EXERCISE.mutant(
    "no reset",
    "Your positions run on through the row: they must start from 0 again in each document.",
)
def _(doc_id, eos_positions):
    return torch.arange(doc_id.shape[1]).repeat(len(doc_id), 1), _right(doc_id, eos_positions)[1]


@EXERCISE.mutant(
    "reset one late",
    "Your positions restart one token late: the first token of a document still counts on from the one "
    "before.",
)
def _(doc_id, eos_positions):
    late = torch.zeros_like(doc_id, dtype=torch.bool)
    late[:, 1:] = _changes(doc_id)[:, :-1]
    return _restart(late), _right(doc_id, eos_positions)[1]


@EXERCISE.mutant(
    "reset at the eos",
    "Your positions restart at the eos: it is the last token of its document and has the highest position "
    "there.",
)
def _(doc_id, eos_positions):
    at_eos = eos_positions.clone()
    at_eos[:, 0] = True
    return _restart(at_eos), _right(doc_id, eos_positions)[1]


@EXERCISE.mutant(
    "reset only after an eos",
    "Your positions restart only after an eos; doc_id decides, also where a document was cut off and has "
    "no eos.",
)
def _(doc_id, eos_positions):
    after_eos = torch.zeros_like(eos_positions)
    after_eos[:, 1:] = eos_positions[:, :-1]
    return _restart(after_eos), _right(doc_id, eos_positions)[1]


@EXERCISE.mutant(
    "positions from one",
    "Your positions count from 1; the first token of a document has position 0.",
)
def _(doc_id, eos_positions):
    pos, keep = _right(doc_id, eos_positions)
    return pos + 1, keep


@EXERCISE.mutant(
    "positions go on in the next row",
    "Your positions go on from one row to the next; each row starts from 0, also in the middle of a "
    "document.",
)
def _(doc_id, eos_positions):
    flat = doc_id.reshape(1, -1)
    return _restart(_changes(flat)).view(doc_id.shape), _right(doc_id, eos_positions)[1]


@EXERCISE.mutant(
    "modulo of the first document",
    "Your positions repeat with the length of the first document; the documents have lengths of their own.",
)
def _(doc_id, eos_positions):
    first = (doc_id == doc_id[:, :1]).sum(1, keepdim=True)
    return torch.arange(doc_id.shape[1]) % first, _right(doc_id, eos_positions)[1]


@EXERCISE.mutant(
    "positions backwards",
    "Your positions count down to the end of the document; they count up from its start.",
)
def _(doc_id, eos_positions):
    turned = doc_id.flip(1)
    return _restart(_changes(turned)).flip(1), _right(doc_id, eos_positions)[1]


@EXERCISE.mutant(
    "document numbers",
    "Your positions are the number of the document in the row, not the place of the token in its document.",
)
def _(doc_id, eos_positions):
    return _changes(doc_id).long().cumsum(1), _right(doc_id, eos_positions)[1]


@EXERCISE.mutant(
    "int32 positions",
    "Your positions are int32; they index an embedding or a table of rotations, and are int64 here.",
)
def _(doc_id, eos_positions):
    pos, keep = _right(doc_id, eos_positions)
    return pos.int(), keep


# Mutants of the loss mask.


@EXERCISE.mutant(
    "everything counts",
    "Your loss mask keeps every prediction, also that of the next document's first token from the eos: the "
    "model is asked to guess what it cannot know.",
)
def _(doc_id, eos_positions):
    return _right(doc_id, eos_positions)[0], torch.ones_like(eos_positions)


@EXERCISE.mutant(
    "eos not predicted",
    "Your loss mask drops the prediction OF the eos; that one counts, it is how a model learns to stop. "
    "What does not count is the prediction FROM the eos.",
)
def _(doc_id, eos_positions):
    pos, _keep = _right(doc_id, eos_positions)
    keep = torch.ones_like(eos_positions)
    keep[:, :-1] = ~eos_positions[:, 1:]
    return pos, keep


@EXERCISE.mutant(
    "neither from nor of the eos",
    "Your loss mask drops two predictions at each boundary, from the eos and of the eos; predicting the "
    "eos counts.",
)
def _(doc_id, eos_positions):
    pos, keep = _right(doc_id, eos_positions)
    keep = keep.clone()
    keep[:, :-1] &= ~eos_positions[:, 1:]
    return pos, keep


@EXERCISE.mutant(
    "one late",
    "Your loss mask is shifted by one: it drops the first token of each document instead of the eos before "
    "it.",
)
def _(doc_id, eos_positions):
    return _right(doc_id, eos_positions)[0], ~_changes(doc_id)


@EXERCISE.mutant(
    "first token dropped too",
    "Your loss mask also drops the prediction made at the first token of each document; its target is the "
    "second token of the same document and counts.",
)
def _(doc_id, eos_positions):
    pos, keep = _right(doc_id, eos_positions)
    return pos, keep & (pos > 0)


@EXERCISE.mutant(
    "last column dropped",
    "Your loss mask always drops the last column; the target of the last input is in the row (it has T + 1 "
    "tokens), so it counts unless the input is eos.",
)
def _(doc_id, eos_positions):
    pos, keep = _right(doc_id, eos_positions)
    keep = keep.clone()
    keep[:, -1] = False
    return pos, keep


@EXERCISE.mutant(
    "eos in the last column counts",
    "Your loss mask keeps an eos in the last column: its target, the first token of the next row, belongs to "
    "another document. doc_id alone cannot tell, eos_positions can.",
)
def _(doc_id, eos_positions):
    keep = torch.ones_like(eos_positions)
    keep[:, :-1] = doc_id[:, 1:] == doc_id[:, :-1]
    return _right(doc_id, eos_positions)[0], keep


@EXERCISE.mutant(
    "only the eos counts as boundary",
    "Your loss mask looks at eos alone: where a document was cut off without one, the change of doc_id is "
    "the boundary.",
)
def _(doc_id, eos_positions):
    return _right(doc_id, eos_positions)[0], ~eos_positions


@EXERCISE.mutant(
    "inverted",
    "Your loss mask is inverted: keep is True where the prediction counts.",
)
def _(doc_id, eos_positions):
    pos, keep = _right(doc_id, eos_positions)
    return pos, ~keep


@EXERCISE.mutant(
    "float mask",
    "Your loss mask is a float tensor; the contract asks for booleans.",
)
def _(doc_id, eos_positions):
    pos, keep = _right(doc_id, eos_positions)
    return pos, keep.float()


# Mutants of both.


@EXERCISE.mutant(
    "wrong order",
    "Your two results are swapped: first the positions, then the loss mask.",
)
def _(doc_id, eos_positions):
    pos, keep = _right(doc_id, eos_positions)
    return keep, pos


@EXERCISE.mutant(
    "first row for all",
    "Your results are those of the first row, repeated for all rows of the batch.",
)
def _(doc_id, eos_positions):
    pos, keep = _right(doc_id, eos_positions)
    return pos[:1].expand_as(pos).clone(), keep[:1].expand_as(keep).clone()


@EXERCISE.mutant(
    "changes the eos positions",
    "Your function writes into eos_positions; the caller still needs it, work on a copy.",
)
def _(doc_id, eos_positions):
    result = _right(doc_id, eos_positions)
    eos_positions.logical_not_()
    return result


# Properties.


@EXERCISE.property("dtype and shape", 1)
def _(answer: Answer, draw: Draw) -> None:
    rng = draw.rng
    for B, T in ((1, 1), (2, 7), (6, 3)):
        case = expect.case(draw, B=B, T=T)
        pos, keep = expect.parts(answer(*_rows(rng, B, T)), ("pos", "keep"), case=case)
        expect.shape(pos, (B, T), what="pos", case=case)
        expect.dtype(pos, torch.int64, what="pos", case=case)
        expect.shape(keep, (B, T), what="keep", case=case)
        expect.dtype(keep, torch.bool, what="keep", case=case, hint="True means that the prediction counts.")


@EXERCISE.property("positions start from 0 in each document", 2)
def _(answer: Answer, draw: Draw) -> None:
    rng = draw.rng
    for B, T in ((1, 1), (1, 6), (2, 9), (3, 31)):
        _compare(answer, *_rows(rng, B, T), "pos", expect.case(draw, B=B, T=T))


@EXERCISE.property("predictions across a boundary do not count", 2)
def _(answer: Answer, draw: Draw) -> None:
    rng = draw.rng
    for words, runs, closed in (
        ("two documents", (3, 2), False),
        ("documents of length 1", (1, 1, 3), False),
        ("eos in the last column", (2, 3), True),
        ("nothing but one eos", (1,), True),
        ("many documents", tuple(rng.integers(1, 6, 12)), True),
    ):
        _compare(
            answer,
            *_row(rng, runs, closed),
            "keep",
            expect.case(draw, words, B=1, T=sum(runs)),
            keep_is=False,
        )


@EXERCISE.property("all other predictions count, that of the eos too", 1)
def _(answer: Answer, draw: Draw) -> None:
    rng = draw.rng
    for words, runs, closed in (
        ("one document that goes on", (4,), False),
        ("two documents", (4, 3), False),
        ("documents of length 2", (2, 2, 2), True),
        ("many documents", tuple(rng.integers(1, 9, 10)), False),
    ):
        _compare(
            answer, *_row(rng, runs, closed), "keep", expect.case(draw, words, B=1, T=sum(runs)), keep_is=True
        )


@EXERCISE.property("rows of their own, documents cut off without eos", 1)
def _(answer: Answer, draw: Draw) -> None:
    rng = draw.rng
    for B, T in ((2, 4), (5, 12)):
        ids, eos = _rows(rng, B, T)
        ids[1] = torch.cat(
            [ids[0, -1:].repeat(2), ids[0, -1:].repeat(T - 2) + 1]
        )  # goes on from the first row
        eos[0, -1] = False
        eos[1] = False  # its change of document has no eos
        for part in ("pos", "keep"):
            _compare(answer, ids, eos, part, expect.case(draw, B=B, T=T))


# Public rows.


@EXERCISE.public_case("two documents", "the example of the statement")
def _():
    return torch.tensor([[0, 0, 0, 1, 1, 1]]), torch.tensor([[False, False, True, False, False, False]])


@EXERCISE.public_case("two rows", "the first document of the second row goes on from the first row")
def _():
    ids = torch.tensor([[4, 4, 5, 5, 5, 6, 6], [6, 6, 6, 7, 8, 8, 8]])
    return ids, torch.tensor([[0, 1, 0, 0, 1, 0, 0], [0, 0, 1, 1, 0, 0, 0]]).bool()


# Oracle.


def _rows(rng: np.random.Generator, B: int, T: int) -> tuple[Tensor, Tensor]:
    """Rows as packing makes them: eos closes each document; the last one of a row is closed or goes on."""
    ids = rows_of_ids(rng, B, T, mean_length=3, consecutive=True)
    eos = torch.zeros(B, T, dtype=torch.bool)
    eos[:, :-1] = ids[:, 1:] != ids[:, :-1]
    eos[:, -1] = torch.from_numpy(rng.random(B) < 0.5)
    return ids, eos


def _row(rng: np.random.Generator, runs: tuple[int, ...], closed: bool) -> tuple[Tensor, Tensor]:
    """One row of documents of these lengths, with eos at the end of each; at the very end if `closed`."""
    labels = rng.permutation(80)[: len(runs)]
    ids = torch.from_numpy(np.repeat(labels, runs))[None]
    eos = torch.zeros(ids.shape, dtype=torch.bool)
    eos[0, torch.from_numpy(np.cumsum(runs) - 1)] = True
    eos[0, -1] = closed
    return ids, eos


def _compare(
    answer: Answer, ids: Tensor, eos: Tensor, part: str, case: str, keep_is: bool | None = None
) -> None:
    """Compare one result with the definition, in plain loops.

    `keep_is` looks only where keep should be that; a keep that is the same everywhere earns neither side.
    """
    pos, keep = expect.parts(answer(ids.clone(), eos.clone()), ("pos", "keep"), case=case)
    B, T = ids.shape
    if part == "pos":
        right = torch.zeros(B, T, dtype=torch.int64)
        for b in range(B):
            for i in range(1, T):
                right[b, i] = right[b, i - 1] + 1 if ids[b, i] == ids[b, i - 1] else 0
        hint = "Positions count from 0 at the start of the row and at each change of doc_id."
        expect.equal_integers(pos, right, what="pos", case=case, hint=hint)
        return
    came = expect.shape(keep, (B, T), what="keep", case=case).bool()
    crosses = torch.zeros(B, T, dtype=torch.bool)
    crosses[:, :-1] = ids[:, 1:] != ids[:, :-1]
    counts = ~(eos | crosses)
    if counts.any() and not counts.all() and (came.all() or not came.any()):
        raise expect.wrong(
            f"keep is {bool(came[0, 0])} everywhere, but some predictions count and some do not", case
        )
    for b in range(B):
        for i in range(T):
            right_here = bool(counts[b, i])
            if keep_is in (None, right_here) and bool(came[b, i]) != right_here:
                raise expect.wrong(_explain(b, i, T, bool(eos[b, i]), bool(crosses[b, i])), case)


def _explain(b: int, i: int, T: int, is_eos: bool, crosses: bool) -> str:
    place = f"keep is wrong in row {b}, column {i}"
    if is_eos:
        last = " (the last column is no exception)" if i == T - 1 else ""
        return (
            f"{place}: the input is eos, so its target belongs to the next document and does not count{last}"
        )
    if crosses:
        return f"{place}: the next token is of another document, so the prediction does not count"
    return f"{place}: the target is of the same document, so the prediction counts, also where it is eos"
