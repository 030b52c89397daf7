"""Random numbers that a browser can repeat bit for bit: a hash of the seed and a counter, 32 bits wide."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

MASK = np.uint64(0xFFFFFFFF)


def hashed(seed: int, counter: NDArray[np.integer]) -> NDArray[np.uint32]:
    """One 32-bit word for each counter (any shape); equal seeds and counters give equal words.

    The mixing rounds are the `lowbias32` function (C. Wellons, "Prospecting for hash functions", 2018). All
    products are taken modulo 2**32, which JavaScript's `Math.imul` does as well. Good enough to draw the
    lengths of a toy's documents; not for statistics that matter.
    """
    n = np.asarray(counter, dtype=np.uint64)
    x = np.uint64(seed & 0xFFFFFFFF) * np.uint64(0x9E3779B9) + n * np.uint64(0x85EBCA6B)
    x = (
        x + np.uint64(0x6A09E667)
    ) & MASK  # keeps seed 0, counter 0 off the one word that the rounds leave at 0
    for shift, factor in ((16, 0x7FEB352D), (15, 0x846CA68B)):
        x ^= x >> np.uint64(shift)
        x = (x * np.uint64(factor)) & MASK
    x ^= x >> np.uint64(16)
    return x.astype(np.uint32)


def uniform(seed: int, counter: NDArray[np.integer]) -> NDArray[np.float64]:
    """Numbers in the open interval (0, 1), one for each counter."""
    return (hashed(seed, counter).astype(np.float64) + 0.5) / 2.0**32


def normal(seed: int, n: int) -> NDArray[np.float64]:
    """(n,) standard normal numbers (G. E. P. Box and M. E. Muller, 1958), two uniform numbers for each."""
    counter = np.arange(n)
    radius = np.sqrt(-2.0 * np.log(uniform(seed, 2 * counter)))
    return radius * np.cos(2.0 * np.pi * uniform(seed, 2 * counter + 1))
