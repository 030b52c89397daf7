"""Settings that suit each corpus on two cores; whatever the user names replaces them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lmcourse.errors import CourseError
from lmcourse.trainer.config import CORPORA, TrainConfig

_TEXT = {
    "validation": 0.1,
    "batches": "windows",
    "context": 64,
    "layers": 4,
    "heads": 4,
    "width": 128,
    "mlp": "relu2",
    "gains": False,
    "init": "zero",
    "steps": 500,
    "batch": 64,
    "optimizer": "muon",
    "lr": 5e-3,
    "adamw_lr": 4e-3,
    "schedule": "wsd",
    "decay_share": 0.5,
    "lr_floor": 0.0,
    "evaluate_every": 250,
    "save_every": 250,
}
PRESETS: Mapping[str, Mapping[str, Any]] = {
    "stories": {},
    "markov": {
        "corpus_tokens": 300_000,
        "validation": 0.1,
        "batches": "windows",
        "mask": False,
        "context": 64,
        "width": 32,
        "steps": 300,
        "batch": 16,
        "lr": 3e-3,
        "evaluate_every": 100,
        "save_every": 100,
    },
    "regimes": {
        "corpus_tokens": 600_000,
        "validation": 0.1,
        "positions": "both",
        "context": 64,
        "width": 32,
        "steps": 1000,
        "batch": 16,
        "lr": 1e-2,
        "evaluate_every": 250,
        "save_every": 250,
    },
    "text": {"tokenizer": "char", **_TEXT},
    "prepared": _TEXT,
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
