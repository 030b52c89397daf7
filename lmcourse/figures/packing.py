"""Pictures of batches and packed rows: windows, lettered rows, masks side by side, bins, leak bars.

Each function returns a matplotlib figure and the alt text that its numbers give; nothing is shown or kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from lmcourse.figures.style import PALETTE, course_style, reference_line

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
LEGEND = {"masked": "with the mask", "unmasked": "without"}


def letter(document: int) -> str:
    """A short name for a document: 0 is A, 25 is Z, 26 is A1."""
    lap, index = divmod(int(document), len(LETTERS))
    return LETTERS[index] + (str(lap) if lap else "")


def tint(document: int, strength: float = 0.32) -> tuple[float, float, float]:
    """A light fill of the document's series color, on which dark text keeps its contrast."""
    series = PALETTE["light"].series
    color = np.array(to_rgb(series[int(document) % len(series)]))
    return tuple(1 - strength * (1 - color))


def windows_figure(text: str, starts: Sequence[int], T: int) -> tuple[Figure, str]:
    """A stream of characters, and under it each window with its targets one place further on.

    Args:
        text: the stream, one token a character; short enough to be read (up to about 40).
        starts: first position of each window.
        T: tokens per window.
    """
    with course_style():
        figure = Figure(figsize=(6.8, 0.6 + 0.75 * len(starts)))
        axes = figure.add_axes((0.01, 0.02, 0.98, 0.96))
        axes.set_axis_off()
        _strip(axes, text, 0, 0, "#eceef1")
        axes.text(-0.4, 0.5, "stream", ha="right", va="center")
        for row, start in enumerate(starts):
            y = 1.6 + 2.4 * row
            _strip(axes, text[start : start + T], start, y, tint(0))
            _strip(axes, text[start + 1 : start + T + 1], start + 1, y + 1, tint(2))
            axes.text(start - 0.4, y + 0.5, f"x, start {start}", ha="right", va="center")
            axes.text(start + T + 1.4, y + 1.5, "y", ha="left", va="center")
        axes.set_xlim(-3.4, len(text) + 1.5)
        axes.set_ylim(1.4 + 2.4 * len(starts), -0.2)
    alt = (
        f"A stream of {len(text)} characters with {len(starts)} windows of {T} below it, starting at "
        f"{', '.join(map(str, starts))}. Under each window x lie its targets y: the same characters, one "
        "place further on. Windows may overlap."
    )
    return figure, alt


def rows_figure(panels: Mapping[str, tuple[np.ndarray, np.ndarray]], eos: int) -> tuple[Figure, str]:
    """Packed rows, each token colored and lettered by its document, eos marked; one block for each title.

    Args:
        panels: for each title the `tokens` and the `doc_id` of its rows, both (R, T+1) integers.
        eos: id of the end-of-document token.
    """
    arrays = {title: (np.asarray(tokens), np.asarray(ids)) for title, (tokens, ids) in panels.items()}
    height = sum(0.34 + 0.34 * max(1, len(tokens)) for tokens, _ in arrays.values()) + 0.1
    told = []
    with course_style():
        figure = Figure(figsize=(6.8, height))
        top = height
        for title, (tokens, ids) in arrays.items():
            block = 0.34 * max(1, len(tokens))
            top -= 0.34 + block
            axes = figure.add_axes((0.01, top / height, 0.98, block / height))
            _rows(axes, tokens, ids, eos)
            axes.set_title(title)
            rows = "; ".join(f"row {row}: {_runs(ids[row])}" for row in range(len(ids))) or "no row"
            told.append(f"{title}: {rows}")
    return figure, "Packed rows of tokens, lettered by document. " + ". ".join(told) + "."


def mask_figure(
    yours: np.ndarray,
    definition: np.ndarray,
    doc_id: np.ndarray,
    names: tuple[str, str] = ("yours", "definition"),
) -> tuple[Figure, str]:
    """Three panels: a mask, the definition, and where they differ (a cross in each such cell).

    Args:
        yours, definition: (T, T) booleans, True where query i (down) may look at key j (across).
        doc_id: (T,) integers, which letter the axes.
    """
    yours, definition = np.asarray(yours, dtype=bool), np.asarray(definition, dtype=bool)
    wrong = yours != definition
    order = list(dict.fromkeys(np.asarray(doc_id).tolist()))  # documents in order of appearance: A, B, ...
    index = np.array([order.index(i) for i in np.asarray(doc_id).tolist()])
    letters = [letter(i) for i in index]
    with course_style() as palette:
        figure = Figure(figsize=(6.8, 2.75))
        panels = figure.subplots(
            1, 3, gridspec_kw={"left": 0.06, "right": 0.99, "bottom": 0.12, "wspace": 0.22}
        )
        blue, orange = palette.series[0], palette.series[2]
        _grid(panels[0], yours, blue, letters, names[0])
        _grid(panels[1], definition, blue, letters, names[1])
        _grid(panels[2], wrong, orange, letters, f"difference: {int(wrong.sum())} of {wrong.size} cells")
        for i, j in np.argwhere(wrong):
            panels[2].text(j, i, "×", ha="center", va="center", fontsize=11, color=palette.background)
        panels[0].set_ylabel("query i")
        for panel in panels:
            panel.set_xlabel("key j")
    alt = (
        f"Three grids of {len(letters)} queries by {len(letters)} keys for documents {_runs(index)}. "
        f"{names[0]} allows {int(yours.sum())} pairs, {names[1]} allows {int(definition.sum())}; "
        f"they differ in {int(wrong.sum())} cells."
    )
    return figure, alt


def bins_figure(
    panels: Mapping[str, Sequence[Sequence[int]]], lengths: Sequence[int], T: int
) -> tuple[Figure, str]:
    """Bins as bars of capacity T, each document a block with its letter and length; padding is hatched.

    Args:
        panels: for each title the bins, lists of indices into `lengths`.
        lengths: tokens of each document.
        T: capacity of a bin in tokens.
    """
    height = sum(0.4 + 0.32 * max(1, len(bins)) for bins in panels.values()) + 0.1
    told = []
    with course_style():
        figure = Figure(figsize=(6.8, height))
        top = height
        for title, bins in panels.items():
            block = 0.32 * max(1, len(bins))
            top -= 0.4 + block
            axes = figure.add_axes((0.01, (top + 0.06) / height, 0.98, block / height))
            _bins(axes, bins, lengths, T)
            used = sum(lengths[i] for group in bins for i in group)
            summary = f"{len(bins)} bins of {T}, {used / (T * max(1, len(bins))):.1%} filled"
            axes.set_title(f"{title}: {summary}")
            told.append(f"{title}: {summary}")
    return figure, "Bins drawn as bars, padding hatched. " + ". ".join(told) + "."


def leak_figure(
    gaps: Mapping[int, Mapping[str, float]],
    bands: Mapping[int, Mapping[str, tuple[float, float]]] | None = None,
) -> tuple[Figure, str]:
    """Validation loss above or below the exact floor, with and without the mask, for two orders of documents.

    Args:
        gaps: for each `run` (neighbors that share a regime), the four gaps in nats per token under the keys
            `in_order_masked`, `in_order_unmasked`, `shuffled_masked` and `shuffled_unmasked`.
        bands: smallest and largest gap over several seeds under the same keys, drawn as whiskers.
    """
    with course_style() as palette:
        figure = Figure(figsize=(6.8, 3.6))
        panels = figure.subplots(1, len(gaps), sharey=True, squeeze=False)[0]
        figure.subplots_adjust(left=0.11, right=0.985, bottom=0.15, top=0.9, wspace=0.08)
        styles = {"masked": (palette.series[0], ""), "unmasked": (palette.series[2], "///")}
        for panel, (run, values) in zip(panels, gaps.items(), strict=True):
            for group, order in enumerate(("in_order", "shuffled")):
                for side, (name, (color, hatch)) in enumerate(styles.items()):
                    value = values[f"{order}_{name}"]
                    x = group + (side - 0.5) * 0.42
                    bar = {"color": color, "hatch": hatch, "edgecolor": palette.background, "width": 0.38}
                    panel.bar(x, value, label=LEGEND[name] if group == 0 else None, **bar)
                    low, high = bands[run][f"{order}_{name}"] if bands else (value, value)
                    if bands:
                        panel.vlines(x, low, high, color=palette.text, linewidth=1.2)
                    tip = high if value >= 0 else low
                    place = {"xytext": (0, 3 if value >= 0 else -3), "textcoords": "offset points"}
                    where = {"ha": "center", "va": "bottom" if value >= 0 else "top", "fontsize": 8.5}
                    panel.annotate(f"{value:+.3f}", (x, tip), **place, **where)
            reference_line(panel, 0.0, "floor")
            panel.set_xticks([0, 1], ["in order", "shuffled"])
            panel.set_xlim(-0.55, 1.75)
            panel.grid(axis="x", visible=False)
            panel.set_xlabel("order of the validation documents")
            panel.set_title(f"run={run}: {_kin(run)}", fontsize=9.5)
        panels[0].set_ylabel("loss minus exact floor (nats per token)")
        panels[0].legend(title="training", loc="upper left")
        low, high = panels[0].get_ylim()
        panels[0].set_ylim(low - 0.04, high + 0.05)
    told = "; ".join(
        f"run={run}: in order {v['in_order_masked']:+.3f} with and {v['in_order_unmasked']:+.3f} without the "
        f"mask, shuffled {v['shuffled_masked']:+.3f} and {v['shuffled_unmasked']:+.3f}"
        for run, v in gaps.items()
    )
    return figure, f"Bars of validation loss against the exact floor at 0, in nats per token. {told}."


def _kin(run: int) -> str:
    return "neighbors are strangers" if run == 1 else f"{run} neighbors are kin"


def _rows(axes: Axes, tokens: np.ndarray, ids: np.ndarray, eos: int) -> None:
    axes.set_axis_off()
    for row, column in np.ndindex(*tokens.shape):
        document, token = int(ids[row, column]), int(tokens[row, column])
        axes.add_patch(Rectangle((column, row), 1, 0.86, facecolor=tint(document), edgecolor="white"))
        label = f"{letter(document)}  {'eos' if token == eos else token}"
        axes.text(column + 0.5, row + 0.43, label, ha="center", va="center", fontsize=9)
    for row in range(len(tokens)):
        axes.text(-0.15, row + 0.43, f"row {row}", ha="right", va="center")
    axes.set_xlim(-0.12 * tokens.shape[1], tokens.shape[1])
    axes.set_ylim(max(1, len(tokens)), 0)


def _bins(axes: Axes, bins: Sequence[Sequence[int]], lengths: Sequence[int], T: int) -> None:
    axes.set_axis_off()
    for row, group in enumerate(bins):
        x = 0
        for index in group:
            size = lengths[index]
            block = Rectangle((x, row), size, 0.84, facecolor=tint(index), edgecolor="white", lw=2)
            axes.add_patch(block)
            if size >= T / 24:
                name = f"{letter(index)} {size}"
                axes.text(x + size / 2, row + 0.42, name, ha="center", va="center", fontsize=9)
            x += size
        if x < T:
            empty = {"facecolor": "none", "edgecolor": PALETTE["light"].neutral, "hatch": "////", "lw": 0.6}
            axes.add_patch(Rectangle((x, row), T - x, 0.84, **empty))
        axes.text(-0.012 * T, row + 0.42, f"bin {row}", ha="right", va="center")
    axes.axvline(T, color=PALETTE["light"].text, lw=1)
    axes.set_xlim(-0.12 * T, T * 1.06)
    axes.set_ylim(max(1, len(bins)), 0)


def _strip(axes: Axes, text: str, x: int, y: float, color: object) -> None:
    for offset, character in enumerate(text):
        axes.add_patch(Rectangle((x + offset, y), 1, 0.9, facecolor=color, edgecolor="white"))
        shown = "␣" if character == " " else character
        axes.text(x + offset + 0.5, y + 0.45, shown, ha="center", va="center", fontsize=10)


def _grid(axes: Axes, cells: np.ndarray, color: str, letters: Sequence[str], title: str) -> None:
    picture = np.ones((*cells.shape, 3)) * 0.93
    picture[cells] = to_rgb(color)
    axes.imshow(picture, interpolation="nearest")
    axes.set_xticks(range(len(letters)), letters)
    axes.set_yticks(range(len(letters)), letters)
    axes.set_xticks(np.arange(-0.5, len(letters)), minor=True)
    axes.set_yticks(np.arange(-0.5, len(letters)), minor=True)
    axes.grid(which="major", visible=False)
    axes.grid(which="minor", color="white", linewidth=1)
    axes.tick_params(which="both", length=0)
    axes.set_title(title, fontsize=9.5)


def _runs(doc_id: Sequence[int] | np.ndarray) -> str:
    """`A3 B1 A2`: the letters of a row with the lengths of their runs."""
    ids = np.asarray(doc_id)
    cuts = np.flatnonzero(np.diff(ids)) + 1
    return " ".join(f"{letter(run[0])}{len(run)}" for run in np.split(ids, cuts) if len(run))
