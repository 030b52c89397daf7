"""Process-wide state that an answer must leave alone: the global random generators and torch's defaults."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch


@dataclass(frozen=True)
class GlobalState:
    """A snapshot; `changes` tells what is different now, `restore` puts everything back."""

    torch_rng: torch.Tensor
    numpy_rng: tuple
    python_rng: Any
    dtype: torch.dtype
    grad: bool

    @classmethod
    def now(cls) -> GlobalState:
        return cls(
            torch.random.get_rng_state(),
            np.random.get_state(),
            random.getstate(),
            torch.get_default_dtype(),
            torch.is_grad_enabled(),
        )

    def changes(self) -> list[str]:
        """What is different from the snapshot, in words that complete "your function ..."."""
        now = GlobalState.now()
        found = []
        if not torch.equal(now.torch_rng, self.torch_rng):
            found.append("drew from torch's global random generator (or seeded it)")
        if not _equal_numpy(now.numpy_rng, self.numpy_rng):
            found.append("drew from numpy's global random generator (or seeded it)")
        if now.python_rng != self.python_rng:
            found.append("drew from Python's global random generator (or seeded it)")
        if now.dtype != self.dtype:
            found.append(f"changed torch's default dtype to {now.dtype}")
        if now.grad != self.grad:
            found.append(f"left gradient recording switched {'on' if now.grad else 'off'}")
        return found

    def restore(self) -> None:
        torch.random.set_rng_state(self.torch_rng)
        np.random.set_state(self.numpy_rng)
        random.setstate(self.python_rng)
        torch.set_default_dtype(self.dtype)
        torch.set_grad_enabled(self.grad)


@contextmanager
def kept_global_state(seed: int | None = None) -> Iterator[GlobalState]:
    """Yield a snapshot and restore it at the end; `seed` starts all global generators from it in between."""
    before = GlobalState.now()
    try:
        if seed is not None:
            torch.random.default_generator.manual_seed(seed)
            np.random.seed(seed)
            random.seed(seed)
        yield GlobalState.now() if seed is not None else before
    finally:
        before.restore()


def _equal_numpy(a: tuple, b: tuple) -> bool:
    return all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))
