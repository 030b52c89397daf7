"""Week 2: losses with their gradients, accumulation and a training step on a small model, all in float64."""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from lmcourse.packing import Batch

Rows = tuple[Tensor, Tensor, Tensor]  # inputs (B, T), targets (B, T), keep (B, T)


class TinyModel(nn.Module):
    """Predicts the next token from the present one: (B, T) int64 -> (B, T, V) logits.

    It notes how many of its results are still alive when the next one is made, and which of them can still be
    differentiated: both say how much memory the caller keeps.
    """

    def __init__(self, embedding: Tensor, head: Tensor) -> None:
        super().__init__()
        self.embedding = nn.Parameter(embedding.clone())  # (V, D)
        self.head = nn.Parameter(head.clone())  # (D, V)
        self.alive: list[int] = []
        self._results: list[weakref.ref] = []
        self._steps: list[Any] = []

    def forward(self, tokens: Tensor) -> Tensor:
        self.alive.append(sum(result() is not None for result in self._results))
        hidden = torch.tanh(self.embedding[tokens])  # (B, T, D)
        product = hidden.flatten(0, -2) @ self.head  # (B * T, V)
        logits = product.unflatten(0, tokens.shape)
        self._results.append(weakref.ref(logits))
        self._steps.append(product.grad_fn)
        return logits

    def graphs_kept(self) -> int:
        """How many forward passes could still be differentiated: 0 when each had its backward pass."""
        return sum(_holds_buffers(step) for step in self._steps)


def loss_and_gradient(names: Mapping[str, Any], name: str, logits: Tensor, targets: Tensor, mask: Tensor):
    """A loss of the student's as (loss, gradient of the logits)."""
    logits = logits.clone().requires_grad_()
    loss = names[name](logits, targets, mask)
    if not isinstance(loss, Tensor) or loss.grad_fn is None:
        return loss, None
    loss.backward()
    return loss.detach(), logits.grad


def accumulate(
    names: Mapping[str, Any],
    weights: tuple[Tensor, Tensor],
    micro_batches: Sequence[Rows],
    total_tokens: int,
    there_already: tuple[Tensor, Tensor] | None = None,
) -> dict[str, Any]:
    """Run the student's `accumulate` on a `TinyModel`.

    Args:
        weights: (V, D) embedding and (D, V) head, float64.
        micro_batches: inputs, targets and keep of each.
        total_tokens: targets that count in all of them.
        there_already: gradients that the parameters have before the call.
    """
    model = TinyModel(*weights)
    if there_already is not None:
        for parameter, gradient in zip(model.parameters(), there_already, strict=True):
            parameter.grad = gradient.clone()
    loss = names["accumulate"](model, [Batch(*rows) for rows in micro_batches], total_tokens)
    return {
        "loss": loss.detach() if isinstance(loss, Tensor) else loss,
        "gradients": [parameter.grad for parameter in model.parameters()],
        "weights": [parameter.detach() for parameter in model.parameters()],
        "alive": max(model.alive, default=0),
        "graphs_kept": model.graphs_kept(),
        "forwards": len(model.alive),
    }


def train_steps(
    names: Mapping[str, Any],
    weights: tuple[Tensor, Tensor],
    steps: Sequence[tuple[Sequence[Rows], float]],
    clip: float,
) -> dict[str, Any]:
    """Run the student's `train_step` once for each pair of micro-batches and learning rate.

    Returns:
        "events": per step, what happened to model and optimizer in order; "weights" after each step.
    """
    model = TinyModel(*weights)
    events: list[str] = []
    optimizer = TracedSGD(model.parameters(), events)
    first = next(iter(model.parameters()))
    first.register_post_accumulate_grad_hook(lambda _: events.append("backward"))
    told, after = [], []
    for micro_batches, lr in steps:
        batches = [Batch(*rows) for rows in micro_batches]
        total = sum(batch.count for batch in batches)
        names["train_step"](model, optimizer, batches, total, lr, clip)
        told.append(list(events))
        events.clear()
        after.append([parameter.detach().clone() for parameter in model.parameters()])
    left = [parameter.grad for parameter in model.parameters()]
    return {"events": told, "weights": after, "left": left}


class TracedSGD(torch.optim.SGD):
    """Plain SGD that writes down when it steps, at which learning rate and norm, and when gradients go."""

    def __init__(self, parameters: Any, events: list[str]) -> None:
        super().__init__(parameters, lr=0.0)
        self._events = events

    def step(self, closure: Any = None) -> None:
        gradients = [p.grad for group in self.param_groups for p in group["params"] if p.grad is not None]
        norm = float(torch.nn.utils.get_total_norm(gradients)) if gradients else 0.0
        self._events.append(f"step lr={self.param_groups[0]['lr']:.6g} norm={norm:.6g}")
        super().step(closure)

    def zero_grad(self, set_to_none: bool = True) -> None:
        self._events.append("zero_grad")
        super().zero_grad(set_to_none)


def _holds_buffers(step: Any) -> bool:
    """Whether a node of the graph still has what its backward pass needs; a pass frees it."""
    try:
        return step is not None and step._saved_self is not None
    except RuntimeError:
        return False
