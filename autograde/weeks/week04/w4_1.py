"""W4.1, momentum: a running sum of gradients, in place."""

from __future__ import annotations

import torch
from torch import Tensor

from autograde import expect
from autograde.exercise import Answer, Draw, HiddenExercise

EXERCISE = HiddenExercise("W4.1")


def momentum_step(p: Tensor, g: Tensor, buf: Tensor, lr: float, beta: float) -> None:
    buf.mul_(beta).add_(g)
    p.sub_(lr * buf)


EXERCISE.set_reference(momentum_step)


@EXERCISE.variant("copies over", "computes new tensors and copies them into the old ones")
def _(p, g, buf, lr, beta):
    buf.copy_(beta * buf + g)
    p.copy_(p - lr * buf)


@EXERCISE.variant("augmented assignment", "the in-place operators of Python")
def _(p, g, buf, lr, beta):
    buf *= beta
    buf += g
    p -= lr * buf


@EXERCISE.mutant(
    "running mean", "Your buffer is a running mean, with 1 - beta before g; asked for is beta * buf + g."
)
def _(p, g, buf, lr, beta):
    buf.mul_(beta).add_((1 - beta) * g)
    p.sub_(lr * buf)


@EXERCISE.mutant("uphill", "Your step goes uphill: subtract lr * buf.")
def _(p, g, buf, lr, beta):
    buf.mul_(beta).add_(g)
    p.add_(lr * buf)


@EXERCISE.mutant("old buffer", "Your step uses the buffer from before this gradient came in.")
def _(p, g, buf, lr, beta):
    p.sub_(lr * buf)
    buf.mul_(beta).add_(g)


@EXERCISE.mutant(
    "names bound anew",
    "Your function binds new tensors to its names; the caller's p and buf stay as they were.",
)
def _(p, g, buf, lr, beta):
    buf = beta * buf + g
    p = p - lr * buf


@EXERCISE.mutant(
    "buffer not kept", "Your buffer is bound to a new tensor, so the next step finds the old one."
)
def _(p, g, buf, lr, beta):
    buf = beta * buf + g
    p.sub_(lr * buf)


@EXERCISE.mutant("no memory", "Your step is plain SGD: the buffer forgets everything.")
def _(p, g, buf, lr, beta):
    buf.copy_(g)
    p.sub_(lr * buf)


@EXERCISE.mutant("rate in the buffer", "Your buffer holds lr * g; it should hold gradients.")
def _(p, g, buf, lr, beta):
    buf.mul_(beta).add_(lr * g)
    p.sub_(buf)


@EXERCISE.mutant("look-ahead", "Your step looks ahead (Nesterov); asked for is plain momentum.")
def _(p, g, buf, lr, beta):
    buf.mul_(beta).add_(g)
    p.sub_(lr * (g + beta * buf))


@EXERCISE.mutant("buffer counted twice", "Your buffer is kept without the factor beta.")
def _(p, g, buf, lr, beta):
    buf.add_(g)
    p.sub_(lr * buf)


@EXERCISE.mutant("gradient changed", "Your function changes the gradient that it was given.")
def _(p, g, buf, lr, beta):
    g.add_(beta * buf)
    buf.copy_(g)
    p.sub_(lr * buf)


@EXERCISE.property("weights of twenty steps", 3)
def _(answer: Answer, draw: Draw) -> None:
    _compare(answer, draw, "weights")


@EXERCISE.property("the buffer", 2)
def _(answer: Answer, draw: Draw) -> None:
    _compare(answer, draw, "buffers")


@EXERCISE.property("the gradient is left alone", 1)
def _(answer: Answer, draw: Draw) -> None:
    came = _compare(answer, draw, "weights")
    if not came["gradients_kept"]:
        raise expect.wrong("your function changed the gradient g in place", expect.case(draw, "twenty steps"))


def _compare(answer: Answer, draw: Draw, what: str) -> dict:
    rng = draw.rng
    for shape, beta in (((), 0.5), ((5,), 0.9), ((3, 4), 0.95)):
        p = torch.as_tensor(rng.normal(size=shape), dtype=torch.float64)
        gradients = [torch.as_tensor(rng.normal(size=shape) + 0.3, dtype=torch.float64) for _ in range(20)]
        came = answer.drive("week04.momentum_steps", p.clone(), gradients, 0.07, beta)
        buf, w = torch.zeros_like(p), p.clone()
        for step, g in enumerate(gradients):
            buf = beta * buf + g
            w = w - 0.07 * buf
            right = {"weights": w, "buffers": buf}[what]
            case = expect.case(draw, shape=tuple(shape), beta=beta, step=step + 1)
            expect.close(
                came[what][step],
                right,
                dtype=torch.float64,
                terms=20,
                what=f"the {what[:-1]}",
                case=case,
                hint="First buf = beta * buf + g, then p = p - lr * buf, both in place.",
            )
    return came
