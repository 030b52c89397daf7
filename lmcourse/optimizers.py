"""AdamW over parameter groups: which weights decay."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from lmcourse.errors import CourseError


def parameter_groups(model: nn.Module, weight_decay: float) -> list[dict[str, Any]]:
    """Two groups: matrices decay, everything with one dimension or none (gains, biases) does not.

    Decay pulls a matrix towards a smaller function; on a gain or a bias it only pulls towards an arbitrary
    value. The embedding counts as a matrix. Tied weights appear once, frozen ones not at all.

    Returns:
        [{"params": [(name, parameter), ...], "weight_decay": weight_decay}, {"params": [...], "weight_decay":
        0}] in the order of the model's parameters. The names let a checkpoint find the state of each.
    """
    trainable = [(name, p) for name, p in model.named_parameters() if p.requires_grad]
    groups = [
        {"params": [(n, p) for n, p in trainable if p.dim() >= 2], "weight_decay": weight_decay},
        {"params": [(n, p) for n, p in trainable if p.dim() < 2], "weight_decay": 0.0},
    ]
    check_groups(model, groups)
    return groups


def check_groups(model: nn.Module, groups: list[dict[str, Any]]) -> None:
    """Make sure that every trainable parameter is in exactly one group.

    Args:
        groups: as an optimizer takes them, with (name, parameter) pairs.

    Raises:
        CourseError: a parameter in no group, or in two; the message lists the names.
    """
    seen = [id(parameter) for group in groups for _, parameter in group["params"]]
    wrong = [
        f"{name} in {seen.count(id(parameter)) or 'none'}"
        for name, parameter in model.named_parameters()
        if parameter.requires_grad and seen.count(id(parameter)) != 1
    ]
    if wrong:
        raise CourseError("groups: every parameter belongs to exactly one group, but " + ", ".join(wrong))


def adamw(
    model: nn.Module,
    lr: float,
    weight_decay: float = 0.1,
    betas: tuple[float, float] = (0.9, 0.95),
    eps: float = 1e-8,
) -> torch.optim.AdamW:
    """AdamW (Loshchilov and Hutter 2019, arXiv:1711.05101) over `parameter_groups`.

    Args:
        lr: learning rate of the first step; the trainer sets it anew before each step.
        weight_decay: share of a matrix taken off per step and unit of learning rate.
        betas: memory of the two moments.
        eps: added to the root of the second moment.
    """
    groups = [group for group in parameter_groups(model, weight_decay) if group["params"]]
    return torch.optim.AdamW(groups, lr=lr, betas=betas, eps=eps)
