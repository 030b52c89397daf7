"""The loss, with its denominator spelled out."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from lmcourse.averages import AVERAGES
from lmcourse.errors import CourseError
from lmcourse.packing.batch import Batch

IGNORED = -100


def masked_cross_entropy(
    logits: Tensor, targets: Tensor, keep: Tensor | None = None, count: int | Tensor | None = None
) -> Tensor:
    """Cross-entropy in nats: the sum over the kept tokens divided by `count`.

    With one batch, `count` is the number of kept tokens and the result is the mean over tokens (not over
    rows: a token weighs the same in a short document and in a long one). With micro-batches, pass the kept
    tokens of the *whole* step; the sum of the results is then exactly the loss of the one big batch, and so
    are the gradients, however unevenly the tokens are spread. The mean of per-micro-batch means is another
    objective.

    Args:
        logits: (..., V) of any floating type; the loss is computed in float32 (in float64 for float64).
        targets: (...) int64. A target that is not kept may be anything, also -100 or out of range.
        keep: (...) bool, true where the prediction counts; None counts all.
        count: the denominator, in tokens; None takes the kept tokens, or 1 where there are none. A tensor
            that broadcasts to `targets` gives each token a denominator of its own.

    Returns:
        A scalar. Nothing kept gives 0 with zero gradient, not NaN.

    Raises:
        CourseError: a kept target that is not an id of the vocabulary, or a count below 1.
    """
    V = logits.shape[-1]
    if keep is None:
        keep = torch.ones_like(targets, dtype=torch.bool)
    outside = keep & ((targets < 0) | (targets >= V))
    if outside.any():
        raise CourseError(f"targets: id {int(targets[outside][0])} is outside the vocabulary 0..{V - 1}")
    if count is None:
        count = max(1, int(keep.sum()))
    logits = _at_least_float32(logits)
    targets = targets.masked_fill(~keep, IGNORED)
    if isinstance(count, Tensor):
        nats = F.cross_entropy(
            logits.reshape(-1, V), targets.reshape(-1), ignore_index=IGNORED, reduction="none"
        )
        return (nats.view_as(targets) / count).sum()
    if count < 1:
        raise CourseError(f"count: expected at least 1 token, got {count}")
    total = F.cross_entropy(logits.reshape(-1, V), targets.reshape(-1), ignore_index=IGNORED, reduction="sum")
    return total / count


def z_loss(logits: Tensor, keep: Tensor | None, count: int | Tensor) -> Tensor:
    """The squared log of the partition sum, (log sum exp logits)**2, summed over kept tokens, by `count`.

    Multiplied by about 1e-4 and added to the loss it keeps logits from drifting (Chowdhery et al. 2022,
    arXiv:2204.02311), at the same denominator as the cross-entropy.

    Args:
        logits: (..., V); computed in float32 (in float64 for float64).
        keep: (...) bool; None counts all.
        count: as in `masked_cross_entropy`.

    Returns:
        A scalar, in squared nats; 0 with zero gradient where nothing is kept.
    """
    squares = torch.logsumexp(_at_least_float32(logits), dim=-1).square()  # (...)
    if keep is not None:
        squares = squares.where(keep, torch.zeros_like(squares))
    return (squares / count).sum()


def denominators(
    micro_batches: Sequence[Batch], total: int, average: str, over_ranks: Callable[[int], int]
) -> list[int | Tensor]:
    """What each micro-batch's sum of losses is divided by, so that the sum over all is the wanted average.

    Only "tokens" is the objective of one big batch. The others are what trainers are known to compute
    instead; they agree with it where all counts are equal, and are far off where they are not.

    Args:
        micro_batches: of this rank.
        total: counted tokens of the whole step, over all ranks.
        average: a key of `AVERAGES`.
        over_ranks: sums a number over the ranks.

    Raises:
        CourseError: an unknown average.
    """
    counts = [batch.count for batch in micro_batches]
    if average == "tokens":
        return [total] * len(counts)
    if average == "micro-batches":
        means = over_ranks(sum(count > 0 for count in counts))
        return [max(1, count) * means for count in counts]
    if average == "ranks":
        means = over_ranks(int(sum(counts) > 0))
        return [max(1, sum(counts)) * means] * len(counts)
    if average == "rows":
        rows = [_counted_in_rows(batch) for batch in micro_batches]
        means = over_ranks(sum(int((row > 0).sum()) for row in rows))
        return [row.clamp(min=1) * means for row in rows]
    raise CourseError(f"average: expected one of {', '.join(AVERAGES)}, got {average!r}")


def _counted_in_rows(batch: Batch) -> Tensor:
    """(B, 1) int64."""
    keep = torch.ones_like(batch.targets) if batch.keep is None else batch.keep
    return keep.sum(dim=1, keepdim=True)


def _at_least_float32(logits: Tensor) -> Tensor:
    return logits if logits.dtype == torch.float64 else logits.float()
