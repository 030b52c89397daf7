"""Property rows of week 4: optimizer steps in place, groups, spectra, and what a test accepts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from lmcourse.checks.drivers import week04 as drivers
from lmcourse.checks.examined import ACCEPTED, verdict_of
from lmcourse.checks.rows import Names, Row, outcome, property_row

# W4.1


@property_row("W4.1", case="two steps", checks="gradients 1 and 1 from p = 1, rate 0.1, beta 0.9")
def _(names: Names) -> Row:
    came = drivers.momentum_steps(names, torch.ones(1), [torch.ones(1)] * 2, 0.1, 0.9)
    buffers, weights = ([round(float(x), 4) for x in came[what]] for what in ("buffers", "weights"))
    known = {
        (0.1, 0.19): "That is a running mean: g comes in without the factor 1 - beta.",
        (0.0, 0.0): "The caller's tensors are as before: change them in place, as with mul_ and add_.",
    }
    message = known.get(tuple(buffers), "First buf = beta * buf + g, then p = p - lr * buf.")
    yours = f"buf {buffers[0]:g}, {buffers[1]:g}\np {weights[0]:g}, {weights[1]:g}"
    ok = buffers == [1.0, 1.9] and weights == [0.9, 0.71]
    return outcome(yours, "buf 1, 1.9\np 0.9, 0.71", ok, message)


# W4.2


@property_row("W4.2", case="the first step", checks="gradients 0.001 and -50, rate 0.1, no decay")
def _(names: Names) -> Row:
    hyper = {"lr": 0.1, "betas": (0.9, 0.95), "eps": 1e-8, "weight_decay": 0.0}
    g = torch.tensor([1e-3, -50.0], dtype=torch.float64)
    came = drivers.adamw_steps(names, [torch.zeros(2, dtype=torch.float64)], [[g]], hyper)
    moved = came["weights"][0][0]
    yours = ", ".join(f"{x:.4f}" for x in moved.tolist())
    right = torch.tensor([-0.1, 0.1], dtype=torch.float64)
    message = "The first step is lr long, whatever the gradient: correct both moments for their start at 0."
    return outcome(yours, "-0.1000, 0.1000", torch.allclose(moved, right, rtol=1e-4), message)


@property_row("W4.2", case="gradient 0", checks="p = 2, rate 0.1, decay 0.5")
def _(names: Names) -> Row:
    hyper = {"lr": 0.1, "betas": (0.9, 0.95), "eps": 1e-8, "weight_decay": 0.5}
    p, g = torch.full((1,), 2.0, dtype=torch.float64), torch.zeros(1, dtype=torch.float64)
    value = float(drivers.adamw_steps(names, [p], [[g]], hyper)["weights"][0][0])
    message = "Decay multiplies the weight by 1 - lr * weight_decay, apart from the gradient."
    return outcome(f"{value:.4f}", "1.9000", abs(value - 1.9) < 1e-9, message)


# W4.3


@property_row("W4.3", case="a small model", checks="a norm, a linear layer with bias, an embedding")
def _(names: Names) -> Row:
    parameters = [("embed.weight", (9, 4), True), ("norm.weight", (4,), True), ("a.weight", (4, 4), True),
                  ("a.bias", (4,), True)]  # fmt: skip
    came = drivers.groups(names, parameters, [], 0.1)["groups"]
    decays = {name: float(group["weight_decay"]) for group in came for name in group["names"]}
    lines = [f"{name} {decays[name]:g}" if name in decays else f"{name} missing" for name, _, _ in parameters]
    right = ["embed.weight 0.1", "norm.weight 0", "a.weight 0.1", "a.bias 0"]
    return outcome("\n".join(lines), "\n".join(right), lines == right, "Two or more dimensions: decay.")


# W4.4


@property_row("W4.4", case="4 x 6, columns of very different size", checks="singular values after five steps")
def _(names: Names) -> Row:
    scales = torch.tensor([10.0, 3.0, 1.0, 0.3, 0.1, 0.03], dtype=torch.float64)
    generator = torch.Generator().manual_seed(4)
    G = torch.randn(4, 6, dtype=torch.float64, generator=generator) * scales
    X = names["newton_schulz"](G.clone())
    if not isinstance(X, Tensor) or X.shape != G.shape:
        raise AssertionError("return a tensor of the shape of G")
    values = torch.linalg.svdvals(X.double())
    yours = ", ".join(f"{v:.2f}" for v in values.tolist())
    ok = bool(((values > 0.66) & (values < 1.22)).all())
    return outcome(
        yours, "four values from 0.66 to 1.22", ok, "Divide by the Frobenius norm, then five steps."
    )


@property_row("W4.4", case="a zero matrix", checks="stays zero")
def _(names: Names) -> Row:
    X = names["newton_schulz"](torch.zeros(2, 3))
    ok = isinstance(X, Tensor) and not bool(X.isnan().any()) and not bool(X.any())
    return outcome("zero" if ok else str(X), "zero", ok, "0 / 0 is nan: guard the division.")


# W4.5


@property_row("W4.5", case="one step, 6 x 3", checks="singular values of the update over the rate")
def _(names: Names) -> Row:
    generator = torch.Generator().manual_seed(5)
    g = torch.randn(6, 3, dtype=torch.float64, generator=generator)
    hyper = {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.0, "split": 1}
    came = drivers.muon_steps(names, [torch.zeros(6, 3, dtype=torch.float64)], [[g]], hyper)
    values = torch.linalg.svdvals(came["weights"][0][0]) / 0.1
    right = torch.linalg.svdvals(drivers.newton_schulz(g)) * 2**0.5
    shown = [", ".join(f"{v:.2f}" for v in x.tolist()) for x in (values, right)]
    message = "The orthogonalized blend times sqrt(max(1, r / c)), times the rate."
    return outcome(shown[0], shown[1], torch.allclose(values, right, rtol=1e-3), message)


# W4.6


def _step(how: str) -> Callable[..., Any]:
    def step(
        p: Tensor, g: Tensor, state: dict, *, lr: float, betas: Any, eps: float, weight_decay: float
    ) -> Any:
        m, v = (1 - betas[0]) * g, (1 - betas[1]) * g * g
        if how != "not corrected":
            m, v = m / (1 - betas[0]), v / (1 - betas[1])
        return p - lr * m / (v.sqrt() + (1e-3 if how == "large eps" else eps)), {"m": m, "v": v}

    return step


FIRST_STEPS: Mapping[str, tuple[str, bool]] = {
    "right": ("both moments corrected", True),
    "not corrected": ("moments as they are", False),
    "large eps": ("eps of 0.001", False),
}


def _try(case: str) -> Callable[[Names], Row]:
    right = FIRST_STEPS[case][1]

    def judge(names: Names) -> Row:
        said = verdict_of(names["test_bias_correction_makes_first_step_full_size"], _step(case))
        message = "Allow 1 %." if right else "Several sizes of gradients, small ones too."
        return outcome(said, ACCEPTED if right else "rejected", (said == ACCEPTED) is right, message)

    return judge


for _case, (_checks, _) in FIRST_STEPS.items():
    property_row("W4.6", case=_case, checks=_checks)(_try(_case))


# W4.7 and W4.8


def _dictionary(names: Names, name: str) -> Mapping[str, Any]:
    given = names[name]
    if not isinstance(given, Mapping):
        raise AssertionError(f"{name} is {type(given).__name__}; it should be a dictionary")
    return given


@property_row("W4.7", case="race", checks="four names and a letter")
def _(names: Names) -> Row:
    given = _dictionary(names, "race")
    paths = [str(given.get(path)).lower() for path in ("P1", "P2", "P3", "P4")]
    ok = sorted(paths) == ["adam", "momentum", "muon", "sgd"] and str(given.get("claim")).lower() in "abcd"
    yours = "\n".join(f"{key} {value}" for key, value in given.items()) or "nothing"
    return outcome(
        yours, "each optimizer once, and a letter", ok, "The hidden test looks whether they are right."
    )


@property_row("W4.8", case="duel", checks="five numbers with the names of the contract")
def _(names: Names) -> Row:
    given = _dictionary(names, "duel")
    wanted = ["adamw_rate", "adamw_loss", "muon_rate", "muon_loss", "spread"]
    missing = [key for key in wanted if key not in given]
    yours = "\n".join(f"{key} {float(given[key]):.4g}" for key in wanted if key in given) or "nothing"
    message = f"Missing: {', '.join(missing)}." if missing else ""
    return outcome(yours, "a number for each", not missing, message)


@property_row("W4.8", case="verdict", checks="one of three words")
def _(names: Names) -> Row:
    word = names["verdict"]
    known = isinstance(word, str) and word.lower() in ("adamw", "muon", "undecided")
    return outcome(
        repr(word), '"adamw", "muon" or "undecided"', known, "The hidden test compares it with the numbers."
    )
