"""The loss, with its denominator spelled out."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from lmcourse.errors import CourseError

IGNORED = -100


def masked_cross_entropy(
    logits: Tensor, targets: Tensor, keep: Tensor | None = None, count: int | None = None
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
        count: the denominator, in tokens; None takes the kept tokens, or 1 where there are none.

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
    elif count < 1:
        raise CourseError(f"count: expected at least 1 token, got {count}")
    if logits.dtype != torch.float64:
        logits = logits.float()
    targets = targets.masked_fill(~keep, IGNORED)
    total = F.cross_entropy(logits.reshape(-1, V), targets.reshape(-1), ignore_index=IGNORED, reduction="sum")
    return total / count
