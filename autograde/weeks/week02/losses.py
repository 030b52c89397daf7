"""Logits, targets and masks for the exercises on masked losses, and their float64 oracles."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from autograde import expect
from autograde.exercise import Answer

SIZES = ((1, 1, 2), (2, 5, 7), (4, 3, 11), (3, 8, 5))  # B, T, V


def inputs(
    rng: np.random.Generator, B: int, T: int, V: int, share: float = 0.6
) -> tuple[Tensor, Tensor, Tensor]:
    """(B, T, V) float32 logits, (B, T) int64 targets, (B, T) bool mask with at least one kept place."""
    logits = torch.from_numpy(rng.normal(scale=2.0, size=(B, T, V))).float()
    targets = torch.from_numpy(rng.integers(0, V, size=(B, T)))
    mask = torch.from_numpy(rng.random((B, T)) < share)
    mask[int(rng.integers(B)), int(rng.integers(T))] = True
    return logits, targets, mask


def nll(logits: Tensor, targets: Tensor, mask: Tensor) -> Tensor:
    """(B, T) nats in float64, 0 where not kept, whatever the target there is."""
    wide = logits.double()
    safe = torch.where(mask, targets, 0)
    losses = wide.logsumexp(-1) - wide.gather(-1, safe[..., None]).squeeze(-1)
    return torch.where(mask, losses, 0.0)


def token_mean(logits: Tensor, targets: Tensor, mask: Tensor) -> Tensor:
    return nll(logits, targets, mask).sum() / mask.sum().clamp(min=1)


def example_mean(logits: Tensor, targets: Tensor, mask: Tensor) -> Tensor:
    per_row = nll(logits, targets, mask).sum(1) / mask.sum(1).clamp(min=1)
    filled = mask.any(1)
    return per_row[filled].sum() / filled.sum().clamp(min=1)


def with_gradient(oracle, logits: Tensor, targets: Tensor, mask: Tensor) -> tuple[float, Tensor]:
    """The oracle's loss, and its gradient with respect to the logits, in float64."""
    wide = logits.detach().double().requires_grad_()
    loss = oracle(wide, targets, mask)
    loss.backward()
    return loss.item(), wide.grad


def compare(answer: Answer, oracle, case: str, data: tuple[Tensor, Tensor, Tensor], hint: str = "") -> None:
    """Loss of the student's function against the oracle."""
    came = answer(*(part.clone() for part in data))
    loss = expect.shape(came, (), what="the loss", case=case, hint="One number: a scalar tensor.")
    expect.close(
        loss, oracle(*data), terms=data[1].numel() * data[0].shape[-1], what="the loss", case=case, hint=hint
    )


def compare_gradient(
    answer: Answer, name: str, oracle, case: str, data: tuple[Tensor, Tensor, Tensor], hint: str = ""
) -> Tensor:
    """Gradient of the student's loss against the oracle's; returns the student's."""
    came = answer.drive("week02.loss_and_gradient", name, *(part.clone() for part in data))
    _, gradient = expect.parts(came, ("loss", "gradient"), case=case)
    if gradient is None:
        reason = "the loss has no gradient: it must stay a tensor that depends on the logits"
        raise expect.wrong(reason, case, hint)
    _, right = with_gradient(oracle, *data)
    expect.close(
        gradient, right, terms=data[1].numel(), what="the gradient of the logits", case=case, hint=hint
    )
    return gradient
