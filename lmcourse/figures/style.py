"""One look for every figure: a palette with fixed roles, dashes and markers as second channels, sizes.

The colors were chosen for a large OKLab distance between any two of a theme under normal, protan, deutan and
tritan vision, and for a contrast of 3:1 with their background. Color is never the only channel: the line
style changes with it, and `MARKERS` holds one marker a series.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

import matplotlib as mpl
import numpy as np
from cycler import cycler
from matplotlib.patheffects import withStroke

from lmcourse.errors import CourseError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

PX = 0.72  # points in one CSS pixel at the 100 dpi of the screen
WIDTH, HEIGHT = 6.8, 3.8  # inches: 680 x 380 CSS pixels
LEFT, RIGHT, BOTTOM, TOP = (
    70,
    90,
    46,
    14,
)  # margins in CSS pixels; the right one holds the labels at the line ends

ROLES: Mapping[str, int] = MappingProxyType(
    {"train": 0, "sgd": 0, "validation": 1, "momentum": 1, "adam": 2, "muon": 3}
)
"""What a color means in the whole course, as an index into `Palette.series`."""

DASHES: tuple[Any, ...] = (
    "solid",
    (0, (6 * PX, 3 * PX)),
    (0, (2 * PX, 3 * PX)),
    (0, (8 * PX, 3 * PX, 2 * PX, 3 * PX)),
)
"""Line styles in the order of the series (matplotlib `linestyle` values)."""

MARKERS: tuple[str, ...] = ("o", "s", "^", "D")
"""Markers in the order of the series: circle, square, triangle, diamond."""


@dataclass(frozen=True)
class Palette:
    """The colors of one theme, as `#rrggbb`."""

    background: str
    text: str
    neutral: str  # the fifth series and every reference line
    grid: str
    alarm: str  # always with a symbol or a word beside it
    series: tuple[str, str, str, str]

    def role(self, name: str) -> str:
        """The color of a role: train, sgd, validation, momentum, adam or muon.

        Raises:
            CourseError: there is no such role.
        """
        if name not in ROLES:
            raise CourseError(f"there is no color role {name!r}; the roles are {', '.join(ROLES)}")
        return self.series[ROLES[name]]


PALETTE: Mapping[str, Palette] = MappingProxyType(
    {
        "light": Palette(
            background="#ffffff",
            text="#1f1f1f",
            neutral="#5f6368",
            grid="#e3e4e6",
            alarm="#b3261e",
            series=("#1d0caa", "#2098db", "#e46212", "#831b11"),
        ),
        "dark": Palette(
            background="#111111",
            text="#e8e8e8",
            neutral="#c9c9c9",
            grid="#3a3a3a",
            alarm="#ff8a80",
            series=("#455bb2", "#70b6e7", "#bb6802", "#fcf47e"),
        ),
    }
)


@contextmanager
def course_style(theme: str = "light") -> Iterator[Palette]:
    """Inside the block, new matplotlib figures get the course's look; afterwards every setting is as before.

    A figure of the default size has fixed margins (70, 90, 46 and 14 CSS pixels left, right, bottom and
    top), so two of them can be laid over each other. Yields the palette of the theme, "light" or "dark".

        with course_style() as palette:
            figure, axes = plt.subplots()
            axes.plot(steps, losses, color=palette.role("train"))

    Raises:
        CourseError: there is no such theme.
    """
    if theme not in PALETTE:
        raise CourseError(f"there is no theme {theme!r}; the themes are {', '.join(PALETTE)}")
    palette = PALETTE[theme]
    width, height = WIDTH * 100, HEIGHT * 100
    settings = {
        "figure.figsize": (WIDTH, HEIGHT),
        "figure.dpi": 100,
        "figure.facecolor": palette.background,
        "figure.subplot.left": LEFT / width,
        "figure.subplot.right": 1 - RIGHT / width,
        "figure.subplot.bottom": BOTTOM / height,
        "figure.subplot.top": 1 - TOP / height,
        "savefig.facecolor": palette.background,
        "savefig.bbox": None,
        "text.color": palette.text,
        "font.size": 9.5,
        "axes.labelsize": 9.5,
        "axes.titlesize": 10,
        "axes.titleweight": "bold",
        "axes.titlelocation": "left",
        "axes.labelcolor": palette.text,
        "axes.facecolor": palette.background,
        "axes.edgecolor": palette.neutral,
        "axes.linewidth": 1 * PX,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.axisbelow": True,
        "axes.grid": True,
        "axes.prop_cycle": cycler(color=palette.series) + cycler(linestyle=DASHES),
        "grid.color": palette.grid,
        "grid.linewidth": 1 * PX,
        "lines.linewidth": 2 * PX,
        "lines.markersize": 7 * PX,
        "lines.scale_dashes": False,
        "xtick.labelsize": 9,
        "ytick.labelsize": 9,
        "xtick.color": palette.neutral,
        "ytick.color": palette.neutral,
        "xtick.labelcolor": palette.text,
        "ytick.labelcolor": palette.text,
        "legend.fontsize": 9,
        "legend.frameon": False,
    }
    with mpl.rc_context(settings):
        yield palette


def reference_line(
    axes: Axes, y: float, label: str, theme: str = "light", side: Literal["left", "right"] = "right"
) -> Line2D:
    """A neutral dotted line at `y` (data units) with its label on it, at one edge of the axes.

    For what a curve is read against: ln V, the unigram entropy, the floor, the clip value. The label has a
    halo in the color of the background, so that a curve behind it does not make it unreadable.
    """
    palette = PALETTE[theme]
    line = axes.axhline(y, color=palette.neutral, linestyle=DASHES[2], linewidth=1.2 * PX, zorder=1.5)
    at_right = side == "right"
    axes.annotate(
        label,
        xy=(1 if at_right else 0, y),
        xycoords=("axes fraction", "data"),
        xytext=(-2 if at_right else 4, 2),
        textcoords="offset points",
        ha=side,
        va="bottom",
        fontsize=9,
        color=palette.text,
        path_effects=[withStroke(linewidth=2.5, foreground=palette.background)],
    )
    return line


def label_line_ends(axes: Axes) -> None:
    """Write each labeled line's name in the right margin, at its last finite point and in its color.

    Names that would overlap are moved apart vertically, in the order of the curves. Call it last, when the
    limits of the axes are final. Lines without a label of their own (matplotlib's `_child0`) are left out.
    """
    ends = []
    for line in axes.get_lines():
        x, y = (np.asarray(values, dtype=float) for values in line.get_data())
        finite = np.flatnonzero(np.isfinite(x) & np.isfinite(y))
        if finite.size and not str(line.get_label()).startswith("_"):
            point = axes.transData.transform((x[finite[-1]], y[finite[-1]]))
            ends.append((float(point[1]), line))
    ends.sort(key=lambda end: end[0])
    pixels_per_point = axes.figure.dpi / 72
    gap = 12 * pixels_per_point
    lowest = -np.inf
    right = axes.transAxes.transform((1, 0))[0]
    for height, line in ends:
        lowest = max(height, lowest + gap)
        axes.annotate(
            str(line.get_label()),
            xy=axes.transAxes.inverted().transform((right, lowest)),
            xycoords="axes fraction",
            xytext=(5, 0),
            textcoords="offset points",
            ha="left",
            va="center",
            fontsize=9,
            color=line.get_color(),
            annotation_clip=False,
        )
