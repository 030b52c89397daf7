"""The figures of each layer, every few steps: what the loss alone cannot show."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from lmcourse.monitor.layers import parameters_by_layer
from lmcourse.monitor.probe import Probe, probe
from lmcourse.packing import Batch

EVERY = 20  # steps


class Monitor:
    """Measures without a trace: the weights of a watched run are those of an unwatched one, bit for bit."""

    def __init__(self, model: nn.Module, every: int = EVERY) -> None:
        """
        Args:
            model: the transformer itself, not a compiled wrapper of it.
            every: steps between two tables.
        """
        self.every = every
        self._model = model
        self._layers = parameters_by_layer(model)
        self._due = False
        self._batches: Sequence[Batch] = ()
        self._figures: dict[str, Any] = {}
        self._before: dict[str, list[Tensor]] = {}
        self._steps = self._clipped = 0  # accepted so far

    def begin(self, step: int, micro_batches: Sequence[Batch]) -> None:
        """Before the step with this number, from 1. The first step is always measured."""
        self._due = step == 1 or step % self.every == 0
        self._batches = micro_batches

    def after_backward(self, norm: float, clip: float) -> None:
        """With the whole gradient in place, before it is clipped.

        Args:
            norm: of the whole gradient.
            clip: the largest norm that is let through.
        """
        self._steps += 1
        self._clipped += norm > clip
        if not self._due:
            return
        self._figures = {
            name: {
                "gradient_norm": _norm([p.grad for p in parameters if p.grad is not None]),
                "zero_gradient_share": _zero_share(parameters),
            }
            for name, parameters in self._layers.items()
        }
        self._before = {
            name: [p.detach().clone() for p in parameters] for name, parameters in self._layers.items()
        }

    def after_step(self, scale: float | None = None) -> dict[str, Any] | None:
        """After the update: the table, where this step has one.

        Args:
            scale: of the loss scaler, where there is one.

        Returns:
            None, or what `monitor.jsonl` holds of a step. Norms are Euclidean; `update_ratio` is the norm of
            the change by the norm of the weights before it; `clip_share` is that of all steps so far.
        """
        if not self._due:
            return None
        for name, parameters in self._layers.items():
            before = self._before[name]
            weight = _norm(before)
            change = _norm([p.detach() - old for p, old in zip(parameters, before, strict=True)])
            self._figures[name] |= {
                "weight_norm": weight,
                "update_ratio": change / weight if weight else None,
            }
        self._before = {}
        seen = probe(self._model, self._batches[0]) if self._batches else Probe({}, {})  # a rank without rows
        return {
            "clip_share": self._clipped / self._steps,
            "data_hash": data_hash(self._batches),
            "loss_scale": scale,
            "attention_logit_max": max(map(max, seen.attention_logits.values()), default=None),
            "attention_logits": seen.attention_logits,
            "dead_units": seen.dead_units,
            "layers": self._figures,
        }

    def state_dict(self) -> dict[str, int]:
        return {"steps": self._steps, "clipped": self._clipped}

    def load_state_dict(self, state: dict[str, int]) -> None:
        self._steps, self._clipped = state["steps"], state["clipped"]


def data_hash(batches: Sequence[Batch]) -> str:
    """Names the tokens of a step: equal for equal inputs and targets, however they are split by rows."""
    digest = hashlib.blake2b(digest_size=8)
    for column in ("inputs", "targets"):
        for batch in batches:
            digest.update(getattr(batch, column).cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()


def _norm(tensors: Sequence[Tensor]) -> float:
    squares = [tensor.float().square().sum() for tensor in tensors]
    return torch.stack(squares).sum().sqrt().item() if squares else 0.0


def _zero_share(parameters: Sequence[nn.Parameter]) -> float:
    zero = sum(
        p.numel() if p.grad is None else p.numel() - int(torch.count_nonzero(p.grad)) for p in parameters
    )
    return zero / sum(p.numel() for p in parameters)
