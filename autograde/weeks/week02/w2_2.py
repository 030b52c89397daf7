"""W2.2, masked cross-entropy: the mean over the tokens that count, and nothing from those that do not."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from autograde import expect
from autograde.exercise import Answer, Draw, HiddenExercise
from autograde.weeks.week02 import losses

EXERCISE = HiddenExercise("W2.2", manners_points=1)


def masked_cross_entropy(logits: Tensor, targets: Tensor, mask: Tensor) -> Tensor:
    from lmcourse.objective import masked_cross_entropy

    return masked_cross_entropy(logits, targets, mask)


EXERCISE.set_reference(masked_cross_entropy)


@EXERCISE.variant("log-softmax and gather", "targets made safe by where, the mask as weights")
def _(logits, targets, mask):
    logp = logits.float().log_softmax(-1)
    picked = logp.gather(-1, torch.where(mask, targets, 0)[..., None])[..., 0]
    return -torch.where(mask, picked, 0.0).sum() / mask.sum().clamp(min=1)


@EXERCISE.variant("picks the kept places first", "indexes with the mask, then calls the library")
def _(logits, targets, mask):
    kept = logits[mask].float()
    if len(kept) == 0:
        return (logits.float() * 0).sum()
    return F.cross_entropy(kept, targets[mask])


@EXERCISE.variant("by hand in float64", "largest logit subtracted, in float64, cast at the end")
def _(logits, targets, mask):
    wide = logits.double()
    shifted = wide - wide.max(-1, keepdim=True).values.detach()
    log_sum = shifted.exp().sum(-1).log()
    own = shifted.gather(-1, targets.masked_fill(~mask, 0)[..., None]).squeeze(-1)
    return ((log_sum - own).masked_fill(~mask, 0).sum() / max(1, int(mask.sum()))).float()


# Mutants.


def _nll(logits: Tensor, targets: Tensor, mask: Tensor) -> Tensor:
    """(B, T), 0 where not kept."""
    safe = targets.masked_fill(~mask, 0)
    losses_ = F.cross_entropy(logits.float().transpose(1, 2), safe, reduction="none")
    return losses_.masked_fill(~mask, 0.0)


def _count(mask: Tensor) -> Tensor:
    return mask.sum().clamp(min=1)


@EXERCISE.mutant(
    "mean over all places",
    "Your sum is divided by all B * T places; places that do not count belong in neither the sum nor the "
    "count.",
)
def _(logits, targets, mask):
    return _nll(logits, targets, mask).mean()


@EXERCISE.mutant(
    "mean over examples",
    "Your loss is the mean over examples (2.5 in the example of the text instead of 1.6): every row weighs "
    "the same, however few tokens it has. Asked for is the mean over tokens.",
)
def _(logits, targets, mask):
    return (_nll(logits, targets, mask).sum(1) / mask.sum(1).clamp(min=1)).sum() / mask.any(1).sum().clamp(
        min=1
    )


@EXERCISE.mutant("sum", "Your loss is the sum over the tokens that count; divide by how many there are.")
def _(logits, targets, mask):
    return _nll(logits, targets, mask).sum()


@EXERCISE.mutant(
    "divided by the rows", "Your sum is divided by the number of rows, not of tokens that count."
)
def _(logits, targets, mask):
    return _nll(logits, targets, mask).sum() / len(mask)


@EXERCISE.mutant(
    "mask on the logits",
    "Your mask multiplies the logits: a place with zero logits still has the loss ln V, and still counts.",
)
def _(logits, targets, mask):
    zeroed = logits.float() * mask[..., None]
    safe = targets.masked_fill(~mask, 0)
    return F.cross_entropy(zeroed.transpose(1, 2), safe, reduction="sum") / _count(mask)


@EXERCISE.mutant("mask inverted", "Your mask is inverted: True means that the prediction counts.")
def _(logits, targets, mask):
    V = logits.shape[-1]
    return _nll(logits, targets.clamp(0, V - 1), ~mask).sum() / _count(~mask)


@EXERCISE.mutant("in bits", "Your loss is in bits (logarithm of base 2); it is asked for in nats.")
def _(logits, targets, mask):
    return _nll(logits, targets, mask).sum() / _count(mask) / torch.log(torch.tensor(2.0))


@EXERCISE.mutant(
    "overflow",
    "Your loss is inf or nan for large logits: exp(10000) overflows. Subtract the largest logit first, or "
    "let logsumexp do it.",
)
def _(logits, targets, mask):
    wide = logits.float()
    own = wide.gather(-1, targets.masked_fill(~mask, 0)[..., None]).squeeze(-1)
    return ((wide.exp().sum(-1).log() - own) * mask).sum() / _count(mask)


@EXERCISE.mutant(
    "underflow clamped",
    "Your probabilities are clamped before the logarithm: a target that the model thinks impossible costs "
    "too little, and gets no gradient.",
)
def _(logits, targets, mask):
    p = logits.float().softmax(-1).gather(-1, targets.masked_fill(~mask, 0)[..., None]).squeeze(-1)
    return (-(p.clamp(min=1e-8).log()) * mask).sum() / _count(mask)


@EXERCISE.mutant(
    "mask shifted by one",
    "Your mask is shifted by one place: mask[b, i] says whether the prediction made at i counts.",
)
def _(logits, targets, mask):
    V = logits.shape[-1]
    moved = mask.roll(1, dims=1)
    return _nll(logits, targets.clamp(0, V - 1), moved).sum() / _count(mask)


@EXERCISE.mutant(
    "nan when nothing counts",
    "Your loss is nan when no token counts: 0 / 0. The contract asks for 0, with a gradient of 0.",
)
def _(logits, targets, mask):
    return _nll(logits, targets, mask).sum() / mask.sum()


@EXERCISE.mutant(
    "a constant when nothing counts",
    "Your 0 for a batch in which no token counts does not depend on the logits, so backward fails; the "
    "contract asks for a gradient of 0.",
)
def _(logits, targets, mask):
    if not mask.any():
        return torch.zeros(())
    return _nll(logits, targets, mask).sum() / mask.sum()


@EXERCISE.mutant(
    "mask used twice",
    "Your denominator is too small or too large: it must be the number of True places, once.",
)
def _(logits, targets, mask):
    return _nll(logits, targets, mask).sum() / (mask.float().sum() * mask.float().mean()).clamp(min=1e-9)


@EXERCISE.mutant(
    "gradient into masked places",
    "Your loss still gives a gradient to places that do not count.",
)
def _(logits, targets, mask):
    loss = _nll(logits, targets, mask).sum() / _count(mask)
    stray = logits.float().logsumexp(-1).masked_fill(mask, 0).sum()
    return loss + (stray - stray.detach())


@EXERCISE.mutant(
    "masked targets used",
    "Your function looks up targets that do not count; they may be -100 or any other number, and the look-up "
    "fails or wraps around.",
)
def _(logits, targets, mask):
    picked = logits.float().log_softmax(-1).gather(-1, targets[..., None])[..., 0]
    return -(picked * mask).sum() / _count(mask)


@EXERCISE.mutant(
    "only -100 is left out",
    "Your version leaves out targets of -100 and never looks at the mask: a target can be in range and "
    "still not count.",
)
def _(logits, targets, mask):
    V = logits.shape[-1]
    real = (targets >= 0) & (targets < V)
    return _nll(logits, targets, real).sum() / _count(real)


@EXERCISE.mutant(
    "computed in bfloat16",
    "Your loss of bfloat16 logits is computed and returned in bfloat16, with three digits; convert to "
    "float32 first.",
)
def _(logits, targets, mask):
    safe = targets.masked_fill(~mask, 0)
    losses_ = F.cross_entropy(logits.transpose(1, 2), safe, reduction="none").masked_fill(~mask, 0)
    return losses_.sum() / _count(mask)


@EXERCISE.mutant("a plain number", "Your loss is a plain number: backward needs a tensor.")
def _(logits, targets, mask):
    return float(_nll(logits, targets, mask).sum() / _count(mask))


@EXERCISE.mutant("writes into targets", "Your function writes into targets; the caller still needs them.")
def _(logits, targets, mask):
    targets[~mask] = 0
    return _nll(logits, targets, mask).sum() / _count(mask)


# Properties.


@EXERCISE.property("the mean over the tokens that count", 3)
def _(answer: Answer, draw: Draw) -> None:
    for B, T, V in losses.SIZES:
        data = losses.inputs(draw.rng, B, T, V)
        hint = "Sum over the kept places, divided by how many they are, in nats."
        losses.compare(answer, losses.token_mean, expect.case(draw, B=B, T=T, V=V), data, hint)


@EXERCISE.property("rows of very different lengths", 2)
def _(answer: Answer, draw: Draw) -> None:
    logits, targets, _ = losses.inputs(draw.rng, 3, 9, 6)
    mask = torch.zeros(3, 9, dtype=torch.bool)
    mask[0, 4], mask[1, :], mask[2, 2:4] = True, True, True
    hint = "A token weighs the same in a row with one kept token and in a row with nine."
    losses.compare(answer, losses.token_mean, expect.case(draw, "1, 9 and 2 kept tokens", B=3, T=9, V=6),
                   (logits, targets, mask), hint)  # fmt: skip


@EXERCISE.property("targets that do not count may be anything", 2)
def _(answer: Answer, draw: Draw) -> None:
    rng = draw.rng
    for filler in (-100, 10**6, -1):
        logits, targets, mask = losses.inputs(rng, 3, 6, 5)
        mask[0, 0] = False
        targets = torch.where(mask, targets, filler)
        case = expect.case(draw, f"targets that do not count are {filler}", B=3, T=6, V=5)
        losses.compare(answer, losses.token_mean, case, (logits, targets, mask))


@EXERCISE.property("the gradient", 2)
def _(answer: Answer, draw: Draw) -> None:
    for B, T, V in losses.SIZES[1:]:
        data = losses.inputs(draw.rng, B, T, V)
        case = expect.case(draw, B=B, T=T, V=V)
        gradient = losses.compare_gradient(answer, "masked_cross_entropy", losses.token_mean, case, data)
        if bool(gradient[~data[2]].any()):
            raise expect.wrong("places that do not count have a gradient, which should be exactly 0", case)


@EXERCISE.property("large logits stay finite", 2)
def _(answer: Answer, draw: Draw) -> None:
    for scale in (1e4, -1e4):
        logits, targets, mask = losses.inputs(draw.rng, 2, 4, 5)
        logits[:, :, 0] = scale
        case = expect.case(draw, f"a logit of {scale:g}", B=2, T=4, V=5)
        losses.compare(
            answer, losses.token_mean, case, (logits, targets, mask), "Subtract the largest logit first."
        )


@EXERCISE.property("nothing counts", 1)
def _(answer: Answer, draw: Draw) -> None:
    logits, targets, mask = losses.inputs(draw.rng, 2, 3, 4)
    data = (logits, targets, torch.zeros_like(mask))
    case = expect.case(draw, "no place counts", B=2, T=3, V=4)
    hint = "0 kept tokens give a loss of 0 with a gradient of 0, not nan."
    losses.compare(answer, losses.token_mean, case, data, hint)
    losses.compare_gradient(answer, "masked_cross_entropy", losses.token_mean, case, data, hint)


@EXERCISE.property("bfloat16 logits, float32 loss", 1)
def _(answer: Answer, draw: Draw) -> None:
    logits, targets, mask = losses.inputs(draw.rng, 3, 7, 9)
    data = (logits.bfloat16(), targets, mask)
    case = expect.case(draw, "logits in bfloat16", B=3, T=7, V=9)
    loss = expect.shape(answer(*(part.clone() for part in data)), (), what="the loss", case=case)
    expect.dtype(loss, torch.float32, what="the loss", case=case, hint="Convert the logits to float32 first.")
    expect.close(loss, losses.token_mean(*data), terms=21 * 9, what="the loss", case=case)


# Public rows.


@EXERCISE.public_case("the example of the text", "2 tokens at 4 nats, 8 tokens at 1 nat: 1.6")
def _():
    return losses_of([[4.0] * 2, [1.0] * 8])


@EXERCISE.public_case("random logits", "some places do not count")
def _():
    generator = torch.Generator().manual_seed(3)
    logits = torch.randn(2, 4, 3, generator=generator).round(decimals=2)
    targets = torch.tensor([[0, 2, 1, 1], [2, 0, 0, 1]])
    return logits, targets, torch.tensor([[1, 1, 0, 1], [0, 1, 0, 0]]).bool()


def losses_of(rows: list[list[float]]) -> tuple[Tensor, Tensor, Tensor]:
    """Two-way logits whose losses are these nats, one row an example, padded to the longest."""
    T = max(map(len, rows))
    logits, mask = torch.zeros(len(rows), T, 2), torch.zeros(len(rows), T, dtype=torch.bool)
    for b, row in enumerate(rows):
        nats = torch.tensor(row, dtype=torch.float64)
        logits[b, : len(row), 1] = torch.log(torch.expm1(nats)).float()  # ln(1 + e^x) = nats
        mask[b, : len(row)] = True
    return logits, torch.zeros(len(rows), T, dtype=torch.long), mask
