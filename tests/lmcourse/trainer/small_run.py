"""A run small enough for tests."""

from lmcourse.trainer import TrainConfig, configure


def small_config(**changes) -> TrainConfig:
    """A run of the regime corpus that takes a second, with dropout, accumulation and whole documents."""
    settings = {
        "corpus_tokens": 4000,
        "context": 24,
        "layers": 1,
        "width": 16,
        "heads": 2,
        "steps": 20,
        "batch": 6,
        "micro_batches": 2,
        "dropout": 0.1,
        "warmup": 3,
        "lr": 3e-3,
        "evaluate_every": 7,
        "save_every": 5,
        "precision": "fp32",
    }
    return configure("regimes", **(settings | changes))
