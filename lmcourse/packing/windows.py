"""Windows of a token stream: random ones for training, a contiguous tail for validation."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
import torch
from torch import Tensor

from lmcourse.errors import CourseError

Stream = TypeVar("Stream", Tensor, np.ndarray)


def take_windows(tokens: Tensor | np.ndarray, starts: Tensor, T: int) -> tuple[Tensor, Tensor]:
    """The windows that begin at `starts`, and their targets, one token further on.

    Args:
        tokens: (N,) integer stream, a tensor or a (memory-mapped) array of any integer type.
        starts: (B,) int64, each in 0..N-T-1.
        T: tokens per window.

    Returns:
        x, y: (B, T) int64; `y[b, i]` is the token after `x[b, i]`. Both are views of one (B, T+1) tensor.

    Raises:
        CourseError: a window would run over an end of the stream.
    """
    if len(starts) and not 0 <= int(starts.min()) <= int(starts.max()) <= len(tokens) - T - 1:
        raise CourseError(
            f"starts: windows of {T} tokens and one target begin at 0..{len(tokens) - T - 1} in a stream of "
            f"{len(tokens)} tokens, got {int(starts.min())}..{int(starts.max())}"
        )
    index = starts[:, None] + torch.arange(T + 1)  # (B, T+1)
    if isinstance(tokens, Tensor):
        window = tokens[index].long()
    else:
        window = torch.from_numpy(tokens[index.numpy()].astype(np.int64))
    return window[:, :-1], window[:, 1:]


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
    if len(tokens) <= T:
        raise CourseError(
            f"tokens: a window of T={T} tokens needs a stream of at least {T + 1}, got {len(tokens)}; "
            "take a smaller T or a longer text"
        )
    starts = torch.randint(len(tokens) - T, (B,), generator=generator)
    return take_windows(tokens, starts, T)


def split_tail(tokens: Stream, fraction: float) -> tuple[Stream, Stream]:
    """Cut a stream into a training head and a validation tail, without copying.

    The tail is contiguous, so that no validation window overlaps a training one: two neighbouring windows
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
