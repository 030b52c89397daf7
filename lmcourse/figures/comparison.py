"""Curves of several runs on one pair of axes, with the noise of what was measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure

from lmcourse.errors import CourseError
from lmcourse.figures.style import DASHES, MARKERS, course_style, label_line_ends

MOST = 4  # curves that colors, dashes and markers tell apart


@dataclass(frozen=True)
class Curve:
    """
    Attributes:
        name: for the end of the line.
        tokens: (S,) counted tokens seen after each step.
        training: (S,) smoothed loss.
        validation_tokens, validation: (E,) where it was measured, and what was.
        noise: half the height of the band around the validation curve, two standard errors.
    """

    name: str
    tokens: np.ndarray
    training: np.ndarray
    validation_tokens: np.ndarray
    validation: np.ndarray
    noise: float


def comparison_figure(curves: Sequence[Curve], unit: str, theme: str = "light") -> tuple[Figure, str]:
    """The picture and its alt text; nothing is shown or kept.

    Args:
        curves: one to four; all losses in `unit`.
        unit: such as "nats per token".
        theme: "light" or "dark".

    Raises:
        CourseError: more curves than can be told apart.
    """
    if len(curves) > MOST:
        raise CourseError(f"curves: at most {MOST} can be told apart in one picture, got {len(curves)}")
    with course_style(theme) as palette:
        figure = Figure()
        axes = figure.add_subplot()
        for index, curve in enumerate(curves):
            color = palette.series[index]
            axes.plot(curve.tokens, curve.training, color=color, linewidth=0.6, alpha=0.4, label="_training")
            axes.plot(
                curve.validation_tokens,
                curve.validation,
                color=color,
                linestyle=DASHES[index],
                marker=MARKERS[index],
                markersize=4,
                label=curve.name,
            )
            if np.isfinite(curve.noise):
                low, high = curve.validation - curve.noise, curve.validation + curve.noise
                axes.fill_between(curve.validation_tokens, low, high, color=color, alpha=0.2, linewidth=0)
        axes.set_xlabel("tokens seen")
        axes.set_ylabel(unit)
        axes.set_title("markers: validation, band: two standard errors; thin: training", fontsize=10)
        figure.subplots_adjust(top=0.92)  # the course's margin has no room for a title
        axes.set_xlim(left=0)
        seen = np.concatenate([curve.validation for curve in curves])
        seen = seen[np.isfinite(seen)]
        if len(seen):  # the first steps of training would flatten all the rest
            axes.set_ylim(seen.min() - 0.15 * np.ptp(seen) - 0.01, seen.max() + 0.35 * np.ptp(seen) + 0.01)
        figure.canvas.draw_idle()
        label_line_ends(axes)
    last = "; ".join(f"{c.name} ends at {c.validation[-1]:.4f}" for c in curves if len(c.validation))
    return figure, f"Validation loss of {len(curves)} runs by tokens seen, in {unit}: {last}."
