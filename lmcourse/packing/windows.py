"""Windows of a token stream: random ones for training, a contiguous tail for validation."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
import torch
from torch import Tensor

from lmcourse.errors import CourseError

Stream = TypeVar("Stream", Tensor, np.ndarray)


def take_rows(tokens: Tensor | np.ndarray, rows: Tensor, padding: int = 0) -> Tensor:
    """The tokens at given places of a stream.

    Args:
        tokens: (N,) integer stream, a tensor or a (memory-mapped) array of any integer type.
        rows: (B, T+1) int64 places in 0..N-1; negative ones take `padding`.

    Returns:
        (B, T+1) int64
    """
    if isinstance(tokens, Tensor):
        taken = tokens[rows].long()
    else:
        taken = torch.from_numpy(tokens[rows.numpy()].astype(np.int64))
    return taken.masked_fill_(rows < 0, padding)


def sample_windows(
    tokens: Tensor | np.ndarray, B: int, T: int, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """B random windows of T tokens and their targets; every start 0..N-T-1 is equally likely.

    Args:
        tokens: (N,) integer stream, N > T.
        B: windows.
        T: tokens per window.
        generator: the only source of chance; the global generator is left alone.

    Returns:
        x, y: (B, T) int64 with `y[b, i] = tokens[start[b] + i + 1]`.

    Raises:
        CourseError: the stream has no window of T tokens and one target.
    """
    rows = take_rows(tokens, sample_places(len(tokens), B, T, generator))
    return rows[:, :-1], rows[:, 1:]


def sample_places(N: int, B: int, T: int, generator: torch.Generator) -> Tensor:
    """Places of B random windows of T tokens and one target in a stream of N tokens: (B, T+1) int64.

    Raises:
        CourseError: the stream has no such window.
    """
    if N <= T:
        raise CourseError(
            f"tokens: a window of T={T} tokens needs a stream of at least {T + 1}, got {N}; "
            "take a smaller T or a longer text"
        )
    starts = torch.randint(N - T, (B,), generator=generator)
    return starts[:, None] + torch.arange(T + 1)


def split_tail(tokens: Stream, fraction: float) -> tuple[Stream, Stream]:
    """Cut a stream into a training head and a validation tail, without copying.

    The tail is contiguous, so that no validation window overlaps a training one: two neighboring windows
    share all but one token, so a random choice would put copies of the training text into validation.

    Args:
        tokens: (N,) stream.
        fraction: share of the tail, 0 <= fraction < 1.

    Returns:
        (train, validation); validation is the last `int(N * fraction)` tokens. Both are views.

    Raises:
        CourseError: `fraction` is outside [0, 1).
    """
    if not 0 <= fraction < 1:
        raise CourseError(f"fraction: expected a share from 0 to below 1, got {fraction}")
    cut = len(tokens) - int(len(tokens) * fraction)
    return tokens[:cut], tokens[cut:]
