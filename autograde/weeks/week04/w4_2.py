"""W4.2, AdamW: two corrected moments, eps outside the root, decay apart from the gradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from autograde import expect
from autograde.exercise import Answer, Draw, HiddenExercise

EXERCISE = HiddenExercise("W4.2")
HYPER = {"lr": 0.03, "betas": (0.9, 0.95), "eps": 1e-8, "weight_decay": 0.1}


def adamw_step(p: Tensor, g: Tensor, state: dict, *, lr, betas, eps, weight_decay) -> None:
    if not state:
        state.update(t=0, m=torch.zeros_like(p), v=torch.zeros_like(p))
    b1, b2 = betas
    state["t"] += 1
    state["m"].mul_(b1).add_(g, alpha=1 - b1)
    state["v"].mul_(b2).addcmul_(g, g, value=1 - b2)
    m = state["m"] / (1 - b1 ** state["t"])
    v = state["v"] / (1 - b2 ** state["t"])
    p.mul_(1 - lr * weight_decay)
    p.sub_(lr * m / (v.sqrt() + eps))


EXERCISE.set_reference(adamw_step)


@EXERCISE.variant("as torch folds it", "correction folded into the rate and the root")
def _(p, g, state, *, lr, betas, eps, weight_decay):
    t = state["step"] = state.get("step", 0) + 1
    m, v = state.get("avg", torch.zeros_like(p)), state.get("sq", torch.zeros_like(p))
    m, v = torch.lerp(g, m, betas[0]), betas[1] * v + (1 - betas[1]) * g**2
    state["avg"], state["sq"] = m, v
    p *= 1 - lr * weight_decay
    root = v.sqrt() / (1 - betas[1] ** t) ** 0.5 + eps
    p -= (lr / (1 - betas[0] ** t)) * m / root


@EXERCISE.variant("products of betas kept", "keeps the products of the betas instead of the step's number")
def _(p, g, state, *, lr, betas, eps, weight_decay):
    for i, power in ((0, 1), (1, 2)):
        state[i] = betas[i] * state.get(i, 0.0) + (1 - betas[i]) * g**power
        state[f"rest{i}"] = state.get(f"rest{i}", 1.0) * betas[i]
    update = state[0] / (1 - state["rest0"]) / ((state[1] / (1 - state["rest1"])).sqrt() + eps)
    p.copy_(p - lr * weight_decay * p - lr * update)


@EXERCISE.variant("torch's own optimizer", "asks torch.optim.AdamW, moments kept in state")
def _(p, g, state, *, lr, betas, eps, weight_decay):
    leaf = torch.nn.Parameter(p.detach().clone())
    leaf.grad = g.clone()
    optimizer = torch.optim.AdamW([leaf], lr=lr, betas=betas, eps=eps, weight_decay=weight_decay)
    if state:
        optimizer.state[leaf] = state
    optimizer.step()
    state.update(optimizer.state[leaf])
    p.copy_(leaf.detach())


# Mutants: one step with faults switched on one by one.

_SHARED = {"t": 0}


def _step(
    p,
    g,
    state,
    lr,
    betas,
    eps,
    weight_decay,
    *,
    correct_m=True,
    correct_v=True,
    count="own",
    back=0,
    inside=False,
    decay="apart",
    of="g",
    update="adam",
    keep=True,
    spoil=False,
    rebind=False,
):
    if decay == "l2":
        g = g + weight_decay * p
    if not state or count == "fresh":
        t = state.get("t", 0)
        state.update(t=t, m=torch.zeros_like(p), v=torch.zeros_like(p))
    b1, b2 = betas
    if count == "shared":
        _SHARED["t"] += 1
    state["t"] = {"own": state["t"] + 1, "stuck": 1, "shared": _SHARED["t"], "fresh": state["t"] + 1}[count]
    t = state["t"] - back
    m = b1 * state["m"] + (1 - b1) * g
    v = b2 * state["v"] + (1 - b2) * (m if of == "m" else g.abs() if of == "abs" else g) ** (
        1 if of == "abs" else 2
    )
    if keep:
        state["m"], state["v"] = m, v
    m_hat = m / (1 - b1**t) if correct_m else m
    v_hat = v / (1 - b2**t) if correct_v else v
    root = (v_hat + eps).sqrt() if inside else v_hat.sqrt() + eps
    step = {
        "adam": m_hat / root,
        "sign": m_hat.sign(),
        "first": m_hat,
        "square": m_hat / (v_hat + eps),
        "sgd": g / root,
    }[update]
    old = p.clone()
    if decay == "apart":
        old = old * (1 - lr * weight_decay)
    new = old - lr * step
    if decay == "no rate":
        new = new - weight_decay * p
    if decay == "grows":
        new = new + lr * weight_decay * p
    if decay == "after":
        new = new * (1 - lr * weight_decay)
    if decay == "in the step":
        new = old - lr * (step + weight_decay * p / root)
    if spoil:
        g.mul_(0)
    if not rebind:
        p.copy_(new)


FAULTS: dict[str, tuple[str, dict[str, Any]]] = {
    "no correction": (
        "Your moments are not corrected for their start at zero.",
        {"correct_m": False, "correct_v": False},
    ),
    "only m corrected": (
        "Your second moment is not corrected: the first steps are too long.",
        {"correct_v": False},
    ),
    "only v corrected": (
        "Your first moment is not corrected: the first steps are too short.",
        {"correct_m": False},
    ),
    "t stays 1": ("Your step number stays at 1, so the correction never fades.", {"count": "stuck"}),
    "t shared": (
        "Your step number is shared by all parameters; it belongs into each state.",
        {"count": "shared"},
    ),
    "t - 1": ("Your exponent is one too small: the first step has t = 1, and 1 - beta**0 is 0.", {"back": 1}),
    "eps inside the root": ("Your eps stands inside the root; it belongs behind it.", {"inside": True}),
    "coupled": (
        "Your decay goes through the gradient, as L2 does: then the division by sqrt(v) undoes it.",
        {"decay": "l2"},
    ),
    "coupled without moments": (
        "Your decay is divided by sqrt(v); it should not be.",
        {"decay": "in the step"},
    ),
    "decay without rate": ("Your decay lacks the factor lr.", {"decay": "no rate"}),
    "decay grows": ("Your decay has the wrong sign: weights grow.", {"decay": "grows"}),
    "decay after": (
        "Your decay shrinks the weight after the step, the step along with it; shrink it before.",
        {"decay": "after"},
    ),
    "no decay": ("Your weights do not decay.", {"decay": "none"}),
    "v of m": ("Your second moment is made of m; it is the mean of squared gradients.", {"of": "m"}),
    "v of absolute values": ("Your v is a mean of absolute values, not of squares.", {"of": "abs"}),
    "m alone": ("Your step divides by nothing: it is momentum.", {"update": "first"}),
    "g over root": (
        "Your step has the newest gradient above the line, not its running mean.",
        {"update": "sgd"},
    ),
    "no root": ("Your step divides by v, not by its root.", {"update": "square"}),
    "sign": (
        "Your step is the sign alone; its size should shrink where signs alternate.",
        {"update": "sign"},
    ),
    "moments not kept": ("Your moments are not kept in state from one step to the next.", {"keep": False}),
    "moments made anew": ("Your moments start at zero in each step.", {"count": "fresh"}),
    "gradient spoiled": ("Your function changes the gradient that it was given.", {"spoil": True}),
    "p bound anew": ("Your function makes a new p; the caller's tensor stays as it was.", {"rebind": True}),
}


def _with(faults: dict[str, Any]) -> Callable:
    def adamw_step(p, g, state, *, lr, betas, eps, weight_decay):
        _step(p, g, state, lr, betas, eps, weight_decay, **faults)

    return adamw_step


for _name, (_note, _faults) in FAULTS.items():
    EXERCISE.mutant(_name, _note)(_with(_faults))


@EXERCISE.mutant("betas swapped", "Your betas are swapped: the first is the memory of m.")
def _(p, g, state, *, lr, betas, eps, weight_decay):
    _step(p, g, state, lr, betas[::-1], eps, weight_decay)


@EXERCISE.mutant("betas fixed", "Your betas are fixed in the code; take those that are given.")
def _(p, g, state, *, lr, betas, eps, weight_decay):
    _step(p, g, state, lr, (0.9, 0.999), eps, weight_decay)


_OUTSIDE: dict[int, dict] = {}


@EXERCISE.mutant(
    "memory outside state", "Your moments stand outside of state, so they do not survive a checkpoint."
)
def _(p, g, state, *, lr, betas, eps, weight_decay):
    state["seen"] = True
    own = _OUTSIDE.setdefault(p.data_ptr(), {}) if state.get("t") else {}
    _OUTSIDE[p.data_ptr()] = own
    state["t"] = 1
    _step(p, g, own, lr, betas, eps, weight_decay)


@EXERCISE.property("the first step is lr long", 4)
def _(answer: Answer, draw: Draw) -> None:
    for size in (1e-6, 1e-3, 1.0, 1e3, 1e6):
        rng = draw.rng
        p = [torch.from_numpy(rng.normal(size=7))]
        g = [[torch.from_numpy(size * rng.choice([-1.0, 1.0], 7) * rng.uniform(0.5, 2, 7))]]
        _compare(answer, draw, p, g, {**HYPER, "eps": 1e-12, "weight_decay": 0.0}, f"gradients near {size:g}")


@EXERCISE.property("twelve steps", 5)
def _(answer: Answer, draw: Draw) -> None:
    for betas in ((0.9, 0.95), (0.0, 0.9), (0.8, 0.999)):
        p, g = _data(draw, ((4, 3),), 12)
        _compare(answer, draw, p, g, {**HYPER, "betas": betas, "weight_decay": 0.0}, f"betas {betas}")


@EXERCISE.property("eps", 2)
def _(answer: Answer, draw: Draw) -> None:
    for eps in (1e-3, 1e-1):
        p, g = _data(draw, ((6,),), 6)
        _compare(answer, draw, p, g, {**HYPER, "eps": eps, "weight_decay": 0.0}, f"eps {eps:g}")


@EXERCISE.property("decay", 3)
def _(answer: Answer, draw: Draw) -> None:
    p, g = _data(draw, ((3, 5),), 12)
    _compare(answer, draw, p, g, {**HYPER, "weight_decay": 0.5}, "decay 0.5")
    zeros = [[torch.zeros(3, 5, dtype=torch.float64)] for _ in range(3)]
    _compare(answer, draw, p, zeros, {**HYPER, "weight_decay": 0.5}, "gradients of 0, decay 0.5")


@EXERCISE.property("a state for each parameter", 3)
def _(answer: Answer, draw: Draw) -> None:
    p, g = _data(draw, ((5,), (2, 3), ()), 8)
    _compare(answer, draw, p, g, HYPER, "three parameters in turn")
    _compare(answer, draw, p, g, HYPER, "parameters and states copied after 4 steps", copy_after=4)


@EXERCISE.property("the gradient is left alone", 1)
def _(answer: Answer, draw: Draw) -> None:
    p, g = _data(draw, ((5,),), 3)
    came = _compare(answer, draw, p, g, HYPER, "three steps")
    if not came["gradients_kept"]:
        raise expect.wrong("your function changed the gradient g in place", expect.case(draw))


def _data(
    draw: Draw, shapes: tuple[tuple[int, ...], ...], steps: int
) -> tuple[list[Tensor], list[list[Tensor]]]:
    rng = draw.rng
    make = lambda shape, scale: torch.from_numpy(np.asarray(scale * rng.normal(size=shape)))  # noqa: E731
    return [make(s, 1.0) for s in shapes], [
        [make(s, 0.3 + step % 3) for s in shapes] for step in range(steps)
    ]


def _compare(
    answer: Answer, draw: Draw, parameters, gradients, hyper, words: str, copy_after: int = -1
) -> dict:
    came = answer.drive("week04.adamw_steps", parameters, gradients, hyper, copy_after)
    for which, p in enumerate(parameters):
        w, m, v = p.numpy().copy(), 0.0, 0.0
        b1, b2 = hyper["betas"]
        for step, now in enumerate(gradients):
            g = now[which].numpy()
            m, v = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g * g
            m_hat, v_hat = m / (1 - b1 ** (step + 1)), v / (1 - b2 ** (step + 1))
            w = w * (1 - hyper["lr"] * hyper["weight_decay"]) - hyper["lr"] * m_hat / (
                np.sqrt(v_hat) + hyper["eps"]
            )
            expect.close(
                came["weights"][step][which],
                torch.as_tensor(w),
                dtype=torch.float64,
                terms=100,
                what="the weight",
                case=expect.case(draw, words, step=step + 1),
                hint="Count t from 1; correct both moments; eps behind the root; decay before the step.",
            )
    return came
