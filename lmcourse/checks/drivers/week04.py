"""Week 4: optimizer steps that change their arguments, and parameter groups of models."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from lmcourse.optimizers import newton_schulz

Parameter = tuple[str, tuple[int, ...], bool]  # name with dots, shape, whether it is trained


def momentum_steps(
    names: Mapping[str, Any], p: Tensor, gradients: Sequence[Tensor], lr: float, beta: float
) -> dict[str, Any]:
    """Weights and buffer after each step of the student's `momentum_step`, from a zero buffer."""
    buf = torch.zeros_like(p)
    weights, buffers, kept = [], [], True
    for g in gradients:
        given = g.clone()
        names["momentum_step"](p, given, buf, lr, beta)
        kept &= torch.equal(given, g)
        weights.append(p.clone())
        buffers.append(buf.clone())
    return {"weights": weights, "buffers": buffers, "gradients_kept": kept}


def adamw_steps(
    names: Mapping[str, Any],
    parameters: Sequence[Tensor],
    gradients: Sequence[Sequence[Tensor]],
    hyper: Mapping[str, Any],
    copy_after: int = -1,
) -> dict[str, Any]:
    """Weights after each step of the student's `adamw_step`, each parameter with a state of its own.

    Args:
        gradients: for each step the gradient of each parameter.
        copy_after: after so many steps parameters and states are replaced by copies, as loading a checkpoint
            does.
    """
    return _steps(names["adamw_step"], (), parameters, gradients, hyper, copy_after)


def muon_steps(
    names: Mapping[str, Any],
    parameters: Sequence[Tensor],
    gradients: Sequence[Sequence[Tensor]],
    hyper: Mapping[str, Any],
    copy_after: int = -1,
) -> dict[str, Any]:
    """The same for the student's `muon_step`, with the course's Newton-Schulz iteration."""
    return _steps(names["muon_step"], (newton_schulz,), parameters, gradients, hyper, copy_after)


def groups(
    names: Mapping[str, Any],
    parameters: Sequence[Parameter],
    tied: Sequence[tuple[str, str]],
    weight_decay: float,
) -> dict[str, Any]:
    """The student's `param_groups` for a model with these parameters.

    Args:
        tied: pairs (second name, first name) of one tensor.

    Returns:
        "groups": for each its "names" (the first name of each parameter, "?" for what is not in the model)
        and "weight_decay"; "trained": which parameters still want a gradient afterwards.
    """
    model = nn.Module()
    for name, shape, trained in parameters:
        _put(model, name, nn.Parameter(torch.ones(shape), requires_grad=trained))
    for second, first in tied:
        _put(model, second, model.get_parameter(first))
    known = {id(p): name for name, p in model.named_parameters()}
    told = []
    for group in names["param_groups"](model, weight_decay):
        members = [p[1] if isinstance(p, tuple) else p for p in group["params"]]
        told.append(
            {"names": [known.get(id(p), "?") for p in members], "weight_decay": group["weight_decay"]}
        )
    return {"groups": told, "trained": [name for name, p in model.named_parameters() if p.requires_grad]}


def _steps(
    step: Any,
    lent: tuple[Any, ...],
    parameters: Sequence[Tensor],
    gradients: Sequence[Sequence[Tensor]],
    hyper: Mapping[str, Any],
    copy_after: int,
) -> dict[str, Any]:
    parameters = [p.clone() for p in parameters]
    states: list[dict[str, Any]] = [{} for _ in parameters]
    weights, kept = [], True
    for number, now in enumerate(gradients):
        if number == copy_after:
            parameters, states = [p.clone() for p in parameters], copy.deepcopy(states)
        for p, g, state in zip(parameters, now, states, strict=True):
            given = g.clone()
            step(p, given, state, *lent, **hyper)
            kept &= torch.equal(given, g)
        weights.append([p.clone() for p in parameters])
    return {"weights": weights, "gradients_kept": kept}


def _put(model: nn.Module, name: str, parameter: nn.Parameter) -> None:
    *path, last = name.split(".")
    for part in path:
        if part not in dict(model.named_children()):
            model.add_module(part, nn.Module())
        model = model.get_submodule(part)
    model.register_parameter(last, parameter)
