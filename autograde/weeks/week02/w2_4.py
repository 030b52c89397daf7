"""W2.4, accumulate: the gradient of the whole step, one micro-batch at a time, exact for uneven counts."""

from __future__ import annotations

import torch
from torch import Tensor

from autograde import expect
from autograde.exercise import Answer, Draw, HiddenExercise
from autograde.weeks.week02 import batches

EXERCISE = HiddenExercise("W2.4", manners_points=1)


def _sum_of_nats(model, batch) -> Tensor:
    logits = model(batch.inputs)  # (B, T, V)
    nats = logits.logsumexp(-1) - logits.gather(-1, batch.targets[..., None]).squeeze(-1)
    return nats.masked_fill(~batch.keep, 0.0).sum()


def accumulate(model, micro_batches, total_tokens: int) -> float:
    loss = 0.0
    for batch in micro_batches:
        part = _sum_of_nats(model, batch) / total_tokens
        part.backward()
        loss += part.item()
    return loss


EXERCISE.set_reference(accumulate)


@EXERCISE.variant("sums of the library", "cross-entropy with reduction sum, a tensor as the result")
def _(model, micro_batches, total_tokens):
    total = torch.zeros((), dtype=torch.float64)
    for batch in micro_batches:
        logits = model(batch.inputs)
        targets = batch.targets.masked_fill(~batch.keep, -100)
        part = torch.nn.functional.cross_entropy(
            logits.flatten(0, 1), targets.flatten(), ignore_index=-100, reduction="sum"
        )
        (part / total_tokens).backward()
        total += part.detach() / total_tokens
    return total


@EXERCISE.variant("mean times share", "each micro-batch's own mean, weighted by its share of the tokens")
def _(model, micro_batches, total_tokens):
    loss = 0.0
    for batch in micro_batches:
        n = int(batch.keep.sum())
        if n == 0:
            continue
        part = _sum_of_nats(model, batch) / n * (n / total_tokens)
        part.backward()
        loss += part.item()
    return loss


@EXERCISE.variant("gradients added by hand", "autograd.grad for each micro-batch, added to .grad in place")
def _(model, micro_batches, total_tokens):
    parameters, loss = list(model.parameters()), 0.0
    for batch in micro_batches:
        part = _sum_of_nats(model, batch) / total_tokens
        for p, g in zip(parameters, torch.autograd.grad(part, parameters), strict=True):
            p.grad = g if p.grad is None else p.grad + g
        loss += part.item()
    return loss


# Mutants.


def _run(model, micro_batches, divide, loss_divide=None) -> float:
    """Backward for each micro-batch after dividing its sum by `divide(k, batch)`."""
    loss = 0.0
    for k, batch in enumerate(micro_batches):
        nats = _sum_of_nats(model, batch)
        part = nats / divide(k, batch)
        part.backward()
        loss += (part if loss_divide is None else nats / loss_divide(k, batch)).item()
    return loss


def _own(batch) -> int:
    return max(1, int(batch.keep.sum()))


@EXERCISE.mutant(
    "mean of means",
    "Your gradient is the mean of the micro-batches' own means: a token in a small micro-batch weighs more "
    "than one in a large one. Divide each sum by the tokens of the whole step.",
)
def _(model, micro_batches, total_tokens):
    return _run(model, micro_batches, lambda _k, batch: _own(batch) * len(micro_batches))


@EXERCISE.mutant(
    "mean of means, honest loss",
    "Your loss is right and your gradient is not: it divides by each micro-batch's own count. The printed "
    "loss cannot see that.",
)
def _(model, micro_batches, total_tokens):
    K = len(micro_batches)
    return _run(model, micro_batches, lambda _k, batch: _own(batch) * K, lambda _k, _batch: total_tokens)


@EXERCISE.mutant("no division", "Your gradient is that of the sum over all tokens; divide by total_tokens.")
def _(model, micro_batches, total_tokens):
    return _run(model, micro_batches, lambda _k, _batch: 1, lambda _k, _batch: total_tokens)


@EXERCISE.mutant(
    "own count",
    "Your gradient adds up the micro-batches' own means, about K times too large; divide by total_tokens "
    "instead of by each one's count.",
)
def _(model, micro_batches, total_tokens):
    return _run(model, micro_batches, lambda _k, batch: _own(batch))


@EXERCISE.mutant(
    "divided by K only",
    "Your sums are divided by the number of micro-batches; the denominator is the number of tokens.",
)
def _(model, micro_batches, total_tokens):
    return _run(model, micro_batches, lambda _k, _batch: len(micro_batches))


@EXERCISE.mutant(
    "divided by all places",
    "Your sums are divided by all B * T places; only tokens that count belong in the denominator.",
)
def _(model, micro_batches, total_tokens):
    places = sum(batch.keep.numel() for batch in micro_batches)
    return _run(model, micro_batches, lambda _k, _batch: places)


@EXERCISE.mutant(
    "divided twice",
    "Your gradient is K times too small: with total_tokens as denominator there is nothing left to divide "
    "by K.",
)
def _(model, micro_batches, total_tokens):
    return _run(model, micro_batches, lambda _k, _batch: total_tokens * len(micro_batches))


@EXERCISE.mutant(
    "gradients cleared inside",
    "Your gradient is that of the last micro-batch: something clears the gradients inside the loop.",
)
def _(model, micro_batches, total_tokens):
    loss = 0.0
    for batch in micro_batches:
        model.zero_grad()
        part = _sum_of_nats(model, batch) / total_tokens
        part.backward()
        loss += part.item()
    return loss


@EXERCISE.mutant(
    "gradients cleared at the start",
    "Your function clears the gradients that were there before; the contract says that it adds to them.",
)
def _(model, micro_batches, total_tokens):
    model.zero_grad()
    return accumulate(model, micro_batches, total_tokens)


@EXERCISE.mutant("last micro-batch only", "Your last micro-batch alone goes backward; each of them must.")
def _(model, micro_batches, total_tokens):
    loss = 0.0
    for batch in micro_batches:
        part = _sum_of_nats(model, batch) / total_tokens
        loss += part.item()
    part.backward()
    return loss


@EXERCISE.mutant("last micro-batch twice", "Your last micro-batch goes backward twice.")
def _(model, micro_batches, total_tokens):
    loss = accumulate(model, micro_batches, total_tokens)
    accumulate(model, micro_batches[-1:], total_tokens)
    return loss


@EXERCISE.mutant("first micro-batch left out", "Your first micro-batch does not go backward.")
def _(model, micro_batches, total_tokens):
    loss = accumulate(model, micro_batches[1:], total_tokens)
    with torch.no_grad():
        return loss + float(_sum_of_nats(model, micro_batches[0])) / total_tokens


@EXERCISE.mutant(
    "clipped per micro-batch",
    "Your gradient is clipped inside the loop: clipping belongs after the last backward, on the sum, and it "
    "is not this function's task.",
)
def _(model, micro_batches, total_tokens):
    loss = 0.0
    for batch in micro_batches:
        part = _sum_of_nats(model, batch) / total_tokens
        part.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.05)
        loss += part.item()
    return loss


@EXERCISE.mutant(
    "clipped at the end",
    "Your gradient is clipped; the caller does that, after this function.",
)
def _(model, micro_batches, total_tokens):
    loss = accumulate(model, micro_batches, total_tokens)
    torch.nn.utils.clip_grad_norm_(model.parameters(), 0.05)
    return loss


@EXERCISE.mutant(
    "graphs kept",
    "Your backward keeps the graph (retain_graph=True): every micro-batch's activations stay in memory, "
    "which is what accumulation is there to avoid.",
)
def _(model, micro_batches, total_tokens):
    loss = 0.0
    for batch in micro_batches:
        part = _sum_of_nats(model, batch) / total_tokens
        part.backward(retain_graph=True)
        loss += part.item()
    return loss


@EXERCISE.mutant(
    "one backward at the end",
    "Your losses are added up and go backward once: right numbers, but all micro-batches are in memory at "
    "the same time, so nothing is saved.",
)
def _(model, micro_batches, total_tokens):
    parts = [_sum_of_nats(model, batch) / total_tokens for batch in micro_batches]
    loss = torch.stack(parts).sum()
    loss.backward()
    return loss.item()


@EXERCISE.mutant(
    "total over filled micro-batches' places",
    "Your denominator is not total_tokens: you count again, and differently. The caller knows the count of "
    "the whole step, also across machines; use it.",
)
def _(model, micro_batches, total_tokens):
    counted = sum(int(batch.keep.sum()) for batch in micro_batches)
    return _run(model, micro_batches, lambda _k, _batch: counted)


@EXERCISE.mutant(
    "nan for an empty micro-batch",
    "Your loss or gradient is nan as soon as a micro-batch has no token that counts: its mean is 0 / 0.",
)
def _(model, micro_batches, total_tokens):
    loss = 0.0
    for batch in micro_batches:
        n = batch.keep.sum()
        part = _sum_of_nats(model, batch) / n * (n / total_tokens)
        part.backward()
        loss += part.item()
    return loss


@EXERCISE.mutant("all targets count", "Your loss ignores batch.keep: targets that do not count are in it.")
def _(model, micro_batches, total_tokens):
    loss = 0.0
    for batch in micro_batches:
        logits = model(batch.inputs)
        nats = logits.logsumexp(-1) - logits.gather(-1, batch.targets[..., None]).squeeze(-1)
        part = nats.sum() / total_tokens
        part.backward()
        loss += part.item()
    return loss


@EXERCISE.mutant(
    "loss of the last micro-batch",
    "Your gradient is right, but the loss that you return is that of the last micro-batch; return the loss "
    "of the whole step.",
)
def _(model, micro_batches, total_tokens):
    part = 0.0
    for batch in micro_batches:
        loss = _sum_of_nats(model, batch) / total_tokens
        loss.backward()
        part = loss.item()
    return part


@EXERCISE.mutant(
    "steps as well",
    "Your function changes the weights; it only collects gradients, the step is the caller's.",
)
def _(model, micro_batches, total_tokens):
    loss = accumulate(model, micro_batches, total_tokens)
    torch.optim.SGD(model.parameters(), lr=0.1).step()
    return loss


@EXERCISE.mutant("returns nothing", "Your function returns nothing; return the loss of the step.")
def _(model, micro_batches, total_tokens):
    accumulate(model, micro_batches, total_tokens)


# Properties.

HINT = "Each kept token of the whole step has the weight 1 / total_tokens."


@EXERCISE.property("the gradient of the whole step", 5)
def _(answer: Answer, draw: Draw) -> None:
    rng = draw.rng
    for kept in ((5, 2, 11), (1, 17), (9, 9, 9, 3)):
        _gradients(answer, draw, batches.weights(rng), batches.uneven(rng, *kept), f"{kept} kept tokens")


@EXERCISE.property("one micro-batch, empty micro-batches", 2)
def _(answer: Answer, draw: Draw) -> None:
    rng = draw.rng
    for kept in ((7,), (0, 6, 13), (4, 0)):
        _gradients(answer, draw, batches.weights(rng), batches.uneven(rng, *kept), f"{kept} kept tokens")


@EXERCISE.property("the loss of the whole step", 2)
def _(answer: Answer, draw: Draw) -> None:
    rng = draw.rng
    for kept in ((3, 14), (8, 1, 6)):
        weights, micro = batches.weights(rng), batches.uneven(rng, *kept)
        case = expect.case(draw, f"{kept} kept tokens")
        came = answer.drive("week02.accumulate", weights, micro, sum(kept))
        loss = expect.number(came["loss"], what="the loss", case=case)
        expect.close(loss, batches.oracle(weights, micro)[0], dtype=torch.float64, terms=256, what="the loss",
                     case=case, hint="The sum of the parts that went backward.")  # fmt: skip


@EXERCISE.property("adds to the gradients that are there", 2)
def _(answer: Answer, draw: Draw) -> None:
    rng = draw.rng
    weights, micro = batches.weights(rng), batches.uneven(rng, 4, 9)
    before = tuple(
        torch.randn(w.shape, dtype=w.dtype, generator=draw.generator(k)) for k, w in enumerate(weights)
    )
    case = expect.case(draw, "parameters that have gradients already")
    came = answer.drive("week02.accumulate", weights, micro, 13, before)
    for name, got, old, new in zip(("embedding", "head"), came["gradients"], before,
                                   batches.oracle(weights, micro)[1], strict=True):  # fmt: skip
        _close(got, old + new, name, case, "backward() adds to .grad; leave it to that.")


@EXERCISE.property("total_tokens is the caller's", 1)
def _(answer: Answer, draw: Draw) -> None:
    rng = draw.rng
    weights, micro = batches.weights(rng), batches.uneven(rng, 5, 3)
    hint = "Another machine may hold more tokens of this step: total_tokens counts them too."
    _gradients(answer, draw, weights, micro, "total_tokens larger than what is here", total=29, hint=hint)


@EXERCISE.property("no step, one micro-batch in memory", 3)
def _(answer: Answer, draw: Draw) -> None:
    rng = draw.rng
    weights, micro = batches.weights(rng), batches.uneven(rng, 5, 3, 7, 6, 2)
    case = expect.case(draw, "five micro-batches")
    came = answer.drive("week02.accumulate", weights, micro, 23)
    _some_gradient(came, case)
    for name, got, old in zip(("embedding", "head"), came["weights"], weights, strict=True):
        if not torch.equal(got, old):
            raise expect.wrong(f"the weights changed ({name}); this function only collects gradients", case)
    if came["alive"] > 1 or came["graphs_kept"]:
        hint = "Call backward() for each micro-batch inside the loop, without retain_graph."
        raise expect.wrong("the activations of several micro-batches are in memory at once", case, hint)


# Oracle.


def _gradients(answer: Answer, draw: Draw, weights, micro, words: str, total: int | None = None,
               hint: str = HINT) -> None:  # fmt: skip
    case = expect.case(draw, words)
    total = batches.count(micro) if total is None else total
    came = answer.drive("week02.accumulate", weights, micro, total)
    right = batches.oracle(weights, micro, total)[1]
    for name, got, wanted in zip(("embedding", "head"), came["gradients"], right, strict=True):
        _close(got, wanted, name, case, hint)


def _some_gradient(came: dict, case: str) -> None:
    if any(gradient is None for gradient in came["gradients"]):
        raise expect.wrong("no gradient arrived at the parameters: does each part go backward?", case)


def _close(got: Tensor | None, wanted: Tensor, name: str, case: str, hint: str) -> None:
    if got is None:
        raise expect.wrong(f"the {name} has no gradient: does each part go backward?", case)
    # The statement promises float64 throughout, so the tolerance is that of a float64 sum.
    expect.close(
        got, wanted, dtype=torch.float64, terms=256, what=f"the gradient of the {name}", case=case, hint=hint
    )
