"""A second look at one micro-batch: attention logits and dead units, which training itself never forms."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from lmcourse.model.attention import Attention
from lmcourse.packing import Batch

PROBED_TOKENS = 256  # at least; whole rows are taken
QUERY_ROWS = 256  # of a row, evenly spread
DEAD = 1e-3  # of the layer's root mean square


@dataclass(frozen=True)
class Probe:
    """
    Attributes:
        attention_logits: by block, the largest q·k/sqrt(D) of each head, over the probed queries and the keys
            that each may look at.
        dead_units: by block, the share of hidden units of the MLP whose activation stays within 0.001 of the
            layer's root mean square on all probed tokens.
    """

    attention_logits: dict[str, list[float]]
    dead_units: dict[str, float]


def probe(model: nn.Module, batch: Batch) -> Probe:
    """Run the first rows of a batch through the model once more, forward only.

    Neither gradients nor generators are touched: the model is in evaluation mode meanwhile, and back in its
    mode afterwards.

    Args:
        model: the uncompiled transformer.
        batch: a micro-batch.
    """
    rows = -(-PROBED_TOKENS // batch.inputs.shape[1])
    few = next(batch.split(-(-len(batch.inputs) // rows)))
    logits: dict[str, list[float]] = {}
    dead: dict[str, float] = {}
    training = model.training
    model.eval()
    try:
        with torch.no_grad(), ExitStack() as hooks:
            for name, module in model.named_modules():
                if isinstance(module, Attention):
                    block = name.rpartition(".")[0]
                    hook = _attention_hook(logits, block, few.doc_id)
                    hooks.callback(module.register_forward_pre_hook(hook).remove)
                elif name.endswith("mlp.residual"):
                    hook = _mlp_hook(dead, name.removesuffix(".mlp.residual"))
                    hooks.callback(module.register_forward_pre_hook(hook).remove)
            model(few.inputs, few.positions, few.doc_id)
    finally:
        model.train(training)
    return Probe(logits, dead)


def largest_logits(q: Tensor, k: Tensor, doc_id: Tensor | None) -> Tensor:
    """The largest attention logit of each head, in float32, over a few hundred queries of each row.

    Args:
        q, k: (B, T, H, D).
        doc_id: (B, T) integer ids; None takes each row as one document.

    Returns:
        (H,) float32.
    """
    T, D = q.shape[1], q.shape[3]
    asked = torch.linspace(0, T - 1, min(T, QUERY_ROWS), device=q.device).long()  # (Q,)
    scores = torch.einsum("bqhd,bkhd->bhqk", q[:, asked].float(), k.float()) * D**-0.5
    seen = asked[:, None] >= torch.arange(T, device=q.device)  # (Q, T)
    if doc_id is not None:
        seen = seen & (doc_id[:, asked, None] == doc_id[:, None, :])  # (B, Q, T)
        seen = seen[:, None]
    return scores.masked_fill(~seen, float("-inf")).amax((0, 2, 3))


def _attention_hook(found: dict[str, list[float]], block: str, doc_id: Tensor | None) -> Callable[..., Any]:
    def replace_attend(module: nn.Module, args: tuple[Any, ...]) -> tuple[Any, ...]:
        x, angles, attend = args

        def watched(q: Tensor, k: Tensor, v: Tensor, dropout: float) -> Tensor:
            found[block] = largest_logits(q, k, doc_id).tolist()
            return attend(q, k, v, dropout)

        return x, angles, watched

    return replace_attend


def _mlp_hook(found: dict[str, float], block: str) -> Callable[..., Any]:
    def look(module: nn.Module, args: tuple[Tensor, ...]) -> None:
        hidden = args[0].float().flatten(0, -2)  # (N, units)
        largest = hidden.abs().amax(0)
        found[block] = (largest <= DEAD * hidden.square().mean().sqrt()).float().mean().item()

    return look
