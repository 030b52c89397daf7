"""One picture of a run: the loss between its reference lines, and below it what explains the loss."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from lmcourse.figures.run_data import RunData
from lmcourse.figures.style import DASHES, Palette, course_style, reference_line

LAYERS_DRAWN = 4  # one for each color


def run_figure(run: RunData, theme: str = "light") -> tuple[Figure, str]:
    """The picture and its alt text; nothing is shown or kept.

    Args:
        run: with at least one step.
        theme: "light" or "dark".
    """
    with course_style(theme) as palette:
        figure = Figure(figsize=(6.8, 7.6))
        grid = figure.add_gridspec(
            3,
            2,
            height_ratios=(2.1, 1, 1),
            left=0.1,
            right=0.98,
            top=0.965,
            bottom=0.06,
            hspace=0.42,
            wspace=0.27,
        )
        _loss(figure.add_subplot(grid[0, :]), run, palette, theme)
        _norm(figure.add_subplot(grid[1, 0]), run, palette, theme)
        _rate(figure.add_subplot(grid[1, 1]), run, palette)
        _ratios(figure.add_subplot(grid[2, 0]), run, palette)
        _logits(figure.add_subplot(grid[2, 1]), run, palette)
    return figure, alt_text(run)


def alt_text(run: RunData) -> str:
    """What the picture shows, in words and numbers."""
    losses, steps = run.smoothed_loss(), len(run.records)
    lines = ", ".join(f"{name} {value:.3f}" for name, value in run.lines.items())
    _, validation = run.validation()
    measured = f", validation loss last {validation[-1]:.3f}" if len(validation) else ""
    passed = len([event for event in run.events if "batch" in event])
    return (
        f"Training run {run.folder.name} over {steps} steps. The loss goes from {losses[0]:.3f} to "
        f"{losses[-1]:.3f} nats per token{measured}; reference lines: {lines}. Below: gradient norm with the "
        f"clip value, learning rate, update by weight norm of each layer, and the largest attention logit. "
        f"{passed} batches were passed over."
    )


def _loss(axes: Axes, run: RunData, palette: Palette, theme: str) -> None:
    steps, losses, smoothed = run.column("step"), run.column("loss"), run.smoothed_loss()
    axes.plot(steps, losses, color=palette.role("train"), linewidth=0.5, alpha=0.35, label="_each step")
    axes.plot(
        steps, smoothed, color=palette.role("train"), linestyle=DASHES[0], label="training, mean of 20 steps"
    )
    at, validation = run.validation()
    if len(at):
        axes.plot(
            at,
            validation,
            color=palette.role("validation"),
            linestyle=DASHES[1],
            marker="s",
            label="validation",
        )
    for name, value in run.lines.items():
        reference_line(axes, value, f"{name} {value:.3f}", theme, side="left" if name == "floor" else "right")
    shown = np.concatenate([smoothed, validation, list(run.lines.values())])
    low, high = np.nanmin(shown), min(np.nanmax(shown), 1.5 * run.lines["ln V"])
    if 0 < low < high / 5:  # the end of a run that goes far would lie flat on the floor
        axes.set_yscale("log")
        axes.set_ylim(low / 1.15, high * 1.15)
        _plain_log_numbers(axes)
    else:
        axes.set_ylim(low - 0.06 * (high - low), high + 0.08 * (high - low))
    passed = f"; \u00d7 marks {len(run.events)} batches passed over" if run.events else ""
    axes.set_title(f"loss of {run.folder.name}{passed}")
    axes.plot(
        [event["step"] for event in run.events],
        [0.975] * len(run.events),
        transform=axes.get_xaxis_transform(),
        linestyle="none",
        marker="x",
        color=palette.alarm,
        label="_passed over",
    )
    _finish(axes, run, "nats per token")


def _norm(axes: Axes, run: RunData, palette: Palette, theme: str) -> None:
    axes.plot(
        run.column("step"), run.column("gradient_norm"), color=palette.series[0], linewidth=0.7, label="_norm"
    )
    axes.set_yscale("log")
    _plain_log_numbers(axes)
    reference_line(axes, run.config.clip, f"clip {run.config.clip:g}", theme)
    share = f", {run.tables[-1]['clip_share']:.0%} clipped" if run.tables else ""
    axes.set_title(f"gradient norm{share}")
    _finish(axes, run, "norm before clipping")


def _rate(axes: Axes, run: RunData, palette: Palette) -> None:
    axes.plot(run.column("step"), run.column("learning_rate"), color=palette.series[0], label="_rate")
    axes.set_title("learning rate")
    axes.set_ylim(bottom=0)
    _plain_numbers(axes)
    _finish(axes, run, "of this step")


def _ratios(axes: Axes, run: RunData, palette: Palette) -> None:
    axes.set_title("update by weight norm")
    steps = [table["step"] for table in run.tables]
    names = drawn_layers(list(run.tables[-1]["layers"]) if run.tables else [])
    for index, name in enumerate(names):
        values = [table["layers"][name]["update_ratio"] or np.nan for table in run.tables]
        axes.plot(steps, values, color=palette.series[index], linestyle=DASHES[index], label=short(name))
    axes.set_yscale("log")
    _finish(axes, run, "ratio of a step")


def _logits(axes: Axes, run: RunData, palette: Palette) -> None:
    axes.set_title("largest attention logit")
    steps = [table["step"] for table in run.tables]
    blocks = list(run.tables[-1]["attention_logits"]) if run.tables else []
    for index, name in enumerate(drawn_layers(blocks)):
        values = [max(table["attention_logits"][name]) for table in run.tables]
        axes.plot(
            steps, values, color=palette.series[index], linestyle=DASHES[index], label=f"block {short(name)}"
        )
    _finish(axes, run, "q·k/√D")


def drawn_layers(names: Sequence[str]) -> list[str]:
    """At most four, evenly spread from the first to the last; more would not be told apart."""
    if len(names) <= LAYERS_DRAWN:
        return list(names)
    places = np.linspace(0, len(names) - 1, LAYERS_DRAWN).round().astype(int)
    return [names[place] for place in places]


def short(layer: str) -> str:
    """A name that fits in a legend: "blocks.0.attention" is "0 attn"."""
    return layer.removeprefix("blocks.").replace(".attention", " attn").replace(".mlp", " mlp")


def _finish(axes: Axes, run: RunData, unit: str) -> None:
    axes.set_xlim(0, max(1, len(run.records)))
    axes.set_ylabel(unit)
    axes.set_xlabel("optimizer step")
    if any(not str(line.get_label()).startswith("_") for line in axes.get_lines()):
        axes.legend(loc="best", handlelength=2.6, fontsize=8.5, labelspacing=0.3)


def _plain_log_numbers(axes: Axes) -> None:
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    _plain_numbers(axes)


def _plain_numbers(axes: Axes) -> None:
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, place: f"{value:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())
