"""How far a measured loss may lie from what a longer text of the same kind would give."""

from __future__ import annotations

import numpy as np

RESAMPLES = 1000


def standard_error(nats: np.ndarray, counts: np.ndarray, seed: int = 0) -> float:
    """Standard deviation of the mean over targets when whole rows are drawn anew (Efron 1979).

    Rows and not targets, since the targets of a row share their topic. For two models on the same rows, give
    the difference of their nats: what both find hard cancels then.

    Args:
        nats: (R,) sums over the targets of each row.
        counts: (R,) targets of each row, at least 0.
        seed: of the draws.

    Returns:
        In nats per token; nan with fewer than two rows that count.
    """
    rows = np.flatnonzero(counts)
    if len(rows) < 2:
        return float("nan")
    rng = np.random.default_rng(seed)
    means = np.empty(RESAMPLES)
    for i in range(RESAMPLES):
        drawn = rows[rng.integers(len(rows), size=len(rows))]
        means[i] = nats[drawn].sum() / counts[drawn].sum()
    return float(means.std(ddof=1))
