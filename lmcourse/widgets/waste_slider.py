"""The waste slider: settings, words and payload. Its model is `lmcourse.toys.waste`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from lmcourse.toys.waste import DOCUMENTS, ROW_LENGTHS, Waste, draw_lengths, histogram, measure, sweep
from lmcourse.widgets.controls import Control
from lmcourse.widgets.draw_waste import draw_waste
from lmcourse.widgets.payload import Payload
from lmcourse.widgets.text import Strings, decimal, fill, percent
from lmcourse.widgets.widget import CourseWidget, Design

CURVES = ("padded", "bucketed", "crossing", "cut")

CONTROLS = (
    Control("row_length", "range", 512, 16, 4096, log=True),
    Control("mean", "range", 200, 8, 2048, log=True),
    Control("spread", "range", 0.8, 0, 1.5, 0.05),
    Control("batch", "range", 16, 1, 64),
    Control("seed", "seed", 0, 0, 9999),
    Control("shown", "set", list(CURVES), options=CURVES),
)

EXPERIMENTS = (
    {"row_length": 512, "mean": 200, "spread": 0.0, "batch": 16},
    {"row_length": 2048, "mean": 200, "spread": 1.4, "batch": 16},
    {"row_length": 45, "mean": 200, "spread": 0.8, "batch": 16},
)


def share_words(waste: Waste) -> dict[str, str]:
    """The four shares as percentages."""
    return {
        "padded": percent(waste.padded_slots - waste.tokens, waste.padded_slots),
        "bucketed": percent(waste.bucketed_slots - waste.tokens, waste.bucketed_slots),
        "crossing": percent(waste.crossing, waste.pairs),
        "cut": percent(waste.cut, waste.documents),
    }


def describe(params: Mapping[str, Any], text: Strings) -> Payload:
    """Run the model and put it into words; settings are taken as they are, already checked or clamped."""
    lengths = draw_lengths(params["mean"], params["spread"], params["seed"])
    waste = measure(lengths, params["row_length"], params["batch"])
    shares = share_words(waste)
    mean_drawn = (2 * waste.tokens + DOCUMENTS) // (2 * DOCUMENTS)
    words = {"row_length": params["row_length"], **shares}
    columns = [share_words(measure(lengths, row, params["batch"])) for row in ROW_LENGTHS[::4]]
    grid = (
        (text["grid.corner"], *(text[f"curve.{curve}"] for curve in CURVES)),
        *(
            (f"{row:,}", *(column[curve].removesuffix("\u00a0%") for curve in CURVES))
            for row, column in zip(ROW_LENGTHS[::4], columns, strict=True)
        ),
    )
    return Payload(
        kind="waste",
        params=dict(params),
        arrays={
            "row_lengths": np.array(ROW_LENGTHS, dtype=np.int32),
            "shares": sweep(lengths, params["batch"]).astype(np.float32),
            "here": np.array(waste.shares(), dtype=np.float32),
            "histogram": histogram(lengths).astype(np.int32),
        },
        scalars={"documents": DOCUMENTS, "tokens": waste.tokens, "longest": int(lengths.max())},
        readout=fill(text["readout"], **words),
        caption=fill(text["caption"], documents=DOCUMENTS),
        alt=fill(text["alt"], **words, mean=params["mean"], spread=decimal(params["spread"], 2)),
        numbers=(
            *((text[f"number.{curve}"], shares[curve]) for curve in CURVES),
            (text["number.mean"], fill(text["value.tokens"], count=mean_drawn)),
            (text["number.longest"], fill(text["value.tokens"], count=int(lengths.max()))),
        ),
        grid_caption=text["grid"],
        grid=grid,
    )


DESIGN = Design("waste", CONTROLS, EXPERIMENTS, describe, draw_waste)


def waste(*, language: str = "en", **settings: Any) -> CourseWidget:
    """The waste slider: how much of a batch is padding, and what packing costs instead.

    Args:
        language: of the visible words; "en".
        settings: `row_length` 16 to 4096 tokens (512), `mean` document length 8 to 2048 tokens (200),
            `spread` 0 to 1.5, the s.d. of the logarithm of the lengths (0.8), `batch` documents in a bucket
            1 to 64 (16), `seed` (0), `shown` curves of "padded", "bucketed", "crossing", "cut" (all).

    Raises:
        CourseError: a setting that does not exist, or a value outside its limits.
    """
    return CourseWidget.with_settings(DESIGN, settings, language)
