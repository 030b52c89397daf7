"""Global generators: left alone by a run, saved with it, and set anew for each batch.

Dropout takes no generator of its own. Its randomness is made a pure function of (seed, batch, rank), like the
batch itself: a batch that is repeated or passed over changes nothing for those after it.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch

from lmcourse.trainer.batches import generator_for


def seed_for_batch(seed: int, number: int, rank: int) -> None:
    """Seed torch's global generators, of the processor and of all GPUs."""
    torch.manual_seed(generator_for(seed, number, rank + 1).initial_seed())


def generator_states() -> dict[str, Any]:
    """The global generators of Python, numpy and torch, as plain containers and tensors."""
    name, keys, *rest = np.random.get_state()
    return {
        "python": random.getstate(),
        "numpy": [name, keys.tolist(), *rest],
        "torch": torch.get_rng_state(),
        "gpu": torch.cuda.get_rng_state() if torch.cuda.is_available() else None,
    }


def restore_generators(states: dict[str, Any]) -> None:
    """Put the generators back to where `generator_states` saw them."""
    random.setstate(states["python"])
    np.random.set_state(tuple(states["numpy"]))
    torch.set_rng_state(states["torch"])
    if states["gpu"] is not None and torch.cuda.is_available():
        torch.cuda.set_rng_state(states["gpu"])


@contextmanager
def guarded_generators() -> Iterator[None]:
    """Whatever happens inside, the caller's generators are as they were."""
    before = generator_states()
    try:
        yield
    finally:
        restore_generators(before)
