"""The waste slider as a still figure: lengths of the documents above, four shares against the row length
below."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator

from lmcourse.figures import DASHES, MARKERS, course_style, label_line_ends
from lmcourse.toys.waste import BIN_EDGES
from lmcourse.widgets.payload import Payload
from lmcourse.widgets.text import Strings

WIDTH, HEIGHT = 680, 400  # CSS pixels
TICKS = tuple(2**k for k in range(4, 13))


def draw_waste(payload: Payload, text: Strings) -> Figure:
    """Both panels share the axis of tokens; a vertical line marks the chosen row length in both."""
    a = payload.arrays
    curves = ("padded", "bucketed", "crossing", "cut")
    with course_style() as palette:
        figure = Figure(figsize=(WIDTH / 100, HEIGHT / 100))
        upper = figure.add_axes((70 / WIDTH, 1 - 84 / HEIGHT, (WIDTH - 70 - 112) / WIDTH, 70 / HEIGHT))
        lower = figure.add_axes((70 / WIDTH, 46 / HEIGHT, (WIDTH - 70 - 112) / WIDTH, 256 / HEIGHT))
        upper.bar(
            BIN_EDGES[:-1],
            a["histogram"],
            np.diff(BIN_EDGES),
            align="edge",
            color=palette.neutral,
            linewidth=0,
        )
        for k, curve in enumerate(curves):
            if curve not in payload.params["shown"]:
                continue
            line = lower.plot(
                a["row_lengths"],
                100 * a["shares"][k],
                color=palette.series[k],
                linestyle=DASHES[k],
                label=text[f"curve.{curve}"],
            )[0]
            here = payload.params["row_length"]
            lower.plot(
                here, 100 * a["here"][k], MARKERS[k], color=line.get_color(), markersize=6, label="_here"
            )
        for axes in (upper, lower):
            axes.set_xscale("log")
            axes.set_xlim(TICKS[0], TICKS[-1])
            axes.axvline(payload.params["row_length"], color=palette.text, linewidth=0.9, linestyle="solid")
            axes.xaxis.set_major_locator(FixedLocator(TICKS))
            axes.xaxis.set_minor_locator(NullLocator())
        upper.set_xticklabels([])
        upper.set_ylabel(text["axis.documents"])
        upper.yaxis.set_major_locator(FixedLocator([0, int(a["histogram"].max())]))
        lower.set_xticklabels([f"{tick:,}" for tick in TICKS])
        lower.set(ylim=(0, 100), xlabel=text["axis.x"], ylabel=text["axis.y"])
        label_line_ends(lower)
    return figure
