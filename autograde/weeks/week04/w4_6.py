"""W4.6, write the test for Adam's first step: right and wrong ways to make it.

Implementations are plain: `step(p, g, state, *, lr, betas, eps, weight_decay) -> (p, state)`.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from autograde.exercise import HiddenExercise

EXERCISE = HiddenExercise("W4.6")


def _adam(
    p,
    g,
    state,
    lr,
    betas,
    eps,
    weight_decay,
    *,
    correct=(True, True),
    back=0,
    inside=False,
    decay="apart",
    of="g",
    update="adam",
    sign=-1,
):
    if (
        not isinstance(p, Tensor)
        or not isinstance(g, Tensor)
        or p.shape != g.shape
        or not p.is_floating_point()
    ):
        raise TypeError("p and g must be floating-point tensors of one shape")
    b1, b2 = betas
    state = dict(state or {"t": 0, "m": torch.zeros_like(p), "v": torch.zeros_like(p)})
    if decay == "l2":
        g = g + weight_decay * p
    state["t"] += 1
    t = state["t"] - back
    state["m"] = b1 * state["m"] + (1 - b1) * g
    state["v"] = b2 * state["v"] + (1 - b2) * (state["m"] if of == "m" else g) ** 2
    m = state["m"] / (1 - b1**t) if correct[0] else state["m"]
    v = state["v"] / (1 - b2**t) if correct[1] else state["v"]
    root = (v + eps).sqrt() if inside else v.sqrt() + eps
    step = {
        "adam": m / root,
        "square": m / (v + eps),
        "m": m,
        "norm": m / (m.norm() + eps),
        "abs": m.abs() / root,
        "nothing": 0 * m,
    }[update]
    shrink = 1 - lr * weight_decay if decay == "apart" else 1.0
    return shrink * p + sign * lr * step, state


def _accept(name: str, note: str, **how) -> None:
    def step(p, g, state, *, lr, betas, eps, weight_decay):
        return _adam(p, g, state, lr, betas, eps, weight_decay, **how)

    EXERCISE.accepts(name, note)(step)


def _reject(name: str, note: str, change: Callable[[dict], dict] = dict, **how) -> None:
    def step(p, g, state, *, lr, betas, eps, weight_decay):
        hyper = change({"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay})
        return _adam(p, g, state, **hyper, **how)

    EXERCISE.rejects(name, note)(step)


_accept("AdamW", "")
_accept("Adam", "with a weight decay, Adam's goes through the gradient; take 0, or weights of 0.", decay="l2")


@EXERCISE.accepts("correction folded into the rate", "eps may come before the correction: allow 1 %.")
def _(p, g, state, *, lr, betas, eps, weight_decay):
    _, state = _adam(p, g, state, lr, betas, eps, weight_decay)
    rate = lr * (1 - betas[1] ** state["t"]) ** 0.5 / (1 - betas[0] ** state["t"])
    return p * (1 - lr * weight_decay) - rate * state["m"] / (state["v"].sqrt() + eps), state


@EXERCISE.accepts("torch's own", "the state may hold whatever it likes, and come back as a list or a tuple.")
def _(p, g, state, *, lr, betas, eps, weight_decay):
    leaf = torch.nn.Parameter(p.clone())
    leaf.grad = g.clone()
    optimizer = torch.optim.AdamW(
        [leaf], lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, amsgrad=True
    )
    optimizer.step()
    return [leaf.detach(), {"moments": [optimizer.state[leaf]["exp_avg"]]}]


_reject("no correction", "the length of the first step.", correct=(False, False))
_reject("only m corrected", "whether the first step is too long.", correct=(True, False))
_reject("only v corrected", "whether the first step is too short.", correct=(False, True))
_reject("t starts at 0", "whether the first step is finite.", back=1)
_reject("eps inside the root", "gradients small enough that eps inside the root would show.", inside=True)
_reject("eps of 1e-3", "gradients small enough that a large eps would show.", lambda h: {**h, "eps": 1e-3})
_reject("rate ignored", "a rate other than 0.001.", lambda h: {**h, "lr": 1e-3})
_reject("rate squared", "more than one rate: try two of them.", lambda h: {**h, "lr": h["lr"] ** 2})
_reject("no root", "gradients of several sizes: with 1 alone, v and its root are the same.", update="square")
_reject("momentum", "gradients of several sizes: with 1 alone, the corrected m is as long.", update="m")
_reject("norm of the whole", "gradients with entries of different sizes in one tensor.", update="norm")
_reject("v of m", "the length of the first step.", of="m")
_reject("uphill", "the direction: lengths alone do not tell.", sign=1)
_reject("always down", "gradients of both signs.", update="abs")
_reject("does not move", "whether the weight moves at all.", update="nothing")


@EXERCISE.rejects("corrected for fixed betas", "other betas than 0.9 and 0.999.")
def _(p, g, state, *, lr, betas, eps, weight_decay):
    (b1, b2), _ = betas, _adam(p, g, state, lr, betas, eps, weight_decay)
    m, v = (1 - b1) * g / (1 - 0.9), (1 - b2) * g * g / (1 - 0.999)
    return p * (1 - lr * weight_decay) - lr * m / (v.sqrt() + eps), {"m": m, "v": v, "t": 1}


@EXERCISE.rejects("first entry only", "more than the first entry.")
def _(p, g, state, *, lr, betas, eps, weight_decay):
    new, state = _adam(p, g, state, lr, betas, eps, weight_decay)
    moved = p.clone()
    moved.view(-1)[:1] = new.view(-1)[:1]
    return moved, state


# Tests that a student could hand in.

G = torch.tensor([3e-4, -2e-3, 0.5, -40.0, 7e3], dtype=torch.float64)
P = torch.tensor([0.3, -1.0, 0.0, 2.0, -0.5], dtype=torch.float64)


def _try(
    step, g=G, p=P, rates=(0.02, 0.3), betas=((0.9, 0.95), (0.8, 0.999)), decay=0.0, rtol=0.01, length=False
):
    for lr in rates:
        for pair in betas:
            new, _ = step(p.clone(), g.clone(), {}, lr=lr, betas=pair, eps=1e-8, weight_decay=decay)
            moved, right = new - p, -lr * g.sign()
            if length:
                moved, right = moved.abs(), right.abs()
            assert bool((moved - right).abs().max() <= rtol * lr), "not lr long"


def test_bias_correction_makes_first_step_full_size(step) -> None:
    _try(step)


EXERCISE.set_reference(test_bias_correction_makes_first_step_full_size)


@EXERCISE.variant("one size at a time", "sizes in a loop, from weights of 0, with decay")
def _(step):
    for size in (2e-4, 3.0):
        _try(step, size * torch.tensor([[1.0, -2.0, 4.0]]).double(), torch.zeros(1, 3).double(), decay=0.1)


@EXERCISE.variant("against the formula", "the step of one entry, by hand, with random numbers")
def _(step):
    g = 10 ** (4 * torch.rand(9, generator=torch.Generator().manual_seed(3)).double() - 3.5)
    _try(
        step,
        g * torch.tensor([1.0, -1, 1] * 3).double(),
        torch.zeros(9).double(),
        rates=(0.5,),
        betas=((0.7, 0.9),),
    )


@EXERCISE.mutant("always passes", "Your test cannot fail.")
def _(step):
    step(P, G, {}, lr=0.1, betas=(0.9, 0.99), eps=1e-8, weight_decay=0.0)


@EXERCISE.mutant("always fails", "Your test fails every implementation.")
def _(step):
    raise AssertionError("no")


@EXERCISE.mutant("gradient of 1", "Your test has gradients of 1 alone, where scale and eps do not show.")
def _(step):
    _try(step, torch.tensor([1.0, -1.0]).double(), P[:2])


@EXERCISE.mutant("one rate", "Your test has the rate 0.001 alone.")
def _(step):
    _try(step, rates=(1e-3,))


@EXERCISE.mutant("usual betas", "Your test has the betas 0.9 and 0.999 alone.")
def _(step):
    _try(step, betas=((0.9, 0.999),))


@EXERCISE.mutant("lengths only", "Your test compares lengths; the direction can be wrong.")
def _(step):
    _try(step, length=True)


@EXERCISE.mutant("positive gradients", "Your test has positive gradients alone.")
def _(step):
    _try(step, G.abs())


@EXERCISE.mutant("one entry", "Your test has one entry, so a norm over the whole tensor does not show.")
def _(step):
    for g in (G[:1], -G[3:4]):
        _try(step, g, P[:1])


@EXERCISE.mutant("large gradients", "Your test has large gradients alone; eps does not show.")
def _(step):
    _try(step, 100 * G.sign() * (1 + G.abs().log().abs()))


@EXERCISE.mutant("too strict", "Your test asks for the last digit; eps takes a little.")
def _(step):
    _try(step, rtol=0.0)


@EXERCISE.mutant("decay expected", "Your test expects AdamW's decay, which Adam does not have.")
def _(step):
    new, _ = step(P, G, {}, lr=0.1, betas=(0.9, 0.95), eps=1e-8, weight_decay=0.1)
    assert bool((new - (0.99 * P - 0.1 * G.sign())).abs().max() < 1e-3)


@EXERCISE.mutant("a loose limit", "Your limit is so wide that an error of 10 % passes.")
def _(step):
    _try(step, rtol=0.5)
