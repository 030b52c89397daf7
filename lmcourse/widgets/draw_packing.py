"""The packing and mask viewer as a still figure, in the same geometry as on the screen."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from lmcourse.figures import course_style
from lmcourse.toys.packing_view import ALLOWED, BLOCKED, CROSSING, PADDING
from lmcourse.widgets.payload import Payload
from lmcourse.widgets.text import Strings

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from lmcourse.figures import Palette

WIDTH, HEIGHT = 680, 400  # CSS pixels
LEFT = 64  # of the token strip
MATRIX = 318  # side of the matrix
TOP = 76  # of the matrix
SPREAD_CELLS = 15  # a cell at least this wide holds its own letter and position


def draw_packing(payload: Payload, text: Strings) -> Figure:
    """Token strip above, S x S mask below, numbers and legend at its right."""
    with course_style() as palette:
        figure = Figure(figsize=(WIDTH / 100, HEIGHT / 100))
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set(xlim=(0, WIDTH), ylim=(HEIGHT, 0))
        axes.axis("off")
        draw_strip(axes, payload, text, palette)
        draw_matrix(axes, payload, text, palette)
        draw_numbers(axes, payload, text, palette)
    return figure


def document_color(doc: int, palette: Palette) -> str:
    """The fill of a document; the four colors repeat, the letters do not."""
    return palette.series[doc % len(palette.series)]


def ink_on(color: str) -> str:
    """Black or white, whichever is easier to read on the color (WCAG contrast)."""
    channels = np.array([int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return "#000000" if linear @ [0.2126, 0.7152, 0.0722] > 0.179 else "#ffffff"


def runs(values: np.ndarray) -> list[tuple[int, int]]:
    """First and behind-last index of each stretch of equal values."""
    edges = [0, *(np.flatnonzero(np.diff(values)) + 1).tolist(), len(values)]
    return list(pairwise(edges))


def write(axes: Axes, x: float, y: float, words: str, size: float = 9, **options: object) -> None:
    """Text with its middle at height y."""
    axes.text(x, y, words, fontsize=size, va="center_baseline", **options)


def draw_strip(axes: Axes, payload: Payload, text: Strings, palette: Palette) -> None:
    """Tokens colored and lettered by document, position ids, and a dot for each prediction in the loss."""
    doc, position, keep, eos = (payload.arrays[k] for k in ("doc", "position", "keep", "eos"))
    size = len(doc)
    cell = min(22, (WIDTH - LEFT - 4) / size)
    for label, y in (("strip.token", 14), ("strip.position", 34), ("strip.keep", 50)):
        write(axes, LEFT - 8, y, text[label], color=palette.text, ha="right")
    for first, stop in runs(doc):
        x, d = LEFT + first * cell, int(doc[first])
        if d < 0:
            axes.add_patch(rectangle(x, 4, (stop - first) * cell, 20, palette, face="none"))
            continue
        color = document_color(d, palette)
        axes.add_patch(Rectangle((x, 4), (stop - first) * cell, 20, facecolor=color, edgecolor="none"))
        letter = payload.scalars["letters"][d]
        spread = cell >= SPREAD_CELLS
        centers = [i + 0.5 for i in range(first, stop)] if spread else [(first + stop) / 2]
        for center in centers:
            if not (spread and eos[int(center)]):
                write(axes, LEFT + center * cell, 14, letter, color=ink_on(color), ha="center", weight="bold")
        for i in range(first, stop):
            left = LEFT + i * cell
            if i > first:
                axes.plot([left, left], [4, 24], color=palette.background, linewidth=0.5, linestyle="solid")
            if eos[i]:
                axes.add_patch(Rectangle((left + cell / 2 - 2, 12), 4, 4, facecolor=ink_on(color)))
            if spread:
                write(axes, left + cell / 2, 34, str(position[i]), 8.5, color=palette.text, ha="center")
            else:
                tall = 1 + 11 * position[i] / max(size - 1, 1)
                axes.add_patch(
                    Rectangle((left + 0.5, 40 - tall), max(cell - 1, 1), tall, facecolor=palette.neutral)
                )
    for i in np.flatnonzero(keep):
        axes.plot(LEFT + (i + 0.5) * cell, 50, "o", color=palette.text, markersize=min(4, cell * 0.4), mew=0)
    i = payload.params["selected"]
    axes.add_patch(
        rectangle(LEFT + i * cell, 2, cell, 54, palette, face="none", width=1.5, edge=palette.text)
    )


def rectangle(
    x: float,
    y: float,
    w: float,
    h: float,
    palette: Palette,
    face: str,
    width: float = 0.5,
    edge: str | None = None,
) -> Rectangle:
    return Rectangle((x, y), w, h, facecolor=face, edgecolor=edge or palette.neutral, linewidth=width)


def draw_matrix(axes: Axes, payload: Payload, text: Strings, palette: Palette) -> None:
    """The mask, query down and key across, with the documents along both edges."""
    doc, codes = payload.arrays["doc"], payload.arrays["codes"]
    size = len(doc)
    cell = MATRIX / size
    left = LEFT + 14
    write(axes, LEFT - 8, TOP - 7, f"{text['axis.key']} →", color=palette.text, ha="right")
    write(axes, LEFT - 8, TOP + 8, f"{text['axis.query']} ↓", color=palette.text, ha="right")
    for first, stop in runs(doc):
        d, length = int(doc[first]), (stop - first) * cell
        color = document_color(d, palette) if d >= 0 else "none"
        axes.add_patch(rectangle(left + first * cell, TOP - 13, length, 11, palette, color, 0.4))
        axes.add_patch(rectangle(left - 13, TOP + first * cell, 11, length, palette, color, 0.4))
        if d >= 0 and length >= 10:
            letter, middle = payload.scalars["letters"][d], (first + stop) / 2 * cell
            write(axes, left + middle, TOP - 7.5, letter, 8, color=ink_on(color), ha="center", weight="bold")
            write(axes, left - 7.5, TOP + middle, letter, 8, color=ink_on(color), ha="center", weight="bold")
    for q in range(size):
        for first, stop in runs(codes[q] * 32 + doc.clip(0) * (codes[q] == ALLOWED)):
            patch_cells(axes, left, q, first, stop, cell, int(codes[q, first]), int(doc[q]), palette)
    for edge in range(size + 1):
        end = min(edge, size)
        for x, y in (
            ([left, left + end * cell], [TOP + (edge - 1) * cell] * 2 if edge else [TOP] * 2),
            ([left + edge * cell] * 2, [TOP + max(edge - 1, 0) * cell, TOP + MATRIX]),
        ):
            axes.plot(x, y, color=palette.background, linewidth=0.4, linestyle="solid")
    axes.add_patch(rectangle(left, TOP, MATRIX, MATRIX, palette, "none"))
    q = payload.params["selected"]
    axes.add_patch(rectangle(left, TOP + q * cell, (q + 1) * cell, cell, palette, "none", 1.6, palette.text))
    if not np.isin(codes[q], (ALLOWED, CROSSING)).any():
        y = TOP + (q + 0.5) * cell
        write(
            axes,
            left + MATRIX - 6,
            min(max(y, TOP + 8), TOP + MATRIX - 8),
            "NaN",
            10,
            color=palette.alarm,
            ha="right",
            weight="bold",
        )


def patch_cells(
    axes: Axes, left: float, q: int, first: int, stop: int, cell: float, code: int, doc: int, palette: Palette
) -> None:
    """One stretch of equal cells in row q."""
    box = (left + first * cell, TOP + q * cell), (stop - first) * cell, cell
    if code == ALLOWED:
        axes.add_patch(Rectangle(*box, facecolor=document_color(doc, palette), edgecolor="none"))
    elif code == BLOCKED:
        axes.add_patch(
            Rectangle(*box, facecolor="none", edgecolor=palette.neutral, hatch="/////", linewidth=0)
        )
    elif code == CROSSING:
        axes.add_patch(Rectangle(*box, facecolor="none", edgecolor=palette.alarm, hatch="xxxxx", linewidth=0))
    elif code == PADDING:
        axes.add_patch(Rectangle(*box, facecolor=palette.grid, edgecolor="none"))
        centers = left + (np.arange(first, stop) + 0.5) * cell
        y = np.full(stop - first, TOP + (q + 0.5) * cell)
        axes.plot(centers, y, ".", color=palette.neutral, markersize=1.4)


def draw_numbers(axes: Axes, payload: Payload, text: Strings, palette: Palette) -> None:
    """Numbers and the key to the cells, at the right of the matrix."""
    x, y = LEFT + 14 + MATRIX + 24, TOP + 6
    for name, value in payload.numbers:
        leak = name == text["number.crossing"] and bool((payload.arrays["codes"] == CROSSING).any())
        write(axes, x, y, name, 9, color=palette.text)
        write(axes, x, y + 15, value, 11, color=palette.alarm if leak else palette.text, weight="bold")
        y += 35
    y += 6
    doc = int(payload.arrays["doc"][0])
    for code in (ALLOWED, BLOCKED, CROSSING, PADDING):
        patch_key(axes, x, y, code, max(doc, 0), palette)
        write(axes, x + 22, y, text[f"legend.{code}"], 9, color=palette.text)
        y += 19
    axes.add_patch(Rectangle((x + 5, y - 2), 4, 4, facecolor=palette.text))
    write(axes, x + 22, y, text["legend.eos"], 9, color=palette.text)


def patch_key(axes: Axes, x: float, y: float, code: int, doc: int, palette: Palette) -> None:
    """A sample of one kind of cell."""
    face = {ALLOWED: document_color(doc, palette), PADDING: palette.grid}.get(code, "none")
    hatch = {BLOCKED: "/////", CROSSING: "xxxxx"}.get(code, "")
    edge = palette.alarm if code == CROSSING else palette.neutral
    axes.add_patch(Rectangle((x, y - 6), 14, 12, facecolor=face, edgecolor=edge, hatch=hatch, linewidth=0.5))
    if code == PADDING:
        axes.plot([x + 4, x + 10], [y, y], ".", color=palette.neutral, markersize=1.6)
