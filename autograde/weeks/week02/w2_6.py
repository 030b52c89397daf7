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


# Tests that a student could hand in: good ones and blind ones.

V = 6
UNEVEN = ((2, 5, 0.9), (1, 7, 0.3), (1, 3, 0.0), (3, 4, 0.6))  # rows, T, share that counts


def _batches(shapes=UNEVEN, seed: int = 2) -> list[tuple[Tensor, Tensor, Tensor]]:
    generator = torch.Generator().manual_seed(seed)
    batches = []
    for rows, T, share in shapes:
        inputs, targets = torch.randint(V, (2, rows, T), generator=generator)
        batches.append((inputs, targets, torch.rand((rows, T), generator=generator) < share))
    return batches


def _table(scale: float = 3.0, seed: int = 5) -> Tensor:
    return scale * torch.randn(V, V, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def _kept(batches) -> int:
    return sum(int(keep.sum()) for _, _, keep in batches)


def _in_one_piece(table: Tensor, batches, total_tokens: int) -> tuple[float, Tensor]:
    leaf = table.clone().requires_grad_()
    nats = [F.cross_entropy(leaf[x[k]], y[k], reduction="sum") for x, y, k in batches]
    loss = torch.stack(nats).sum() / total_tokens
    (gradient,) = torch.autograd.grad(loss, leaf)
    return loss.item(), gradient


def _try(accumulate, batches, total_tokens=None, table=None, loss=True, gradient=True, exact=False) -> None:
    table = _table() if table is None else table
    total_tokens = _kept(batches) if total_tokens is None else total_tokens
    right_loss, right_gradient = _in_one_piece(table, batches, total_tokens)
    came_loss, came_gradient = accumulate(table.clone(), batches, total_tokens)
    if loss:
        assert abs(float(came_loss) - right_loss) <= (0 if exact else 1e-9 * abs(right_loss)), "the loss"
    if gradient:
        limit = 0 if exact else 1e-9 * float(right_gradient.abs().max())
        assert float((came_gradient - right_gradient).abs().max()) <= limit, "the gradient"


def test_accumulation(accumulate) -> None:
    batches = _batches()
    for total_tokens in (_kept(batches), 3 * _kept(batches)):
        for part in (batches, batches[:1]):
            _try(accumulate, part, total_tokens)


EXERCISE.set_reference(test_accumulation)


@EXERCISE.variant("by differences", "checks the gradient entry by entry with central differences of the loss")
def _(accumulate):
    batches, table, step = _batches(seed=8), _table(seed=9), 1e-5
    total = _kept(batches) + 7
    loss, gradient = accumulate(table.clone(), batches, total)
    assert abs(float(loss) - _in_one_piece(table, batches, total)[0]) < 1e-9
    for i in range(V):
        for j in range(V):
            moved = table.clone()
            moved[i, j] += step
            up = _in_one_piece(moved, batches, total)[0]
            moved[i, j] -= 2 * step
            down = _in_one_piece(moved, batches, total)[0]
            assert abs((up - down) / (2 * step) - float(gradient[i, j])) < 1e-6


@EXERCISE.variant(
    "parts against the whole", "one implementation, once on the parts and once on one big batch"
)
def _(accumulate):
    batches, total = _batches(seed=3), _kept(_batches(seed=3)) + 5
    flat = tuple(torch.cat([b[i].flatten() for b in batches])[None] for i in range(3))
    _try(accumulate, [flat], total)
    one = accumulate(_table(), [flat], total)
    many = accumulate(_table(), batches, total)
    assert abs(float(one[0]) - float(many[0])) < 1e-9
    assert torch.allclose(one[1], many[1], rtol=1e-9, atol=1e-12)


@EXERCISE.mutant("always passes", "Your test passes every implementation: nothing in it can fail.")
def _(accumulate):
    accumulate(_table(), _batches(), _kept(_batches()))


@EXERCISE.mutant("always fails", "Your test fails every implementation, also the right ones.")
def _(accumulate):
    raise AssertionError("no")


@EXERCISE.mutant("losses alone", "Your test compares losses alone; most mistakes are in the gradient.")
def _(accumulate):
    _try(accumulate, _batches(), _kept(_batches()) + 4, gradient=False)


@EXERCISE.mutant("gradients alone", "Your test never looks at the loss that is returned.")
def _(accumulate):
    batches = _batches()
    for total in (_kept(batches), 3 * _kept(batches)):
        _try(accumulate, batches, total, loss=False)


@EXERCISE.mutant(
    "equal counts", "Your test has equal counts in all micro-batches, where a mean of means is right."
)
def _(accumulate):
    batches = _batches(((2, 5, 1.0), (2, 5, 1.0), (2, 5, 1.0)))
    _try(accumulate, batches)
    _try(accumulate, batches, 3 * _kept(batches))


@EXERCISE.mutant("one micro-batch", "Your test has one micro-batch, so nothing is accumulated.")
def _(accumulate):
    _try(accumulate, _batches()[:1], 40)


@EXERCISE.mutant("no empty one", "Your test has no micro-batch in which nothing counts.")
def _(accumulate):
    batches = _batches(((2, 5, 0.9), (1, 7, 0.3)))
    _try(accumulate, batches)
    _try(accumulate, batches, 3 * _kept(batches))


@EXERCISE.mutant("total is what is here", "Your test has only a total_tokens that equals what is here.")
def _(accumulate):
    _try(accumulate, _batches())


@EXERCISE.mutant("tiny gradients", "Your test has such small gradients that clipping would not show.")
def _(accumulate):
    batches = _batches()
    for total in (1_000, 30_000):
        _try(accumulate, batches, total)


@EXERCISE.mutant("direction only", "Your test compares directions; a factor in the gradient stays unseen.")
def _(accumulate):
    batches = _batches()
    loss, gradient = accumulate(_table(), batches, _kept(batches) + 9)
    right = _in_one_piece(_table(), batches, _kept(batches) + 9)
    assert abs(float(loss) - right[0]) < 1e-9
    assert F.cosine_similarity(gradient.flatten(), right[1].flatten(), dim=0) > 0.999


@EXERCISE.mutant(
    "length only", "Your test compares lengths; a gradient of the other sign has the same length."
)
def _(accumulate):
    batches = _batches()
    for total in (_kept(batches), 3 * _kept(batches)):
        loss, gradient = accumulate(_table(), batches, total)
        right = _in_one_piece(_table(), batches, total)
        assert abs(float(loss) - right[0]) < 1e-9
        assert abs(float(gradient.norm() - right[1].norm())) < 1e-9


@EXERCISE.mutant(
    "to the last bit", "Your test asks for equality to the last bit, which right implementations miss."
)
def _(accumulate):
    _try(accumulate, _batches(), exact=True)


@EXERCISE.mutant(
    "a wrong oracle", "Your oracle is itself a mean of means: it rejects the right implementations."
)
def _(accumulate):
    batches = _batches(((2, 5, 0.9), (1, 7, 0.3)))
    means = [_in_one_piece(_table(), [b], _kept([b]))[1] for b in batches]
    _, gradient = accumulate(_table(), batches, _kept(batches))
    assert torch.allclose(gradient, torch.stack(means).mean(0), rtol=1e-6)
