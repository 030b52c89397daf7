"""Pictures on what a loss is divided by: the angle between two objectives, and a forgotten division.

Each function returns a matplotlib figure and the alt text that its numbers give; nothing is shown or kept.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lmcourse.corpora import MarkovCorpus
from lmcourse.figures.style import course_style, reference_line
from lmcourse.toys.objectives import angle_between_objectives

UNEVENNESS = (1, 2, 4, 8, 16, 32)
SETUPS = {"sgd": "SGD", "adamw": "AdamW", "adamw_clip": "AdamW,\nclipped"}


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
            axes.plot(UNEVENNESS, line, "-", color=palette.neutral, linewidth=0.7, alpha=0.7)
        axes.plot(UNEVENNESS, mean, "o-", color=palette.series[0])
        axes.set_xscale("log", base=2)
        axes.set_xticks(UNEVENNESS, [f"{ratio}" for ratio in UNEVENNESS])
        axes.set_ylim(-1, max(10.0, float(angles.max()) * 1.1))
        axes.set_xlabel("longest example / shortest example (tokens)")
        axes.set_ylabel("angle between the gradients (degrees)")
        reference_line(axes, 0.0, "the same direction")
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
    corpus = MarkovCorpus(vocab_size=16)
    ceiling = math.log(corpus.vocab_size)
    with course_style() as palette:
        figure = Figure(figsize=(6.8, 3.4))
        losses, shares = figure.subplots(1, 2, width_ratios=(2.6, 1.2))
        figure.subplots_adjust(left=0.1, right=0.985, bottom=0.16, top=0.94, wspace=0.3)
        told = []
        for side, (name, words) in enumerate((("right", "divided"), ("forgot", "not divided"))):
            style = {"color": palette.series[2 * side], "marker": "os"[side]}
            for group, setup in enumerate(SETUPS):
                values = [min(r[f"{setup}_{name}"]["final"], 2 * ceiling) for r in recorded]
                _point(
                    losses,
                    group + (side - 0.5) * 0.4,
                    values,
                    "{:.3f}",
                    words if group == 0 else None,
                    **style,
                )
                told.append(f"{setup} {words} {np.mean(values):.3f}")
            clipped = [r[f"adamw_clip_{name}"]["clipped"] for r in recorded]
            _point(shares, side, clipped, "{:.0%}", None, **style)
            told.append(f"clipped {words} {np.mean(clipped):.0%}")
        losses.set_xticks(range(len(SETUPS)), list(SETUPS.values()))
        losses.set_xlim(-0.6, 2.9)
        losses.set_ylim(corpus.entropy_rate - 0.06, ceiling + 0.12)
        losses.set_ylabel("final loss (nats per token)")
        losses.legend(loc="center right")
        for y, label in (
            (ceiling, "ln V"),
            (corpus.unigram_entropy, "unigram"),
            (corpus.entropy_rate, "floor"),
        ):
            reference_line(losses, y, label)
        shares.set_xticks([0, 1], ["divided", "not\ndivided"])
        shares.set_xlim(-0.5, 1.5)
        shares.set_ylim(-0.08, 1.15)
        shares.set_ylabel("share of clipped steps")
        for axes in (losses, shares):
            axes.grid(axis="x", visible=False)
    return figure, f"Final losses in nats per token, and shares of clipped steps: {', '.join(told)}."


def _point(axes: Axes, x: float, values: Sequence[float], form: str, label: str | None, **style: Any) -> None:
    """A marker at the mean, a line over the range, and the number above."""
    axes.vlines(x, min(values), max(values), color=style["color"], linewidth=1.2)
    axes.plot(x, np.mean(values), label=label, linestyle="none", **style)
    place = {"xytext": (0, 6), "textcoords": "offset points", "ha": "center", "va": "bottom", "fontsize": 8.5}
    axes.annotate(form.format(np.mean(values)), (x, max(values)), **place)
