"""Weights in bfloat16, and four ways to move them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn

from lmcourse.errors import CourseError
from lmcourse.numbers.rounding import stochastic_round_bf16

KEEPINGS = ("nearest", "stochastic", "kahan", "master")


class NarrowWeights:
    """Float32 copies of bfloat16 weights, on which an ordinary optimizer works.

    What differs is what survives a step beside the bfloat16 weight:

    - nearest: nothing, so an update below half the weight's spacing is lost, every time;
    - stochastic: nothing, but rounding by chance keeps it in the mean;
    - kahan: what rounding took off, itself in bfloat16, is added again before the next step (Kahan 1965);
    - master: the float32 copy itself (Micikevicius et al. 2018, arXiv:1710.03740).

    Example: `narrow = NarrowWeights(model.parameters(), "master")`, `optimizer = SGD(narrow.copies)`, and
    after each backward `narrow.step(optimizer)`.

    Args:
        weights: bfloat16 parameters, whose `.grad` the backward pass fills.
        keeping: one of `KEEPINGS`.
        generator: of stochastic rounding only.

    Raises:
        CourseError: an unknown way, weights of another type, or no generator where one is needed.
    """

    def __init__(
        self, weights: Iterable[nn.Parameter], keeping: str, generator: torch.Generator | None = None
    ) -> None:
        self.weights = list(weights)
        if keeping not in KEEPINGS:
            raise CourseError(f"keeping: expected one of {', '.join(KEEPINGS)}, got {keeping!r}")
        if others := {w.dtype for w in self.weights} - {torch.bfloat16}:
            raise CourseError(f"weights: expected bfloat16, got {others.pop()}; use model.bfloat16() first")
        if (keeping == "stochastic") != (generator is not None):
            raise CourseError("generator: stochastic rounding needs one, and nothing else does")
        self.keeping = keeping
        self.generator = generator
        self.copies = [nn.Parameter(w.detach().float()) for w in self.weights]
        self._lost = [torch.zeros_like(w) for w in self.weights] if keeping == "kahan" else []

    @torch.no_grad()
    def step(self, optimizer: torch.optim.Optimizer) -> None:
        """Take the gradients of the weights, let the optimizer move the copies, and round them back."""
        for copy, weight in zip(self.copies, self.weights, strict=True):
            copy.grad = None if weight.grad is None else weight.grad.float()
            if self.keeping != "master":
                copy.copy_(weight)
        for copy, lost in zip(self.copies, self._lost, strict=False):
            copy.add_(lost)
        optimizer.step()
        for i, (copy, weight) in enumerate(zip(self.copies, self.weights, strict=True)):
            if self.keeping == "stochastic":
                weight.copy_(stochastic_round_bf16(copy, self.generator))
            else:
                weight.copy_(copy)
            if self.keeping == "kahan":
                self._lost[i].copy_(copy - weight)

    def state_dict(self) -> dict[str, Any]:
        """What the bfloat16 weights alone do not say."""
        kept: list[Tensor] = [c.detach() for c in self.copies] if self.keeping == "master" else self._lost
        random = self.generator.get_state() if self.generator else None
        return {"keeping": self.keeping, "kept": kept, "random": random}

    @torch.no_grad()
    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take over a state, bit for bit; the weights themselves are loaded with the model.

        Raises:
            CourseError: a state of another way or of other weights.
        """
        own = self.copies if self.keeping == "master" else self._lost
        shapes = [tuple(k.shape) for k in state["kept"]]
        if state["keeping"] != self.keeping or shapes != [tuple(k.shape) for k in own]:
            raise CourseError(f"state: it is of {state['keeping']!r} weights of other shapes or another way")
        for mine, saved in zip(own, state["kept"], strict=True):
            mine.copy_(saved)
        if self.generator:
            self.generator.set_state(state["random"])
