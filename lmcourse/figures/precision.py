"""Pictures on number formats: a thousand additions, sizes of gradients, logs of runs that suffer.

Each function returns a matplotlib figure and the alt text that its numbers give; nothing is shown or kept.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure
from torch import Tensor

from lmcourse.corpora import MarkovCorpus
from lmcourse.experiments.gradient_sizes import GradientSizes
from lmcourse.experiments.precision_logs import LogLine, V
from lmcourse.figures.style import DASHES, course_style, label_line_ends, reference_line
from lmcourse.numbers import FORMATS


def additions_figure(paths: Mapping[str, Tensor]) -> tuple[Figure, str]:
    """The number after each addition, one curve for each way to keep it."""
    with course_style() as palette:
        figure = Figure(figsize=(6.8, 3.5))
        axes = figure.add_axes((0.09, 0.15, 0.64, 0.79))
        for i, (way, path) in enumerate(paths.items()):
            axes.plot(path.numpy(), color=palette.series[i], linestyle=DASHES[i], label=way)
        axes.set_xlim(0, len(path) - 1)
        axes.set_xlabel("additions of 0.001")
        axes.set_ylabel("number that is kept")
        label_line_ends(axes)
    told = ", ".join(f"{way} {float(path[-1]):.3f}" for way, path in paths.items())
    return figure, f"1.0 after {len(path) - 1:,} additions of 0.001, by way of keeping it: {told}."


def gradient_figure(sizes: GradientSizes) -> tuple[Figure, str]:
    """Histogram of log2 |gradient|, with the window of float16."""
    fp16 = FORMATS["fp16"]
    smallest, normal, largest = (math.log2(x) for x in (fp16.min_subnormal, fp16.min_normal, fp16.max))
    with course_style() as palette:
        figure = Figure(figsize=(6.8, 3.3))
        axes = figure.add_axes((0.1, 0.17, 0.87, 0.72))
        bins = np.arange(math.floor(min(sizes.exponents.min(), smallest)) - 4, largest + 3)
        share = np.full(len(sizes.exponents), 100 / len(sizes.exponents))
        axes.hist(sizes.exponents, bins=bins, weights=share, color=palette.series[0])
        axes.axvspan(normal, largest, color=palette.series[1], alpha=0.12, zorder=0)
        axes.axvspan(smallest, normal, color=palette.series[2], alpha=0.15, zorder=0)
        top = axes.get_ylim()[1] * 1.15
        axes.set_ylim(0, top)
        for x, text in (
            ((normal + largest) / 2, "float16: all digits"),
            ((smallest + normal) / 2, "fewer digits"),
            ((bins[0] + smallest) / 2, "zero"),
        ):
            axes.text(x, top * 0.96, text, ha="center", va="top", fontsize=9)
        axes.set_xlim(bins[0], bins[-1])
        axes.set_xlabel("log2 of the gradient's absolute value")
        axes.set_ylabel("share of the gradients (%)")
    return figure, (
        f"Histogram of {len(sizes.exponents):,} gradients from 2^{sizes.exponents.min():.0f} to "
        f"2^{sizes.exponents.max():.0f}. float16 has all digits from 2^{normal:.0f} to 2^{largest:.0f}; "
        f"{sizes.coarse():.1%} lie below and lose digits, {sizes.lost():.1%} become zero."
    )


def logs_figure(logs: Mapping[str, Sequence[LogLine]]) -> tuple[Figure, str]:
    """Loss of each run over its steps."""
    corpus = MarkovCorpus(vocab_size=V)
    with course_style() as palette:
        figure = Figure(figsize=(6.8, 3.3))
        axes = figure.add_axes((0.09, 0.16, 0.78, 0.78))
        for i, (name, lines) in enumerate(logs.items()):
            steps, losses = [line.step for line in lines], [line.loss for line in lines]
            axes.plot(steps, losses, color=palette.series[i], linestyle=DASHES[i], label=name)
        for y, words in (
            (math.log(V), "ln V"),
            (corpus.unigram_entropy, "unigram"),
            (corpus.entropy_rate, "floor"),
        ):
            reference_line(axes, y, words, side="left")
        axes.set_xlabel("step")
        axes.set_ylabel("loss (nats per token)")
        axes.set_ylim(corpus.entropy_rate - 0.05, math.log(V) + 0.1)
        label_line_ends(axes)
    told = ", ".join(f"{name} {lines[0].loss:.2f} to {lines[-1].loss:.2f}" for name, lines in logs.items())
    return figure, f"Loss in nats per token of four runs, first to last line of their logs: {told}."
