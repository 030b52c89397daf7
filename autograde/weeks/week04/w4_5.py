"""W4.5, Muon: momentum with look-ahead, orthogonalized, sized by shape, fused matrices taken apart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from autograde import expect
from autograde.exercise import Answer, Draw, HiddenExercise

EXERCISE = HiddenExercise("W4.5")
HYPER = {"lr": 0.05, "momentum": 0.9, "weight_decay": 0.0, "split": 1}


def muon_step(
    p: Tensor, g: Tensor, state: dict, orthogonalize: Callable, *, lr, momentum, weight_decay, split=1
) -> None:
    _step(p, g, state, orthogonalize, lr, momentum, weight_decay, split)


def _step(
    p,
    g,
    state,
    orthogonalize,
    lr,
    momentum,
    weight_decay,
    split,
    *,
    blend="nesterov",
    parts="rows",
    scale="shape",
    decay="apart",
    memory="mean",
    sign=-1,
    orthogonal="blend",
    rebind=False,
):
    if decay == "coupled":
        g = g + weight_decay * p
    old = state.get("m", torch.zeros_like(p))
    m = momentum * old + (1 - momentum) * g
    state["m"] = old if memory == "none" else m
    look = {"nesterov": (1 - momentum) * g + momentum * m, "plain": m, "raw": g, "half": g + m}[blend]
    if parts == "columns":
        pieces, dim = look.chunk(split, dim=1), 1
    else:
        pieces, dim = look.chunk(1 if parts == "whole" else split, dim=0), 0
    done = []
    for piece in pieces:
        r, c = piece.shape if scale != "whole shape" else p.shape
        factor = {
            "shape": max(1, r / c) ** 0.5,
            "whole shape": max(1, r / c) ** 0.5,
            "one": 1.0,
            "inverted": max(1, c / r) ** 0.5,
            "no root": max(1, r / c),
            "no floor": (r / c) ** 0.5,
        }[scale]
        done.append(factor * (orthogonalize(piece) if orthogonal == "blend" else piece))
    update = torch.cat(done, dim=dim)
    shrink = {"apart": 1 - lr * weight_decay, "no rate": 1 - weight_decay}.get(decay, 1.0)
    new = shrink * p + sign * lr * update
    if not rebind:
        p.copy_(new)


EXERCISE.set_reference(muon_step)


@EXERCISE.variant("running sum", "momentum as a sum instead of a mean: orthogonalizing forgets the factor")
def _(p, g, state, orthogonalize, *, lr, momentum, weight_decay, split=1):
    state["buf"] = momentum * state.get("buf", 0.0) + g
    look = g + momentum * state["buf"]
    p *= 1 - lr * weight_decay
    rows = p.shape[0] // split
    for k in range(split):
        here = slice(k * rows, (k + 1) * rows)
        p[here] -= lr * max(1.0, rows / p.shape[1]) ** 0.5 * orthogonalize(look[here])


@EXERCISE.variant("stacked", "the parts of a fused matrix as one batch, in place")
def _(p, g, state, orthogonalize, *, lr, momentum, weight_decay, split=1):
    m = state.setdefault("momentum_buffer", torch.zeros_like(p)).lerp_(g, 1 - momentum)
    look = g.lerp(m, momentum).view(split, -1, p.shape[1])
    scale = max(1.0, look.shape[1] / look.shape[2]) ** 0.5
    p.mul_(1 - lr * weight_decay).sub_(lr * scale * orthogonalize(look).reshape(p.shape))


FAULTS: dict[str, tuple[str, dict[str, Any]]] = {
    "no look-ahead": (
        "Your step orthogonalizes the running mean itself; blend the newest gradient in once more.",
        {"blend": "plain"},
    ),
    "no momentum": ("Your step orthogonalizes the newest gradient; momentum comes first.", {"blend": "raw"}),
    "blend of halves": (
        "Your blend adds g and m in equal parts; m is weighted by momentum, g by 1 - momentum.",
        {"blend": "half"},
    ),
    "momentum not kept": ("Your momentum is not kept in state.", {"memory": "none"}),
    "not split": (
        "Your fused matrix is orthogonalized as one; the largest part then sets the size of all.",
        {"parts": "whole"},
    ),
    "split by columns": (
        "Your fused matrix is split by columns; the parts stand one below the other.",
        {"parts": "columns"},
    ),
    "scale of the whole": (
        "Your scale comes from the shape of the whole fused matrix, not of its parts.",
        {"scale": "whole shape"},
    ),
    "scale 1": ("Your scale is always 1; tall matrices get sqrt(r / c).", {"scale": "one"}),
    "scale inverted": ("Your scale has rows and columns exchanged.", {"scale": "inverted"}),
    "scale without root": ("Your scale lacks the square root.", {"scale": "no root"}),
    "scale without floor": (
        "Your scale is below 1 for wide matrices; it is max(1, r / c).",
        {"scale": "no floor"},
    ),
    "decay coupled": ("Your decay goes through the gradient.", {"decay": "coupled"}),
    "decay without rate": ("Your decay lacks the factor lr.", {"decay": "no rate"}),
    "no decay": ("Your weights do not decay.", {"decay": "none"}),
    "uphill": ("Your step goes uphill.", {"sign": 1}),
    "not orthogonalized": ("Your update is not orthogonalized.", {"orthogonal": "no"}),
    "p bound anew": ("Your function makes a new p; the caller's tensor stays as it was.", {"rebind": True}),
}


def _with(faults: dict[str, Any]) -> Callable:
    def muon_step(p, g, state, orthogonalize, *, lr, momentum, weight_decay, split=1):
        _step(p, g, state, orthogonalize, lr, momentum, weight_decay, split, **faults)

    return muon_step


for _name, (_note, _faults) in FAULTS.items():
    EXERCISE.mutant(_name, _note)(_with(_faults))


@EXERCISE.mutant(
    "orthogonalized gradients averaged", "Your momentum averages orthogonalized gradients; average first."
)
def _(p, g, state, orthogonalize, *, lr, momentum, weight_decay, split=1):
    pieces = torch.cat([orthogonalize(piece) for piece in g.chunk(split)])
    m = state["m"] = momentum * state.get("m", torch.zeros_like(p)) + (1 - momentum) * pieces
    rows = p.shape[0] / split
    look = (1 - momentum) * pieces + momentum * m
    p.copy_((1 - lr * weight_decay) * p - lr * max(1, rows / p.shape[1]) ** 0.5 * look)


@EXERCISE.mutant("gradient changed", "Your function changes the gradient that it was given.")
def _(p, g, state, orthogonalize, *, lr, momentum, weight_decay, split=1):
    _step(p, g, state, orthogonalize, lr, momentum, weight_decay, split)
    g.lerp_(state["m"], momentum)


@EXERCISE.property("look-ahead, over six steps", 4)
def _(answer: Answer, draw: Draw) -> None:
    _compare(answer, draw, (4, 7), {}, "4 x 7")
    _compare(answer, draw, (5, 5), {"momentum": 0.6}, "momentum 0.6")


@EXERCISE.property("the size by shape", 3)
def _(answer: Answer, draw: Draw) -> None:
    _compare(answer, draw, (9, 3), {}, "tall")
    _compare(answer, draw, (3, 11), {}, "wide")


@EXERCISE.property("fused matrices", 2)
def _(answer: Answer, draw: Draw) -> None:
    _compare(answer, draw, (12, 6), {"split": 3}, "three of 4 x 6 in one")
    _compare(answer, draw, (12, 3), {"split": 2}, "two of 6 x 3 in one")


@EXERCISE.property("decay apart from the gradient", 2)
def _(answer: Answer, draw: Draw) -> None:
    _compare(answer, draw, (8, 4), {"weight_decay": 0.4}, "decay 0.4")


@EXERCISE.property("memory in state, gradient left alone", 1)
def _(answer: Answer, draw: Draw) -> None:
    came = _compare(answer, draw, (4, 5), {}, "copied after 3 steps", copy_after=3)
    if not came["gradients_kept"]:
        raise expect.wrong("your function changed the gradient g in place", expect.case(draw))


def _orthogonal(G: Tensor) -> Tensor:
    tall = G.shape[0] > G.shape[1]
    X = G.mT if tall else G
    X = X / X.norm()
    for _ in range(5):
        A = X @ X.mT
        X = 3.4445 * X + (-4.7750 * A + 2.0315 * (A @ A)) @ X
    return X.mT if tall else X


def _compare(
    answer: Answer, draw: Draw, shape: tuple[int, int], other: dict, words: str, copy_after: int = -1
) -> dict:
    hyper, rng = {**HYPER, **other}, draw.rng
    split, beta = hyper["split"], hyper["momentum"]
    size = torch.arange(1, split + 1, dtype=torch.float64).repeat_interleave(shape[0] // split)[:, None] ** 3
    w = torch.from_numpy(rng.normal(size=shape))
    gradients = [[size * torch.from_numpy(rng.normal(size=shape))] for _ in range(6)]
    came = answer.drive("week04.muon_steps", [w], gradients, hyper, copy_after)
    m = torch.zeros_like(w)
    rows = shape[0] // split
    for step, (g,) in enumerate(gradients):
        m = beta * m + (1 - beta) * g
        look = (1 - beta) * g + beta * m
        update = torch.cat([_orthogonal(part) for part in look.split(rows)]) * max(1, rows / shape[1]) ** 0.5
        w = (1 - hyper["lr"] * hyper["weight_decay"]) * w - hyper["lr"] * update
        close = (
            expect.tolerance(torch.float64, 1) * 1e4
        )  # the iteration magnifies the rounding of small directions
        gap = (expect.shape(came["weights"][step][0], shape, what="the weight") - w).abs().max().item()
        if not gap <= close * w.abs().max().item():
            hint = "Mean of gradients, look-ahead, orthogonalize each part, size by its shape, decay apart."
            raise expect.wrong(
                f"the weight is off by {gap:.2g}", expect.case(draw, words, step=step + 1), hint
            )
    return came
