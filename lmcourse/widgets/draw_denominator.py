"""The denominator slider as a still figure: a bar for each token, its height the token's weight."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from lmcourse.figures import course_style
from lmcourse.widgets.payload import Payload
from lmcourse.widgets.text import Strings, decimal, fill, percent

WIDTH, HEIGHT = 680, 400  # CSS pixels


def draw_denominator(payload: Payload, text: Strings) -> Figure:
    """Token mean above, example mean below, on the same scale of weights."""
    tokens = [payload.params["first_tokens"], payload.params["second_tokens"]]
    weights = payload.arrays["weights"]
    shares = ([percent(n, sum(tokens)) for n in tokens], [percent(1, 2)] * 2)
    edges = np.cumsum([0, *tokens])
    with course_style() as palette:
        figure = Figure(figsize=(WIDTH / 100, HEIGHT / 100))
        for row, name in enumerate(("token", "example")):
            bottom = 236 - 190 * row
            axes = figure.add_axes((80 / WIDTH, bottom / HEIGHT, (WIDTH - 94) / WIDTH, 116 / HEIGHT))
            for k, letter in enumerate("AB"):
                places = np.arange(edges[k], edges[k + 1]) + 0.5
                axes.bar(places, weights[row][k], 0.9, color=palette.series[k], linewidth=0)
                if tokens[k] / sum(tokens) > 0.02:
                    middle = (edges[k] + edges[k + 1]) / 2
                    axes.annotate(letter, (middle, 0), (0, -10), textcoords="offset points", ha="center")
            axes.set(xlim=(0, sum(tokens)), ylim=(0, 1.05 * weights.max()), xticks=[])
            axes.set_ylabel(text["axis.weight"])
            value = decimal(float(payload.arrays["means"][row]), 2)
            title = fill(text["value.mean"], name=text[f"objective.{name}"], value=value)
            parts = [
                fill(text["value.share"], letter=letter, share=share)
                for letter, share in zip("AB", shares[row], strict=True)
            ]
            axes.set_title(f"{title}   ({', '.join(parts)})")
            if row:
                axes.set_xlabel(text["axis.tokens"], labelpad=16)
    return figure
