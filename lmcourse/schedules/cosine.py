"""Warm-up and half a cosine, in units of the learning rate."""

from __future__ import annotations

import math


def warmup_cosine(step: int, *, peak: float, floor: float, warmup: int, total: int) -> float:
    """Linear warm-up, then half a cosine down to `floor`, which it keeps.

    Step 0 already moves (peak / warmup), step warmup-1 is at the peak, and step warmup, the first of the
    decay, has the same value. From step `total` on the rate stays at the floor: without that clamp a cosine
    rises again (Loshchilov and Hutter 2017, arXiv:1608.03983, use the rise on purpose, as a restart).

    Args:
        step: optimizer step, from 0.
        peak: highest rate.
        floor: rate at and after `total`.
        warmup: steps of the warm-up; 0 starts at the peak.
        total: steps of the run.
    """
    if step < warmup:
        return peak * (step + 1) / warmup
    if step >= total:
        return floor
    progress = (step - warmup) / (total - warmup)  # 0 at the peak, 1 at `total`
    return floor + 0.5 * (1 + math.cos(math.pi * progress)) * (peak - floor)
