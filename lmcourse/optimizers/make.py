"""From settings to an optimizer."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from lmcourse.errors import CourseError
from lmcourse.optimizers.groups import (
    by_decay,
    check_groups,
    fused_parts,
    hidden_matrices,
    parameter_groups,
    trainable,
)
from lmcourse.optimizers.optimizer import GroupedOptimizer
from lmcourse.optimizers.settings import OptimizerSettings
from lmcourse.precision import probe


def make_optimizer(model: nn.Module, settings: OptimizerSettings) -> GroupedOptimizer:
    """One optimizer over every trainable parameter of the model, each in exactly one group.

    Raises:
        CourseError: nothing to train, or Muon for a model without hidden matrices.
    """
    return GroupedOptimizer(optimizer_groups(model, settings))


def adamw(
    model: nn.Module,
    lr: float,
    weight_decay: float = 0.1,
    betas: tuple[float, float] = (0.9, 0.95),
    eps: float = 1e-8,
) -> GroupedOptimizer:
    """AdamW over `parameter_groups`; arguments as in `OptimizerSettings`."""
    return make_optimizer(model, OptimizerSettings("adamw", lr, weight_decay, *betas, eps))


def optimizer_groups(model: nn.Module, settings: OptimizerSettings) -> list[dict[str, Any]]:
    """The groups of `make_optimizer`, without empty ones: parameters by name, rule, base rate, constants.

    Under Muon the hidden matrices follow Muon and all else AdamW; the group of matrices that decay comes
    before that of gains and biases, which do not.

    Raises:
        CourseError: as `make_optimizer`.
    """
    if settings.name == "muon":
        groups = _muon_groups(model, settings)
    else:
        rule = {"rule": settings.name, "lr": settings.lr, **_constants(settings.name, settings)}
        groups = [{**g, **rule} for g in parameter_groups(model, settings.weight_decay)]
    groups = [{**group, "base_lr": group["lr"]} for group in groups if group["params"]]
    if not groups:
        raise CourseError("model: it has no trainable parameter, so there is nothing to optimize")
    check_groups(model, groups)
    return groups


def _constants(rule: str, settings: OptimizerSettings) -> dict[str, Any]:
    if rule == "adamw":
        return {"betas": (settings.beta1, settings.beta2), "eps": settings.eps}
    return {"momentum": settings.memory} if rule == "momentum" else {}


def _muon_groups(model: nn.Module, settings: OptimizerSettings) -> list[dict[str, Any]]:
    hidden = hidden_matrices(model)
    if not hidden:
        raise CourseError("muon: the model has no matrices inside blocks (an nn.ModuleList); take adamw")
    number_format = settings.newton_schulz
    if number_format == "auto":
        number_format = fast_format(hidden[0][1])
    muon = {
        "rule": "muon",
        "lr": settings.lr,
        "weight_decay": settings.weight_decay,
        "momentum": settings.memory,
        "scale": settings.scale,
        "newton_schulz": number_format,
    }
    groups = [
        {"params": [(n, p) for n, p in hidden if fused_parts(n) == split], "split": split, **muon}
        for split in sorted({fused_parts(name) for name, _ in hidden})
    ]
    taken = {id(p) for _, p in hidden}
    others = [(n, p) for n, p in trainable(model) if id(p) not in taken]
    lr = settings.lr if settings.adamw_lr is None else settings.adamw_lr
    rule = {"rule": "adamw", "lr": lr, **_constants("adamw", settings)}
    return groups + [{**g, **rule} for g in by_decay(others, settings.weight_decay)]


def fast_format(like: torch.Tensor) -> str:
    """The faster number format for products on the device of `like`: "bf16" or "fp32".

    Measured, since the name of a processor does not tell. A run that is resumed, or that several processes
    share, has to ask once and keep the answer.
    """
    rates = probe(like.device.type).rates
    return "bf16" if rates["bf16"] > rates["fp32"] else "fp32"
