"""The two rules that follow the gradient itself."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


def sgd_rule(
    weights: list[Tensor], gradients: list[Tensor], states: list[dict[str, Any]], group: dict[str, Any]
) -> None:
    """w <- w (1 - lr decay) - lr g, in place."""
    for w, g in zip(weights, gradients, strict=True):
        w.mul_(1 - group["lr"] * group["weight_decay"]).add_(g, alpha=-group["lr"])


def momentum_rule(
    weights: list[Tensor], gradients: list[Tensor], states: list[dict[str, Any]], group: dict[str, Any]
) -> None:
    """m <- momentum m + g;  w <- w (1 - lr decay) - lr m, in place (Polyak 1964).

    The buffer is a sum, not a mean: a steady gradient ends 1 / (1 - momentum) times as fast. Decay stays
    outside the buffer, as in AdamW; `torch.optim.SGD` puts it inside, which is the same for plain SGD only.
    """
    for w, g, state in zip(weights, gradients, states, strict=True):
        if not state:
            state["momentum"] = torch.zeros_like(g)
        state["momentum"].mul_(group["momentum"]).add_(g)
        w.mul_(1 - group["lr"] * group["weight_decay"]).add_(state["momentum"], alpha=-group["lr"])
