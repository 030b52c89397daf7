"""W2.6, write the test for accumulation: right and wrong ways to add up uneven micro-batches.

The implementations work on a table of logits, so that everything crosses as plain numbers: row t of `table`
holds the logits of the token after t, and the gradient is that of the table.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from autograde.exercise import HiddenExercise

EXERCISE = HiddenExercise("W2.6")

MOST = 200  # micro-batches, rows or columns that an implementation takes


def _check(table: Tensor, micro_batches, total_tokens: int) -> None:
    if not isinstance(table, Tensor) or table.ndim != 2 or not table.is_floating_point():
        raise TypeError("table must be a (V, V) floating-point tensor")
    if not 1 <= len(micro_batches) <= MOST:
        raise ValueError(f"expected 1 to {MOST} micro-batches")
    if int(total_tokens) < 1:
        raise ValueError("total_tokens must be at least 1")
    for inputs, targets, keep in micro_batches:
        if not inputs.shape == targets.shape == keep.shape or keep.dtype != torch.bool:
            raise TypeError("a micro-batch is (inputs, targets, keep) of one shape; keep is boolean")


def _part(table: Tensor, batch) -> tuple[float, Tensor]:
    """Sum of nats over the kept tokens of one micro-batch, and its gradient."""
    inputs, targets, keep = batch
    logits = table[inputs].double()  # (b, T, V)
    targets = torch.where(keep, targets, 0)
    nats = logits.logsumexp(-1) - logits.gather(-1, targets[..., None]).squeeze(-1)
    error = logits.softmax(-1) - F.one_hot(targets, table.shape[1])
    gradient = torch.zeros_like(table, dtype=torch.float64)
    gradient.index_add_(0, inputs[keep], error[keep])
    return float(nats[keep].sum()), gradient


def _add(table: Tensor, micro_batches, weight: Callable[[int, int], float]) -> tuple[float, Tensor]:
    """Sum over micro-batches of loss and gradient, each times `weight(k, kept tokens)`."""
    loss, gradient = 0.0, torch.zeros_like(table, dtype=torch.float64)
    for k, batch in enumerate(micro_batches):
        scale = weight(k, int(batch[2].sum()))
        if scale == 0.0:
            continue
        own_loss, own_gradient = _part(table, batch)
        loss, gradient = loss + scale * own_loss, gradient + scale * own_gradient
    return loss, gradient.to(table.dtype)


def _right(table, micro_batches, total_tokens):
    return _add(table, micro_batches, lambda _k, _n: 1 / total_tokens)


def _with_right_loss(table, micro_batches, total_tokens, gradient):
    return _right(table, micro_batches, total_tokens)[0], gradient


def _clipped(gradient: Tensor, limit: float) -> Tensor:
    return gradient * min(1.0, limit / max(float(gradient.norm()), 1e-12))


# Right.


@EXERCISE.accepts("each loss scaled", "")
def _(table, micro_batches, total_tokens):
    _check(table, micro_batches, total_tokens)
    return _right(table, micro_batches, total_tokens)


@EXERCISE.accepts(
    "gradients scaled afterwards",
    "an implementation may add up the sums and divide once, at the end: the last digits differ.",
)
def _(table, micro_batches, total_tokens):
    _check(table, micro_batches, total_tokens)
    loss, gradient = _add(table, micro_batches, lambda _k, _n: 1.0)
    return loss / total_tokens, gradient / total_tokens


@EXERCISE.accepts("one big batch", "an implementation may join all micro-batches and differentiate once.")
def _(table, micro_batches, total_tokens):
    _check(table, micro_batches, total_tokens)
    leaf = table.clone().requires_grad_()
    flat = [tuple(part.flatten() for part in batch) for batch in micro_batches]
    inputs, targets, keep = (torch.cat(parts) for parts in zip(*flat, strict=True))
    targets = targets.masked_fill(~keep, -100)
    loss = F.cross_entropy(leaf[inputs], targets, ignore_index=-100, reduction="sum") / total_tokens
    loss.backward()
    return loss.item(), leaf.grad


@EXERCISE.accepts(
    "last micro-batch first", "the order of the micro-batches may change: the last digits differ."
)
def _(table, micro_batches, total_tokens):
    _check(table, micro_batches, total_tokens)
    return _right(table, list(micro_batches)[::-1], total_tokens)


@EXERCISE.accepts(
    "means weighted by their share",
    "an implementation may average inside each micro-batch and weight by its share of the tokens.",
)
def _(table, micro_batches, total_tokens):
    _check(table, micro_batches, total_tokens)
    return _add(table, micro_batches, lambda _k, n: (1 / n) * (n / total_tokens) if n else 0.0)


@EXERCISE.accepts(
    "loss as a tensor",
    "the loss may be a 0-d tensor instead of a float.",
)
def _(table, micro_batches, total_tokens):
    _check(table, micro_batches, total_tokens)
    loss, gradient = _right(table, micro_batches, total_tokens)
    return torch.tensor(loss, dtype=torch.float64), gradient


# Wrong.


@EXERCISE.rejects("mean of means", "the denominators: make the micro-batches differ in their counts.")
def _(table, micro_batches, total_tokens):
    _check(table, micro_batches, total_tokens)
    K = len(micro_batches)
    return _add(table, micro_batches, lambda _k, n: 1 / (max(1, n) * K))


@EXERCISE.rejects(
    "mean of means, right loss",
    "the gradient: a test that compares losses alone cannot see this one.",
)
def _(table, micro_batches, total_tokens):
    _check(table, micro_batches, total_tokens)
    K = len(micro_batches)
    gradient = _add(table, micro_batches, lambda _k, n: 1 / (max(1, n) * K))[1]
    return _with_right_loss(table, micro_batches, total_tokens, gradient)


@EXERCISE.rejects("no division", "the size of the gradient: directions alone do not tell.")
def _(table, micro_batches, total_tokens):
    _check(table, micro_batches, total_tokens)
    gradient = _add(table, micro_batches, lambda _k, _n: 1.0)[1]
    return _with_right_loss(table, micro_batches, total_tokens, gradient)


@EXERCISE.rejects("own counts", "the size of the gradient: the sum of means is too long.")
def _(table, micro_batches, total_tokens):
    _check(table, micro_batches, total_tokens)
    gradient = _add(table, micro_batches, lambda _k, n: 1 / max(1, n))[1]
    return _with_right_loss(table, micro_batches, total_tokens, gradient)


@EXERCISE.rejects("divided by K as well", "the size of the gradient when there are several micro-batches.")
def _(table, micro_batches, total_tokens):
    _check(table, micro_batches, total_tokens)
    K = len(micro_batches)
    gradient = _add(table, micro_batches, lambda _k, _n: 1 / (total_tokens * K))[1]
    return _with_right_loss(table, micro_batches, total_tokens, gradient)


@EXERCISE.rejects("last micro-batch only", "whether every micro-batch arrives.")
def _(table, micro_batches, total_tokens):
    _check(table, micro_batches, total_tokens)
    gradient = _right(table, micro_batches[-1:], total_tokens)[1]
    return _with_right_loss(table, micro_batches, total_tokens, gradient)


@EXERCISE.rejects("first micro-batch lost", "whether every micro-batch arrives, the first one too.")
def _(table, micro_batches, total_tokens):
    _check(table, micro_batches, total_tokens)
    gradient = _add(table, micro_batches, lambda k, _n: (k > 0) / total_tokens)[1]
    return _with_right_loss(table, micro_batches, total_tokens, gradient)


@EXERCISE.rejects("last micro-batch twice", "whether every micro-batch arrives once.")
def _(table, micro_batches, total_tokens):
    _check(table, micro_batches, total_tokens)
    last = len(micro_batches) - 1
    return _add(table, micro_batches, lambda k, _n: (2 if k == last else 1) / total_tokens)


@EXERCISE.rejects("clipped per micro-batch", "gradients that are large: try a table with large numbers.")
def _(table, micro_batches, total_tokens):
    _check(table, micro_batches, total_tokens)
    gradient = torch.zeros_like(table, dtype=torch.float64)
    for batch in micro_batches:
        gradient = gradient + _clipped(_part(table, batch)[1] / total_tokens, 0.1)
    return _with_right_loss(table, micro_batches, total_tokens, gradient.to(table.dtype))


@EXERCISE.rejects("clipped at the end", "gradients that are large: this function must not clip.")
def _(table, micro_batches, total_tokens):
    _check(table, micro_batches, total_tokens)
    loss, gradient = _right(table, micro_batches, total_tokens)
    return loss, _clipped(gradient, 0.1)


@EXERCISE.rejects("an empty micro-batch gives nan", "a micro-batch in which nothing counts.")
def _(table, micro_batches, total_tokens):
    _check(table, micro_batches, total_tokens)
    loss, gradient = _right(table, micro_batches, total_tokens)
    if any(not bool(keep.any()) for _, _, keep in micro_batches):
        return float("nan"), gradient * float("nan")
    return loss, gradient


@EXERCISE.rejects("empty micro-batches counted", "a micro-batch in which nothing counts.")
def _(table, micro_batches, total_tokens):
    _check(table, micro_batches, total_tokens)
    empty = sum(not bool(keep.any()) for _, _, keep in micro_batches)
    return _add(table, micro_batches, lambda _k, _n: 1 / (total_tokens + empty))


@EXERCISE.rejects("keep ignored", "targets that do not count: keep some out.")
def _(table, micro_batches, total_tokens):
    _check(table, micro_batches, total_tokens)
    everything = [(x, y, torch.ones_like(keep)) for x, y, keep in micro_batches]
    return _right(table, everything, total_tokens)


@EXERCISE.rejects("all places in the denominator", "targets that do not count, in the denominator.")
def _(table, micro_batches, total_tokens):
    _check(table, micro_batches, total_tokens)
    places = sum(keep.numel() for _, _, keep in micro_batches)
    return _add(table, micro_batches, lambda _k, _n: 1 / places)


@EXERCISE.rejects(
    "total counted again", "a total_tokens that is larger than what is here, as with several machines."
)
def _(table, micro_batches, total_tokens):
    _check(table, micro_batches, total_tokens)
    counted = max(1, sum(int(keep.sum()) for _, _, keep in micro_batches))
    return _add(table, micro_batches, lambda _k, _n: 1 / counted)


@EXERCISE.rejects("wrong loss, right gradient", "the loss that is returned.")
def _(table, micro_batches, total_tokens):
    _check(table, micro_batches, total_tokens)
    loss = _right(table, micro_batches[-1:], total_tokens)[0]
    return loss, _right(table, micro_batches, total_tokens)[1]


@EXERCISE.rejects("sign of the gradient", "the sign of the gradient: norms alone do not tell.")
def _(table, micro_batches, total_tokens):
    _check(table, micro_batches, total_tokens)
    loss, gradient = _right(table, micro_batches, total_tokens)
    return loss, -gradient


@EXERCISE.rejects("nothing at all", "whether there is a gradient.")
def _(table, micro_batches, total_tokens):
    return 0.0, torch.zeros_like(table)


def test_accumulation(accumulate) -> None:
    generator = torch.Generator().manual_seed(2)
    table = 3 * torch.randn(6, 6, generator=generator, dtype=torch.float64)
    micro_batches = []
    for shape, share in (((2, 5), 0.9), ((1, 7), 0.3), ((1, 3), 0.0), ((3, 4), 0.6)):
        inputs, targets = torch.randint(6, (2, *shape), generator=generator)
        micro_batches.append((inputs, targets, torch.rand(shape, generator=generator) < share))
    kept = sum(int(keep.sum()) for _, _, keep in micro_batches)
    for total_tokens in (kept, 3 * kept):
        for part in (micro_batches, micro_batches[:1]):
            leaf = table.clone().requires_grad_()
            nats = [F.cross_entropy(leaf[x[k]], y[k], reduction="sum") for x, y, k in part]
            loss = torch.stack(nats).sum() / total_tokens
            (wanted,) = torch.autograd.grad(loss, leaf)
            came, gradient = accumulate(table, part, total_tokens)
            assert abs(float(came) - loss.item()) < 1e-9, "the loss of the step"
            assert torch.allclose(gradient, wanted, rtol=1e-9, atol=1e-12), "the gradient of the step"


EXERCISE.set_reference(test_accumulation)
