"""Settings that suit each corpus on two cores; whatever the user names replaces them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lmcourse.errors import CourseError
from lmcourse.trainer.config import CORPORA, TrainConfig

PRESETS: Mapping[str, Mapping[str, Any]] = {
    "stories": {},
    "markov": {
        "batches": "windows",
        "mask": False,
        "context": 64,
        "layers": 2,
        "heads": 2,
        "width": 32,
        "steps": 300,
        "batch": 16,
    },
    "regimes": {
        "positions": "both",
        "context": 64,
        "layers": 2,
        "heads": 2,
        "width": 32,
        "steps": 600,
        "batch": 16,
    },
    "text": {"tokenizer": "char", "batches": "windows", "steps": 500},
}


def configure(corpus: str, **settings: Any) -> TrainConfig:
    """The configuration of a corpus with some settings changed.

    A run too short for the preset warm-up gets a tenth of its steps instead. A run without the document mask
    takes random windows, since rows of whole documents need it.

    Raises:
        CourseError: an unknown corpus or setting, or a value that no run can have.
    """
    if corpus not in PRESETS:
        raise CourseError(f"corpus: expected one of {', '.join(CORPORA)}, got {corpus!r}")
    values = {"corpus": corpus, **PRESETS[corpus], **settings}
    if "warmup" not in settings and isinstance(values.get("steps", 0), int):
        values["warmup"] = min(TrainConfig.warmup, values.get("steps", TrainConfig.steps) // 10)
    if "batches" not in settings and values.get("mask") is False:
        values["batches"] = "windows"
    return TrainConfig.from_values(values)
