"""Parameters by layer: the rows of the per-layer table."""

from __future__ import annotations

from torch import nn


def layer_of(parameter_name: str) -> str:
    """The layer of a parameter: "embedding", "blocks.0.attention", "blocks.0.mlp", "final_norm", "head".

    A gain belongs to what it feeds: `blocks.0.mlp_norm.weight` to "blocks.0.mlp".
    """
    parts = parameter_name.split(".")
    if parts[0] != "blocks":
        return parts[0]
    return ".".join((*parts[:2], parts[2].removesuffix("_norm")))


def parameters_by_layer(model: nn.Module) -> dict[str, list[nn.Parameter]]:
    """Each trained parameter once, in the order of the model; a tied matrix counts where it comes first."""
    layers: dict[str, list[nn.Parameter]] = {}
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            layers.setdefault(layer_of(name), []).append(parameter)
    return layers
