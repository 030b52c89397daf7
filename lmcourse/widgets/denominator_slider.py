"""The denominator slider: settings, words and payload. Its model is `lmcourse.toys.objectives`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from lmcourse.toys.objectives import loss, token_weights
from lmcourse.widgets.controls import Control
from lmcourse.widgets.draw_denominator import draw_denominator
from lmcourse.widgets.payload import Payload
from lmcourse.widgets.text import Strings, decimal, fill, percent
from lmcourse.widgets.widget import CourseWidget, Design

OBJECTIVES = ("token mean", "example mean")

CONTROLS = (
    Control("first_tokens", "range", 2, 1, 64),
    Control("first_loss", "range", 4.0, 0, 8, 0.1),
    Control("second_tokens", "range", 8, 1, 64),
    Control("second_loss", "range", 1.0, 0, 8, 0.1),
)

EXPERIMENTS = (
    {"first_tokens": 5, "first_loss": 4.0, "second_tokens": 5, "second_loss": 1.0},
    {"first_tokens": 5, "first_loss": 4.0, "second_tokens": 60, "second_loss": 1.0},
    {"first_tokens": 1, "first_loss": 8.0, "second_tokens": 20, "second_loss": 1.0},
)


def describe(params: Mapping[str, Any], text: Strings) -> Payload:
    """Run the model and put it into words; settings are taken as they are, already checked or clamped."""
    tokens = np.array([params["first_tokens"], params["second_tokens"]])
    losses = np.array([params["first_loss"], params["second_loss"]])
    weights = np.array([token_weights(tokens, objective) for objective in OBJECTIVES])  # (2, 2)
    means = [loss(tokens, losses, objective) for objective in OBJECTIVES]
    first, second = tokens.tolist()
    short, long = "AB" if first <= second else "BA"
    ratio = fill(
        text["ratio.equal" if first == second else "ratio.unequal"],
        short=short,
        long=long,
        times=decimal(max(first, second) / min(first, second), 1),
    )
    words = {"token": decimal(means[0], 2), "example": decimal(means[1], 2), "ratio": ratio}
    share = percent(first, first + second)
    return Payload(
        kind="denominator",
        params=dict(params),
        arrays={"weights": weights, "means": np.array(means)},
        scalars={"share": share},
        readout=fill(text["readout"], **words),
        caption=text["caption"],
        alt=fill(
            text["alt"],
            **words,
            share=share,
            first=decimal(params["first_loss"], 1),
            second=decimal(params["second_loss"], 1),
            count=first,
            other=second,
        ),
        numbers=(
            (text["number.token"], words["token"]),
            (text["number.example"], words["example"]),
            (text["number.share"], share),
            (text["number.times"], decimal(second / first, 3)),
        ),
        grid_caption=text["grid"],
        grid=(
            (text["grid.corner"], "A", "B"),
            *(
                (text[f"objective.{name}"], *(decimal(w, 4) for w in row.tolist()))
                for name, row in zip(("token", "example"), weights, strict=True)
            ),
        ),
    )


DESIGN = Design("denominator", CONTROLS, EXPERIMENTS, describe, draw_denominator)


def denominator(*, language: str = "en", **settings: Any) -> CourseWidget:
    """The denominator slider: two examples, their token mean and example mean, and the weight of each token.

    Args:
        language: of the visible words; "en".
        settings: `first_tokens` and `second_tokens` 1 to 64 (2 and 8), `first_loss` and `second_loss` 0 to 8
            nats per token (4 and 1).

    Raises:
        CourseError: a setting that does not exist, or a value outside its limits.
    """
    return CourseWidget.with_settings(DESIGN, settings, language)
