"""The packing and mask viewer: settings, words and payload. Its model is `lmcourse.toys.packing_view`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from lmcourse.errors import CourseError
from lmcourse.toys.documents import LONGEST, parse_documents, random_documents
from lmcourse.toys.packing_view import CROSSING, MODES, STRATEGIES, PackingView, averages, view_packing
from lmcourse.widgets.controls import Control
from lmcourse.widgets.draw_packing import draw_packing
from lmcourse.widgets.payload import Payload
from lmcourse.widgets.text import Strings, decimal, fill, percent
from lmcourse.widgets.widget import CourseWidget, Design

EXAMPLE = "A:5 B:9 C:3 D:12"
GRID = 16  # queries and keys in the table for screen readers
LISTED = 6  # visible tokens named in the read-out; of more, the first three and the last two

CONTROLS = (
    Control("documents", "text", EXAMPLE),
    Control("seed", "seed", 0, 0, 9999),
    Control("window", "range", 32, 1, 64),
    Control("mode", "select", MODES[2], options=MODES),
    Control("strategy", "select", STRATEGIES[0], options=STRATEGIES),
    Control("eos", "check", False),
    Control("reset", "check", True, label="reset.positions"),
    Control("row", "range", 0, 0, 9999),
    Control("selected", "range", 7, 0, 63),
    Control("first_tokens", "number", 2, 0, 9999, panel="average"),
    Control("first_loss", "number", 4.0, 0, 99, 0.1, panel="average"),
    Control("second_tokens", "number", 8, 0, 9999, panel="average"),
    Control("second_loss", "number", 1.0, 0, 99, 0.1, panel="average"),
)

CUT_EXAMPLE = "A:11 B:9 C:12 D:6 E:4 F:10 G:5"
EXPERIMENTS = (
    {"documents": EXAMPLE, "window": 32, "mode": "pad", "eos": False, "row": 0, "selected": 4},
    {
        "documents": EXAMPLE,
        "window": 32,
        "mode": "pack",
        "strategy": "cut anywhere",
        "eos": False,
        "row": 0,
        "selected": 5,
    },
    {
        "documents": CUT_EXAMPLE,
        "window": 16,
        "mode": "pack + document mask",
        "strategy": "cut anywhere",
        "eos": True,
        "row": 1,
        "selected": 3,
    },
)


def token_names(view: PackingView, letters: Sequence[str], text: Strings) -> list[str]:
    """A name for each slot: B3, B-eos, or the word for padding."""
    return [
        text["padding"] if d < 0 else f"{letters[d]}-eos" if eos else f"{letters[d]}{offset}"
        for d, offset, eos in zip(view.doc, view.offset, view.eos, strict=True)
    ]


def listed(names: Sequence[str]) -> str:
    """The names, or the first three and the last two of many."""
    return " ".join(names if len(names) <= LISTED else [*names[:3], "…", *names[-2:]])


def describe(params: Mapping[str, Any], text: Strings) -> Payload:
    """Run the model and put it into words; settings are taken as they are, already checked or clamped."""
    documents = parse_documents(params["documents"])
    settings = {k: params[k] for k in ("window", "mode", "strategy", "eos", "reset", "row", "selected")}
    view = view_packing(documents.lengths, **settings)
    totals, i = view.totals, view.selected
    names = token_names(view, documents.letters, text)
    seen = view.visible
    if view.doc[i] < 0:
        sees = fill(text["sees.padding"], index=i)
        readout = f"{sees} {text['readout.padding']}"
    else:
        sees = fill(
            text["sees"],
            index=i,
            letter=documents.letters[view.doc[i]],
            position=int(view.position[i]),
            count=len(seen),
            names=listed([names[j] for j in seen]),
        )
        crossing = int((view.codes[i] == CROSSING).sum())
        leak = [fill(text["readout.crossing"], count=crossing)] if crossing else []
        readout = " ".join([sees, *leak, text["readout.kept" if view.keep[i] else "readout.lost"]])

    cross, use = percent(totals.crossing, totals.pairs), percent(totals.tokens, totals.slots)
    words = {"row": view.row, "rows": totals.rows, "mode": text[f"words.{params['mode']}"]}
    shown = str(documents).split()
    some = " ".join(shown[:6]) or "–"
    padded = totals.slots - totals.tokens
    predictions = fill(text["value.of"], part=totals.kept, whole=totals.tokens)
    numbers = (
        (text["number.use"], use),
        (text["number.padding"], fill(text["value.tokens"], count=padded)),
        (text["number.crossing"], cross),
        (text["number.cut"], fill(text["value.of"], part=totals.cut, whole=totals.documents)),
        (text["number.kept"], predictions),
        (text["number.rows"], str(totals.rows)),
    )
    size = min(GRID, params["window"])
    grid = (
        (text["grid.corner"], *names[:size]),
        *((names[q], *(text[f"cell.{code}"] for code in view.codes[q, :size])) for q in range(size)),
    )
    per_token, of_means = averages(
        (params["first_tokens"], params["second_tokens"]), (params["first_loss"], params["second_loss"])
    )
    problems = {}
    if documents.problem:
        problems["documents"] = fill(text[f"problem.{documents.problem}"], item=documents.item)
    return Payload(
        kind="packing",
        params=dict(params) | {"row": view.row, "selected": i},
        arrays={
            "doc": view.doc,
            "offset": view.offset,
            "eos": view.eos.astype(np.uint8),
            "position": view.position,
            "keep": view.keep.astype(np.uint8),
            "codes": view.codes,
        },
        scalars={
            "letters": "".join(documents.letters),
            "rows": totals.rows,
            "per_token": decimal(per_token, 2),
            "of_means": decimal(of_means, 2),
        },
        readout=readout,
        caption=fill(text["caption"], **words),
        alt=fill(
            text["alt"],
            **words,
            window=params["window"],
            documents=some if len(shown) <= 6 else fill(text["more"], shown=some, count=len(shown) - 6),
            sees=sees,
            cross=cross,
            use=use,
            kept=totals.kept,
        ),
        numbers=numbers,
        grid_caption=fill(text["grid"], size=size),
        grid=grid,
        problems=problems,
    )


DESIGN = Design("packing", CONTROLS, EXPERIMENTS, describe, draw_packing)


def packing(
    documents: str | Sequence[Sequence[int]] | None = EXAMPLE, *, language: str = "en", **settings: Any
) -> CourseWidget:
    """The packing and mask viewer: what each token may look at, and which predictions count in the loss.

    Args:
        documents: letters and lengths, "A:5 B:9"; or lists of token ids, of which the lengths are taken; or
            None for random lengths by `seed`. An unreadable text is explained in the widget, not raised.
        language: of the visible words; "en".
        settings: `window` 1 to 64 tokens (32), `mode` "pad", "pack" or "pack + document mask" (the last),
            `strategy` "cut anywhere" or "best fit" (the first), `eos` (False), `reset` positions in each
            document (True), `row` and `selected` query token, both from 0, `seed`; and `first_tokens`,
            `first_loss`, `second_tokens`, `second_loss` for the two averages.

    Raises:
        CourseError: a setting that does not exist, or a value outside its limits.
    """
    if documents is None:
        documents = random_documents(CONTROLS[1].checked(settings.get("seed", 0)))
    elif not isinstance(documents, str):
        documents = lengths_of(documents)
    return CourseWidget.with_settings(DESIGN, {"documents": documents, **settings}, language)


def lengths_of(documents: Sequence[Sequence[int]]) -> str:
    """Lists of token ids as lengths, "5 9 3"; the letters follow by themselves."""
    try:
        lengths = [len(document) for document in documents]
    except TypeError:
        raise CourseError(
            f"documents: expected text as 'A:5 B:9' or lists of token ids, got {documents!r:.60}"
        ) from None
    if len(lengths) > 26 or max(lengths, default=0) > LONGEST:
        raise CourseError(
            f"documents: at most 26 of at most {LONGEST} tokens fit, got {len(lengths)}, the longest of "
            f"{max(lengths)}; pass a part of them"
        )
    return " ".join(map(str, lengths))
