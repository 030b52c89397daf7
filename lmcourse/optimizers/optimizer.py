"""One optimizer object whose groups say which rule moves their parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from lmcourse.errors import CourseError
from lmcourse.optimizers.rules.adamw import adamw_rule
from lmcourse.optimizers.rules.gradient import momentum_rule, sgd_rule
from lmcourse.optimizers.rules.muon import muon_rule

Rule = Callable[[list[Tensor], list[Tensor], list[dict[str, Any]], dict[str, Any]], None]
RULES: dict[str, Rule] = {
    "sgd": sgd_rule,
    "momentum": momentum_rule,
    "adamw": adamw_rule,
    "muon": muon_rule,
}


class GroupedOptimizer(torch.optim.Optimizer):
    """Moves each group's parameters by the group's rule.

    One object for all rules, so that neither schedule nor checkpoint nor a skipped step forgets a group. What
    a rule remembers is kept in float32 even where the parameters are narrower, and the new value is computed
    in float32 and rounded once.

    Args:
        groups: dictionaries with "params", (name, parameter) pairs; "rule", a key of `RULES`; "lr"; and what
            the rule asks for. "base_lr" is the rate that the schedule multiplies; it starts as "lr".
    """

    def __init__(self, groups: list[dict[str, Any]]) -> None:
        super().__init__(groups, {})
        for group in self.param_groups:
            group.setdefault("base_lr", group["lr"])

    @torch.no_grad()
    def step(self, closure: None = None) -> None:
        """Move every parameter that has a gradient; one without is left as it is, its memory too."""
        for group in self.param_groups:
            moving = [p for p in group["params"] if p.grad is not None]
            weights = [_at_least_float32(p) for p in moving]
            gradients = [_at_least_float32(p.grad) for p in moving]
            RULES[group["rule"]](weights, gradients, [self.state[p] for p in moving], group)
            for p, w in zip(moving, weights, strict=True):
                if w is not p:
                    p.copy_(w)

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over a state written by `state_dict`, bit for bit.

        `torch.optim.Optimizer` goes by position alone and casts moments to the type of their parameter; here
        names must agree, and nothing is cast.

        Raises:
            CourseError: other parameters, another order or other shapes than in this optimizer.
        """
        saved_groups = state_dict["param_groups"]
        saved = [group.get("param_names", []) for group in saved_groups]
        own = [group["param_names"] for group in self.param_groups]
        if saved != own:
            raise CourseError(f"optimizer state: {_first_difference(saved, own)}")
        state: dict[Tensor, dict[str, Any]] = {}
        for group, saved_group in zip(self.param_groups, saved_groups, strict=True):
            named = zip(group["param_names"], group["params"], saved_group["params"], strict=True)
            for name, parameter, index in named:
                if index in state_dict["state"]:
                    state[parameter] = _fitted(name, parameter, state_dict["state"][index])
            group.update({key: value for key, value in saved_group.items() if key != "params"})
        self.state.clear()
        self.state.update(state)


def set_learning_rate(optimizer: torch.optim.Optimizer, factor: float) -> None:
    """Give every group its own base rate times the factor of the schedule.

    An optimizer of torch has no "base_lr"; there the rate of the first call is taken for it.

    Args:
        factor: as from `lmcourse.schedules.factor`.
    """
    for group in optimizer.param_groups:
        group["lr"] = group.setdefault("base_lr", group["lr"]) * factor


def _at_least_float32(tensor: Tensor) -> Tensor:
    """The tensor itself where it is wide enough, else a float32 copy."""
    return tensor if tensor.dtype in (torch.float32, torch.float64) else tensor.float()


def _fitted(name: str, parameter: Tensor, saved: dict[str, Any]) -> dict[str, Any]:
    """A copy of a parameter's state on the parameter's device, in the type it was saved in."""
    for key, value in saved.items():
        if isinstance(value, Tensor) and value.shape != parameter.shape:
            raise CourseError(
                f"optimizer state: {key} of {name} has shape {tuple(value.shape)}, its parameter "
                f"{tuple(parameter.shape)}; the state belongs to another model"
            )
    return {
        key: value.to(parameter.device, copy=True) if isinstance(value, Tensor) else value
        for key, value in saved.items()
    }


def _first_difference(saved: list[list[str]], own: list[list[str]]) -> str:
    """In words; the two differ."""
    if len(saved) != len(own):
        return f"{len(saved)} groups were saved, this optimizer has {len(own)}; take the one that was saved"
    number, theirs, ours = next((n, s, o) for n, (s, o) in enumerate(zip(saved, own, strict=True)) if s != o)
    if sorted(theirs) == sorted(ours):
        place = next(i for i, (s, o) in enumerate(zip(theirs, ours, strict=True)) if s != o)
        return (
            f"the order of parameters differs in group {number}, first at place {place} ({theirs[place]} was "
            f"saved, here {ours[place]} stands); make the groups in the saved order"
        )
    odd = sorted(set(theirs) ^ set(ours)) or sorted(theirs)
    return f"parameters differ in group {number}: {', '.join(odd[:3])}; the state belongs to another model"
