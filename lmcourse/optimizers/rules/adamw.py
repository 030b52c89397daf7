"""AdamW (Loshchilov and Hutter 2019, arXiv:1711.05101)."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor


def adamw_rule(
    weights: list[Tensor], gradients: list[Tensor], states: list[dict[str, Any]], group: dict[str, Any]
) -> None:
    """One step of AdamW, in place.

    m and v are running means of g and g**2, divided by 1 - beta**t since they start at zero; eps is added to
    the root of the corrected v. Then w <- w (1 - lr decay) - lr m / (sqrt(v) + eps). Each parameter counts
    its own steps t, so one that had no gradient for a while is corrected by what it saw.
    """
    beta1, beta2 = group["betas"]
    for w, g, state in zip(weights, gradients, states, strict=True):
        if not state:
            state.update(step=0, m=torch.zeros_like(g), v=torch.zeros_like(g))
        state["step"] += 1
        m, v = state["m"], state["v"]
        m.lerp_(g, 1 - beta1)
        v.mul_(beta2).addcmul_(g, g, value=1 - beta2)
        root = (v.sqrt() / math.sqrt(1 - beta2 ** state["step"])).add_(group["eps"])
        w.mul_(1 - group["lr"] * group["weight_decay"])
        w.addcdiv_(m, root, value=-group["lr"] / (1 - beta1 ** state["step"]))
