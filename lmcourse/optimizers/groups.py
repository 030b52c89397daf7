"""Which parameters are treated alike: what decays, and what Muon takes."""

from __future__ import annotations

from typing import Any

from torch import nn

from lmcourse.errors import CourseError

FUSED = {"qkv": 3}  # a matrix whose name has this part is several, one below the other

Named = list[tuple[str, nn.Parameter]]


def parameter_groups(model: nn.Module, weight_decay: float) -> list[dict[str, Any]]:
    """Two groups: matrices decay, everything with one dimension or none (gains, biases) does not.

    Decay pulls a matrix towards a smaller function; on a gain or a bias it only pulls towards an arbitrary
    value. The embedding counts as a matrix. Tied weights appear once, frozen ones not at all.

    Returns:
        [{"params": [(name, parameter), ...], "weight_decay": weight_decay}, {"params": [...], "weight_decay":
        0}] in the order of the model's parameters. The names let a checkpoint find the state of each.
    """
    groups = by_decay(trainable(model), weight_decay)
    check_groups(model, groups)
    return groups


def trainable(model: nn.Module) -> Named:
    """Every trainable parameter once, tied ones under their first name, in the order of the model."""
    return [(name, p) for name, p in model.named_parameters() if p.requires_grad]


def by_decay(parameters: Named, weight_decay: float) -> list[dict[str, Any]]:
    """The two groups of `parameter_groups`, from (name, parameter) pairs; either may be empty."""
    return [
        {"params": [(n, p) for n, p in parameters if p.dim() >= 2], "weight_decay": weight_decay},
        {"params": [(n, p) for n, p in parameters if p.dim() < 2], "weight_decay": 0.0},
    ]


def hidden_matrices(model: nn.Module) -> Named:
    """The weights of the linear layers inside the model's blocks: what Muon takes.

    A block is what stands in an `nn.ModuleList`. Embedding and head are left out because their rows belong to
    single tokens, so that equal steps in all directions mean nothing there; so are gains and biases, which
    have no directions, and kernels of convolutions, which are not matrices.
    """
    inside = {
        id(layer.weight)
        for blocks in model.modules()
        if isinstance(blocks, nn.ModuleList)
        for layer in blocks.modules()
        if isinstance(layer, nn.Linear)
    }
    tables = {id(layer.weight) for layer in model.modules() if isinstance(layer, nn.Embedding)}
    return [(n, p) for n, p in trainable(model) if id(p) in inside - tables]


def fused_parts(name: str) -> int:
    """How many matrices a weight of this name holds, one below the other."""
    return next((FUSED[part] for part in name.split(".") if part in FUSED), 1)


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
        for name, parameter in trainable(model)
        if seen.count(id(parameter)) != 1
    ]
    if wrong:
        raise CourseError("groups: every parameter belongs to exactly one group, but " + ", ".join(wrong))
