"""W2.3, the mean over examples: another objective, in which every example weighs the same."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from autograde import expect
from autograde.exercise import Answer, Draw, HiddenExercise
from autograde.weeks.week02 import losses
from autograde.weeks.week02.w2_2 import losses_of

EXERCISE = HiddenExercise("W2.3")

CASE = "2 tokens at 4 nats, 8 tokens at 1 nat"
WORDS = ("token mean", "example mean")


def per_example_mean_loss(logits: Tensor, targets: Tensor, mask: Tensor) -> Tensor:
    safe = targets.masked_fill(~mask, 0)
    nats = F.cross_entropy(logits.float().transpose(1, 2), safe, reduction="none")  # (B, T)
    kept = mask.sum(1)  # (B,)
    means = nats.masked_fill(~mask, 0.0).sum(1) / kept.clamp(min=1)
    return means.sum() / (kept > 0).sum().clamp(min=1)


EXERCISE.set_reference(per_example_mean_loss, gives_two_and_a_half="example mean")


@EXERCISE.variant("a loop over rows", "one library call a row, rows without tokens skipped")
def _(logits, targets, mask):
    means = [
        F.cross_entropy(x[m].float(), y[m]) for x, y, m in zip(logits, targets, mask, strict=True) if m.any()
    ]
    return torch.stack(means).mean() if means else (logits.float() * 0).sum()


@EXERCISE.variant("weights per token", "each token weighs 1 / (filled rows * length of its row)")
def _(logits, targets, mask):
    kept = mask.sum(1, keepdim=True)
    weight = mask / kept.clamp(min=1) / (kept > 0).sum().clamp(min=1)
    picked = logits.float().log_softmax(-1).gather(-1, torch.where(mask, targets, 0)[..., None])[..., 0]
    return -torch.where(mask, picked * weight, 0.0).sum()


def _rows(logits: Tensor, targets: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """Sums and counts per row."""
    safe = targets.masked_fill(~mask, 0)
    nats = F.cross_entropy(logits.float().transpose(1, 2), safe, reduction="none").masked_fill(~mask, 0.0)
    return nats.sum(1), mask.sum(1)


@EXERCISE.mutant(
    "token mean",
    "Your loss is the mean over tokens: long examples weigh more in it. Asked for is one mean per example, "
    "then their mean.",
)
def _(logits, targets, mask):
    sums, counts = _rows(logits, targets, mask)
    return sums.sum() / counts.sum().clamp(min=1)


@EXERCISE.mutant(
    "empty example counted",
    "Your mean counts an example without any token that counts, as if its loss were 0.",
)
def _(logits, targets, mask):
    sums, counts = _rows(logits, targets, mask)
    return (sums / counts.clamp(min=1)).mean()


@EXERCISE.mutant(
    "empty example gives nan", "Your loss is nan as soon as an example has no token that counts: 0 / 0."
)
def _(logits, targets, mask):
    sums, counts = _rows(logits, targets, mask)
    return (sums / counts).mean()


@EXERCISE.mutant("padding in the mean", "Your rows are divided by T, not by their tokens that count.")
def _(logits, targets, mask):
    sums, counts = _rows(logits, targets, mask)
    return (sums / mask.shape[1])[counts > 0].mean() if counts.any() else sums.sum()


@EXERCISE.mutant(
    "sum over examples", "Your loss adds up the examples' means; divide by the number of examples."
)
def _(logits, targets, mask):
    sums, counts = _rows(logits, targets, mask)
    return (sums / counts.clamp(min=1)).sum()


@EXERCISE.mutant(
    "mean of columns", "Your loss averages over the rows first and over places then; an example is a row."
)
def _(logits, targets, mask):
    sums, counts = _rows(logits.transpose(0, 1), targets.T, mask.T)
    return (sums / counts.clamp(min=1)).sum() / (counts > 0).sum().clamp(min=1)


@EXERCISE.mutant(
    "the other one gives 2.5",
    "Your word is the other one: (4 + 1) / 2 = 2.5 is the mean of two examples' means.",
    gives_two_and_a_half="token mean",
)
def _(logits, targets, mask):
    return per_example_mean_loss(logits, targets, mask)


@EXERCISE.mutant(
    "another word",
    "Your gives_two_and_a_half should be one of the two phrases of the contract.",
    gives_two_and_a_half="per_example_mean_loss",
)
def _(logits, targets, mask):
    return per_example_mean_loss(logits, targets, mask)


@EXERCISE.property("every example weighs the same", 2)
def _(answer: Answer, draw: Draw) -> None:
    for B, T, V in losses.SIZES:
        data = losses.inputs(draw.rng, B, T, V, share=0.8)
        data[2][:, 0] = True  # no empty row here
        case = expect.case(draw, B=B, T=T, V=V)
        losses.compare(
            answer, losses.example_mean, case, data, "One mean per row, then the mean of the rows."
        )


@EXERCISE.property("examples without tokens", 1)
def _(answer: Answer, draw: Draw) -> None:
    logits, targets, mask = losses.inputs(draw.rng, 4, 5, 6)
    mask[2] = False
    mask[3, 1] = True
    for words, data in (
        ("one row without tokens", (logits, targets, mask)),
        ("no tokens at all", (logits, targets, torch.zeros_like(mask))),
    ):
        hint = "A row without tokens takes no part; without any token the loss is 0."
        losses.compare(answer, losses.example_mean, expect.case(draw, words, B=4, T=5, V=6), data, hint)


@EXERCISE.property("the gradient", 2)
def _(answer: Answer, draw: Draw) -> None:
    logits, targets, mask = losses.inputs(draw.rng, 4, 5, 6)
    mask[1] = False
    mask[0, 2] = True
    targets = torch.where(mask, targets, -100)
    case = expect.case(draw, "one row without tokens, targets of -100", B=4, T=5, V=6)
    losses.compare_gradient(
        answer, "per_example_mean_loss", losses.example_mean, case, (logits, targets, mask)
    )


@EXERCISE.property("which mean gives 2.5", 1)
def _(answer: Answer, draw: Draw) -> None:
    word = answer.value("gives_two_and_a_half")
    if not isinstance(word, str) or word not in WORDS:
        came = expect.kind_of(word)
        raise expect.wrong(
            f'gives_two_and_a_half should be "{WORDS[0]}" or "{WORDS[1]}", but is {came}', CASE
        )
    if word != "example mean":
        raise expect.wrong(
            f'"{word}" is not the one that gives 2.5', CASE, "Compute both for the example of the text."
        )


@EXERCISE.public_case("the example of the text", "2 tokens at 4 nats, 8 tokens at 1 nat: 2.5")
def _():
    return losses_of([[4.0] * 2, [1.0] * 8])


@EXERCISE.public_case("three examples", "1, 3 and 2 tokens")
def _():
    return losses_of([[2.0], [1.0, 0.5, 3.0], [0.25, 1.25]])
