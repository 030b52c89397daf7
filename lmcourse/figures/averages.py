"""Pictures on what a loss is divided by: the angle between two objectives, and a forgotten division.

Each function returns a matplotlib figure and the alt text that its numbers give; nothing is shown or kept.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from lmcourse.figures.style import course_style, reference_line
from lmcourse.toys.objectives import angle_between_objectives

UNEVENNESS = (1, 2, 4, 8, 16, 32)
SETUPS = {"sgd": "SGD", "adamw": "AdamW", "adamw_clip": "AdamW,\nclipped"}
CEILING = math.log(16)  # nats: a model that knows nothing of 16 symbols


def angle_figure(seeds: Iterable[int]) -> tuple[Figure, str]:
    """Angle between the gradients of token mean and example mean, against how uneven the examples are.

    Args:
        seeds: of the batches; one thin line each, their mean as a thick one.
    """
    angles = np.array([[angle_between_objectives(ratio, seed) for ratio in UNEVENNESS] for seed in seeds])
    mean = angles.mean(axis=0)
    with course_style() as palette:
        figure = Figure(figsize=(6.8, 3.4))
        axes = figure.add_axes((0.11, 0.17, 0.86, 0.76))
        for line in angles:
            axes.plot(UNEVENNESS, line, color=palette.neutral, linewidth=0.7, alpha=0.7)
        axes.plot(UNEVENNESS, mean, color=palette.series[0], marker="o")
        axes.set_xscale("log", base=2)
        axes.set_xticks(UNEVENNESS, [f"{ratio}" for ratio in UNEVENNESS])
        axes.set_ylim(-1, max(10.0, float(angles.max()) * 1.1))
        axes.set_xlabel("longest example / shortest example (tokens)")
        axes.set_ylabel("angle between the gradients (degrees)")
        reference_line(axes, 0.0, "the same direction", side="left")
    told = ", ".join(f"{m:.0f} at {ratio}" for ratio, m in zip(UNEVENNESS, mean, strict=True))
    return figure, (
        f"Mean angle in degrees between the two gradients over {len(angles)} random batches, by ratio of the "
        f"longest to the shortest example: {told}."
    )


def forgotten_division_figure(recorded: Sequence[Mapping[str, Mapping[str, float]]]) -> tuple[Figure, str]:
    """Final losses with and without the division by K for three optimizers, and the share of clipped steps.

    Args:
        recorded: one entry a seed, as `load_recorded_accumulation` gives them.
    """
    with course_style() as palette:
        figure = Figure(figsize=(6.8, 3.4))
        losses, shares = figure.subplots(1, 2, width_ratios=(3, 1.1))
        figure.subplots_adjust(left=0.1, right=0.985, bottom=0.15, top=0.9, wspace=0.28)
        told = []
        for side, (name, words, hatch) in enumerate(
            (("right", "divided", ""), ("forgot", "not divided", "///"))
        ):
            color = palette.series[0 if name == "right" else 2]
            style = {"color": color, "hatch": hatch, "edgecolor": palette.background, "width": 0.38}
            for group, setup in enumerate(SETUPS):
                values = [min(r[f"{setup}_{name}"]["final"], 2 * CEILING) for r in recorded]
                _bar(losses, group + (side - 0.5) * 0.42, values, f"{np.mean(values):.3f}", palette.text,
                     label=words if group == 0 else None, **style)  # fmt: skip
                told.append(f"{setup} {words} {np.mean(values):.3f}")
            clipped = [r[f"adamw_clip_{name}"]["clipped"] for r in recorded]
            _bar(shares, side, clipped, f"{np.mean(clipped):.0%}", palette.text, **style)
            told.append(f"clipped {words} {np.mean(clipped):.0%}")
        losses.set_xticks(range(len(SETUPS)), list(SETUPS.values()))
        losses.set_ylim(2.0, 3.0)
        losses.set_ylabel("final loss (nats per token)")
        losses.legend(loc="upper right")
        reference_line(losses, CEILING, "ln V", side="left")
        shares.set_xticks([0, 1], ["divided", "not divided"])
        shares.set_ylim(0, 1.15)
        shares.set_ylabel("share of clipped steps")
        for axes in (losses, shares):
            axes.grid(axis="x", visible=False)
    return (
        figure,
        f"Bars of the final loss in nats per token and of the share of clipped steps: {', '.join(told)}.",
    )


def _bar(axes, x: float, values: Sequence[float], words: str, ink, **style) -> None:
    """A bar at the mean, a line over the range, and the number on top."""
    axes.bar(x, np.mean(values), **style)
    axes.vlines(x, min(values), max(values), color=ink, linewidth=1.2)
    place = {"xytext": (0, 3), "textcoords": "offset points", "ha": "center", "va": "bottom", "fontsize": 8.5}
    axes.annotate(words, (x, max(values)), **place)
