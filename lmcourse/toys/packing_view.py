"""The packing and mask viewer's model: documents into rows, and what each token of a row may look at.

The rules are those of `lmcourse.packing` (a test compares them): an end-of-document token belongs to the
document that it closes, positions count from 0 at a row's start and at each change of document, and a
prediction counts in the loss when the next token belongs to the same document. Two things are the viewer's
own: a row that the documents do not fill is padded so that it can be seen (training drops it or reads on),
and padding may attend to nothing, which shows the row of NaN that follows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

MODES = ("pad", "pack", "pack + document mask")
STRATEGIES = ("cut anywhere", "best fit")

FUTURE, ALLOWED, BLOCKED, CROSSING, PADDING = range(5)
"""Codes of the attention cells: later key, own document, other document and blocked, other document and
allowed (an alarm), key or query is padding."""

Piece = tuple[int, int, int]  # document, first offset, offset behind the last


@dataclass(frozen=True)
class Totals:
    """Counts over all rows."""

    rows: int
    slots: int  # rows times window
    tokens: int  # slots that are not padding
    pairs: int  # attention cells that are allowed
    crossing: int  # of those, cells across documents
    kept: int  # predictions that count in the loss
    documents: int
    cut: int  # documents that lie in more than one row


@dataclass(frozen=True)
class PackingView:
    """One row of S slots and the totals of all rows. `doc` is -1 and `offset` 0 where the slot is padding."""

    row: int
    selected: int
    doc: NDArray[np.int32]  # (S,) index of the document
    offset: NDArray[np.int32]  # (S,) place of the token in its document
    eos: NDArray[np.bool_]  # (S,)
    position: NDArray[np.int32]  # (S,) position id given to the model
    keep: NDArray[np.bool_]  # (S,) the prediction made here counts in the loss
    codes: NDArray[np.uint8]  # (S, S) query, key
    totals: Totals

    @property
    def visible(self) -> NDArray[np.int64]:
        """Keys that the selected query may attend to, ascending."""
        return np.flatnonzero(np.isin(self.codes[self.selected], (ALLOWED, CROSSING)))


def lay_out(lengths: Sequence[int], window: int, mode: str, strategy: str) -> list[list[Piece]]:
    """Rows of pieces. `lengths` count the end-of-document token where there is one.

    A document longer than the window is cut into whole windows and a rest. *Pad* gives each piece a row of
    its own; *cut anywhere* fills each row to the last slot; *best fit* takes the longest piece first and
    puts it where the least room is left (best-fit decreasing; D. S. Johnson, 1973). There is always at
    least one row.
    """
    pieces = [
        (doc, start, min(start + window, length))
        for doc, length in enumerate(lengths)
        for start in range(0, max(length, 1), window)
    ]
    if mode == "pad":
        rows = [[piece] if piece[2] else [] for piece in pieces]
    elif strategy == "best fit":
        rows = best_fit([piece for piece in pieces if piece[2]], window)
    else:
        rows = cut_anywhere(lengths, window)
    return rows or [[]]


def cut_anywhere(lengths: Sequence[int], window: int) -> list[list[Piece]]:
    """All documents end to end, cut into rows of `window` slots."""
    rows: list[list[Piece]] = []
    room = 0
    for doc, length in enumerate(lengths):
        start = 0
        while start < length:
            if not room:
                rows.append([])
                room = window
            stop = min(length, start + room)
            rows[-1].append((doc, start, stop))
            room -= stop - start
            start = stop
    return rows


def best_fit(pieces: Sequence[Piece], window: int) -> list[list[Piece]]:
    """Longest piece first, each into the fullest row with room; ties go to the earlier piece and row."""
    rows: list[list[Piece]] = []
    rooms: list[int] = []
    for piece in sorted(pieces, key=lambda p: p[1] - p[2]):
        size = piece[2] - piece[1]
        fitting = [r for r, room in enumerate(rooms) if room >= size]
        if fitting:
            best = min(fitting, key=lambda r: rooms[r])
        else:
            best = len(rows)
            rows.append([])
            rooms.append(window)
        rows[best].append(piece)
        rooms[best] -= size
    return rows


def view_packing(
    lengths: Sequence[int],
    window: int,
    mode: str,
    strategy: str,
    eos: bool,
    reset: bool,
    row: int,
    selected: int,
) -> PackingView:
    """Lay out the documents and look at one row. A row or a token behind the last one means the last one.

    Args:
        lengths: tokens of each document, without the end-of-document token.
        window: slots in a row (S).
        mode: one of `MODES`. strategy: one of `STRATEGIES`.
        eos: close each document with a token that belongs to it.
        reset: positions start again at 0 in each document of the row.
        row, selected: the row to show and the query token in it, both from 0.
    """
    closed = [n + int(eos) for n in lengths]
    rows = lay_out(closed, window, mode, strategy)
    row = min(row, len(rows) - 1)
    doc = np.full(window, -1, dtype=np.int32)
    offset = np.zeros(window, dtype=np.int32)
    position = np.arange(window, dtype=np.int32)
    slot = 0
    for d, start, stop in rows[row]:
        here = slice(slot, slot + stop - start)
        doc[here] = d
        offset[here] = np.arange(start, stop)
        if reset:
            position[here] = np.arange(stop - start)
        slot = here.stop
    real = doc >= 0
    last = np.array([*closed, 0], dtype=np.int32)[doc] - 1  # offset of each document's last token
    position[~real] = 0
    return PackingView(
        row=row,
        selected=min(selected, window - 1),
        doc=doc,
        offset=offset,
        eos=real & eos & (offset == last),
        position=position,
        keep=real & (offset < last),
        codes=attention_codes(doc, masked=mode != "pack"),
        totals=count(rows, closed, window, masked=mode != "pack"),
    )


def attention_codes(doc: NDArray[np.int32], masked: bool) -> NDArray[np.uint8]:
    """(S, S) codes of the cells (query, key) of one row; padding is document -1."""
    same = doc[:, None] == doc[None, :]
    real = doc >= 0
    codes = np.where(same, ALLOWED, BLOCKED if masked else CROSSING).astype(np.uint8)
    codes[~(real[:, None] & real[None, :])] = PADDING
    codes[np.triu_indices(len(doc), 1)] = FUTURE
    return codes


def count(rows: Sequence[Sequence[Piece]], closed: Sequence[int], window: int, masked: bool) -> Totals:
    """Sum up all rows. A prediction is lost for the last token of each document that has one."""
    sizes = [[stop - start for _, start, stop in pieces] for pieces in rows]
    tokens = sum(map(sum, sizes))
    within = sum(n * (n + 1) // 2 for pieces in sizes for n in pieces)
    pairs = within if masked else sum(sum(p) * (sum(p) + 1) // 2 for p in sizes)
    homes = [sum(any(d == doc for d, _, _ in pieces) for pieces in rows) for doc in range(len(closed))]
    return Totals(
        rows=len(rows),
        slots=len(rows) * window,
        tokens=tokens,
        pairs=pairs,
        crossing=pairs - within,
        kept=tokens - sum(length > 0 for length in closed),
        documents=len(closed),
        cut=sum(home > 1 for home in homes),
    )


def averages(tokens: Sequence[float], losses: Sequence[float]) -> tuple[float, float]:
    """Two ways to average the mean losses of micro-batches: per token, and mean of means.

    With 2 tokens at loss 4 and 8 tokens at loss 1 the first gives 1.6, the second 2.5. No tokens at all: NaN.
    """
    total = sum(tokens)
    per_token = sum(n * x for n, x in zip(tokens, losses, strict=True)) / total if total else float("nan")
    return per_token, sum(losses) / len(losses)
