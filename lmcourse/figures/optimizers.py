"""Pictures on optimizers: recorded paths of the race without names, and the grid of the duel.

Each function returns a matplotlib figure and the alt text that its numbers give; nothing is shown or kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from lmcourse.figures.style import DASHES, MARKERS, course_style

Paths = Mapping[str, Mapping[str, NDArray[np.float64]]]


def race_figure(recorded: Paths) -> tuple[Figure, str]:
    """The paths on each landscape, and below the length of each step.

    Args:
        recorded: landscape -> path -> points (steps + 1, 2), as `load_race_paths` gives them.
    """
    told = []
    with course_style() as palette:
        figure = Figure(figsize=(6.8, 5.6))
        rows = figure.subplots(2, len(recorded), height_ratios=(1.4, 1))
        figure.subplots_adjust(left=0.1, right=0.98, bottom=0.09, top=0.95, wspace=0.25, hspace=0.3)
        for column, (landscape, paths) in enumerate(recorded.items()):
            top, bottom = rows[0][column], rows[1][column]
            for i, (name, points) in enumerate(paths.items()):
                color = palette.series[i]
                top.plot(*points.T, color=color, linestyle=DASHES[i], label=name)
                top.plot(*points[-1], marker=MARKERS[i], color=color)
                lengths = np.linalg.norm(np.diff(points, axis=0), axis=1)
                bottom.plot(np.maximum(lengths, 1e-6), color=color, linestyle=DASHES[i])
                told.append(f"{landscape} {name} ends at ({points[-1][0]:.2f}, {points[-1][1]:.2f})")
            top.plot(0, 0, marker="+", markersize=11, color=palette.text)
            top.set_title(landscape)
            bottom.set_yscale("log")
            bottom.set_ylim(1e-4, 2)
            bottom.set_xlabel("step")
        rows[0][-1].legend()
        rows[1][0].set_ylabel("length of the step")
    return figure, f"Four paths of 200 steps; the goal is (0, 0). {'; '.join(told)}."


def duel_figure(recorded: Sequence[Mapping[str, float | int | str]]) -> tuple[Figure, str]:
    """Validation loss against learning rate, a marker for each seed and a line through the means.

    Args:
        recorded: one entry a run, as `load_recorded_duel` gives them.
    """
    told = []
    with course_style() as palette:
        figure = Figure(figsize=(6.8, 3.6))
        axes = figure.add_axes((0.11, 0.15, 0.86, 0.8))
        for i, (name, role) in enumerate((("adamw", "adam"), ("muon", "muon"))):
            runs = [r for r in recorded if r["optimizer"] == name]
            rates = sorted({float(r["lr"]) for r in runs})
            means = [np.mean([r["loss"] for r in runs if r["lr"] == lr]) for lr in rates]
            style = {"color": palette.role(role)}
            axes.plot(rates, means, linestyle=DASHES[i], label=name, **style)
            axes.plot([r["lr"] for r in runs], [r["loss"] for r in runs], MARKERS[i], **style)
            told += [f"{name} {mean:.3f} at {lr:g}" for lr, mean in zip(rates, means, strict=True)]
        axes.set_xscale("log")
        axes.set_xlabel("learning rate")
        axes.set_ylabel("validation loss (nats per token)")
        axes.legend()
    return figure, f"Mean validation loss over seeds, in nats per token: {', '.join(told)}."
