"""Property rows and pictures of week 2: gradients, memory, the order of a step, and what a test accepts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from lmcourse.checks.drivers import week02 as drivers
from lmcourse.checks.examined import ACCEPTED, verdict_of
from lmcourse.checks.rows import Names, Row, outcome, property_row

# W2.1


def _number(names: Names, name: str, right: float, hint: str) -> Row:
    given = names[name]
    if isinstance(given, str):
        raise AssertionError(f"{name} is the text {given!r}; give the number itself")
    value = float(given)
    return outcome(f"{value:g}", "a number that you can check by hand", abs(value - right) < 1e-6, hint)


@property_row("W2.1", case="token_mean", checks="2 tokens at 4 nats, 8 tokens at 1 nat")
def _(names: Names) -> Row:
    return _number(names, "token_mean", 1.6, "Add up the ten losses, and divide by ten.")


@property_row("W2.1", case="example_mean", checks="first inside each example, then over the two")
def _(names: Names) -> Row:
    return _number(names, "example_mean", 2.5, "A has the mean 4, B the mean 1; take the mean of these two.")


@property_row("W2.1", case="weight_ratio", checks="a token of A against a token of B, in the example mean")
def _(names: Names) -> Row:
    hint = "Each example has the same share; A spreads it over 2 tokens, B over 8."
    return _number(names, "weight_ratio", 4.0, hint)


# W2.2 and W2.3


def _gradient(names: Names, name: str) -> tuple[Any, Tensor]:
    logits = torch.tensor([[[0.0, 2.0], [1.0, 0.0], [0.5, 0.5]], [[3.0, 0.0], [0.0, 0.0], [0.0, 1.0]]])
    targets = torch.tensor([[1, 0, -100], [-100, 1, -100]])
    mask = targets >= 0
    _, gradient = drivers.loss_and_gradient(names, name, logits, targets, mask)
    if gradient is None:
        raise AssertionError("the loss has no gradient: return a tensor that depends on the logits")
    return gradient, mask


@property_row(
    "W2.2", case="gradient, some targets are -100", checks="nothing reaches a place that does not count"
)
def _(names: Names) -> Row:
    gradient, mask = _gradient(names, "masked_cross_entropy")
    outside = float(gradient[~mask].abs().max())
    inside = float(gradient[mask].abs().max())
    yours = f"counted: up to {inside:.2g}\nnot counted: up to {outside:.2g}"
    ok = outside == 0 and inside > 0
    return outcome(
        yours, "counted: not 0\nnot counted: exactly 0", ok, "Set their losses to 0 before the sum."
    )


@property_row("W2.2", case="nothing counts", checks="loss 0, gradient 0, no nan")
def _(names: Names) -> Row:
    logits, targets = torch.tensor([[[1.0, 2.0]]]), torch.tensor([[-100]])
    mask = torch.zeros(1, 1, dtype=torch.bool)
    loss, gradient = drivers.loss_and_gradient(names, "masked_cross_entropy", logits, targets, mask)
    largest = None if gradient is None else float(gradient.abs().max())
    yours = f"loss {float(loss):g}, gradient {'none' if largest is None else f'{largest:g}'}"
    return outcome(
        yours, "loss 0, gradient 0", float(loss) == 0 and largest == 0, "0 / 0 is nan: divide by at least 1."
    )


@property_row("W2.3", case="gives_two_and_a_half", checks="one of the two phrases of the contract")
def _(names: Names) -> Row:
    word = names["gives_two_and_a_half"]
    known = word in ("token mean", "example mean")
    return outcome(
        repr(word),
        '"token mean" or "example mean"',
        known,
        "The hidden test looks whether it is the right one.",
    )


# W2.4


def _weights() -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(11)
    return (
        torch.randn(6, 4, dtype=torch.float64, generator=generator),
        torch.randn(4, 6, dtype=torch.float64, generator=generator),
    )


def _micro_batches() -> list[drivers.Rows]:
    """2 and 8 tokens that count."""
    generator = torch.Generator().manual_seed(12)
    rows = []
    for kept in (2, 8):
        inputs, targets = torch.randint(6, (2, 2, 5), generator=generator)
        rows.append((inputs, targets, (torch.arange(10) < kept).view(2, 5)))
    return rows


def _whole(weights: tuple[Tensor, Tensor], micro: list[drivers.Rows]) -> tuple[float, list[Tensor]]:
    """Loss and gradients of everything in one piece."""
    leaves = [w.clone().requires_grad_() for w in weights]
    model = lambda tokens: torch.tanh(leaves[0][tokens]) @ leaves[1]  # noqa: E731 - as short as the formula
    nats = [F.cross_entropy(model(x)[keep], y[keep], reduction="sum") for x, y, keep in micro]
    loss = torch.stack(nats).sum() / sum(int(keep.sum()) for _, _, keep in micro)
    return loss.item(), list(torch.autograd.grad(loss, leaves))


@property_row("W2.4", case="2 and 8 tokens", checks="the gradient of one piece, parameter by parameter")
def _(names: Names) -> Row:
    weights, micro = _weights(), _micro_batches()
    came = drivers.accumulate(names, weights, micro, 10)
    _, right = _whole(weights, micro)
    lines, ok = [], True
    for name, got, wanted in zip(("embedding", "head"), came["gradients"], right, strict=True):
        if got is None:
            raise AssertionError(f"the {name} has no gradient: does every micro-batch go backward?")
        gap = float((got - wanted).norm() / wanted.norm())
        ok &= gap < 1e-10
        lines.append(f"{name}: off by {gap:.1e} of its length")
    return outcome(
        "\n".join(lines), "off by less than 1e-10", ok, "" if ok else _about_gradient(came, right, weights)
    )


def _about_gradient(came: dict, right: list[Tensor], weights: tuple[Tensor, Tensor]) -> str:
    """Which known slip gives this gradient."""
    micro = _micro_batches()
    parts = [_whole(weights, [rows])[1] for rows in micro]  # each with its own mean
    known = {
        "It is the mean of the two micro-batches' means (2.5 instead of 1.6 in the example): divide each "
        "sum by "
        "total_tokens.": [(a + b) / 2 for a, b in zip(*parts, strict=True)],
        "It is the sum of the two micro-batches' means: divide each sum by total_tokens.": [
            a + b for a, b in zip(*parts, strict=True)
        ],
        "It is the gradient of the bare sum: divide by total_tokens.": [10 * g for g in right],
        "It is that of the last micro-batch alone: are gradients cleared inside the loop?": [
            0.8 * g for g in parts[1]
        ],
        "It is divided by the number of micro-batches once too often.": [g / 2 for g in right],
    }
    for message, gradients in known.items():
        if all(torch.allclose(g, k, rtol=1e-9) for g, k in zip(came["gradients"], gradients, strict=True)):
            return message
    return "Each kept token of the step has the weight 1 / total_tokens."


@property_row("W2.4", case="the loss that is returned", checks="what the parts add up to")
def _(names: Names) -> Row:
    weights, micro = _weights(), _micro_batches()
    loss = drivers.accumulate(names, weights, micro, 10)["loss"]
    if loss is None:
        raise AssertionError("the function returns nothing: return the loss of the step")
    right = _whole(weights, micro)[0]
    return outcome(f"{float(loss):.6f}", f"{right:.6f}", abs(float(loss) - right) < 1e-9, "Add up the parts.")


@property_row("W2.4", case="five micro-batches", checks="one of them in memory at a time")
def _(names: Names) -> Row:
    came = drivers.accumulate(names, _weights(), _micro_batches() * 2 + _micro_batches()[:1], 22)
    ok = came["alive"] <= 1 and not came["graphs_kept"]
    yours = f"{max(came['alive'], came['graphs_kept'])} kept"
    message = "Call backward() inside the loop, for each micro-batch, without retain_graph."
    return outcome(yours, "at most 1", ok, message)


# W2.5


@property_row("W2.5", case="three micro-batches, clip 1", checks="what happens, in order")
def _(names: Names) -> Row:
    micro = [*_micro_batches(), _micro_batches()[1]]
    events = drivers.train_steps(names, _weights(), [(micro, 0.5)], 1.0)["events"][0]
    told = [event.split(" norm")[0] for event in events]
    while told and told[0] == "zero_grad":  # clearing before the first backward is harmless
        told = told[1:]
    right = ["backward"] * 3 + ["step lr=0.5"]
    ok = told[:4] == right and all(event == "zero_grad" for event in told[4:])
    message = "One step, after all backward passes, at the rate that was given."
    return outcome("\n".join(told), "\n".join([*right, "zero_grad"]), ok, message)


@property_row("W2.5", case="a gradient longer than the limit", checks="its length when the optimizer moves")
def _(names: Names) -> Row:
    events = drivers.train_steps(names, _weights(), [(_micro_batches(), 0.1)], 0.01)["events"][0]
    norms = [event.partition("norm=")[2] for event in events if event.startswith("step")]
    ok = len(norms) == 1 and abs(float(norms[0]) - 0.01) < 1e-4
    return outcome(
        "\n".join(norms) or "no step", "0.01", ok, "Clip once, after the last backward, before the step."
    )


@property_row("W2.5", case="after the step", checks="no gradients are left")
def _(names: Names) -> Row:
    left = drivers.train_steps(names, _weights(), [(_micro_batches(), 0.1)], 1.0)["left"]
    clean = all(gradient is None or not bool(gradient.any()) for gradient in left)
    return outcome("none" if clean else "some", "none", clean, "The next step would add to them.")


# W2.6


def _table_accumulate(weight: Callable[[int, int, int], float]) -> Callable:
    """An implementation for the table of W2.6; `weight(total_tokens, own tokens, K)` of one token."""

    def accumulate(table: Tensor, micro_batches: Any, total_tokens: int) -> tuple[float, Tensor]:
        loss, gradient = 0.0, torch.zeros_like(table)
        for inputs, targets, keep in micro_batches:
            scale = weight(total_tokens, int(keep.sum()), len(micro_batches))
            x, y = inputs[keep], targets[keep]
            logits = table[x]
            loss += scale * float(F.cross_entropy(logits, y, reduction="sum"))
            gradient.index_add_(0, x, scale * (logits.softmax(-1) - F.one_hot(y, table.shape[1])))
        return loss, gradient

    return accumulate


TABLE_CASES: Mapping[str, tuple[str, Callable, bool]] = {
    "a right one": ("each sum divided by total_tokens", lambda total, own, K: 1 / total, True),
    "a mean of means": ("each micro-batch divided by its own count and by K",
                        lambda total, own, K: 1 / (max(1, own) * K), False),
    "no division": ("bare sums", lambda total, own, K: 1.0, False),
}  # fmt: skip


def _try(case: str) -> Callable[[Names], Row]:
    _, weight, right = TABLE_CASES[case]

    def judge(names: Names) -> Row:
        said = verdict_of(names["test_accumulation"], _table_accumulate(weight))
        ok = (said == ACCEPTED) is right
        message = (
            "A right implementation agrees to 1e-9, not to the last bit."
            if right
            else "Compare gradients, uneven."
        )
        return outcome(said, ACCEPTED if right else "rejected", ok, message)

    return judge


for _case, (_checks, _, _) in TABLE_CASES.items():
    property_row("W2.6", case=_case, checks=_checks)(_try(_case))


# W2.7


@property_row("W2.7", case="1 and 9 tokens, sums 2 and 90", checks="the average of what the ranks hand over")
def _(names: Names) -> Row:
    handed = names["rank_gradients"]([torch.tensor([2.0]), torch.tensor([90.0])], [1, 9], 2)
    if not isinstance(handed, list | tuple) or len(handed) != 2:
        raise AssertionError("return a list with one tensor for each rank")
    average = float(np.mean([float(g) for g in handed]))
    message = {6.0: "Each rank divided by its own count.", 4.6: "The average divides by world as well."}
    return outcome(f"{average:g}", "9.2", abs(average - 9.2) < 1e-5, message.get(round(average, 3), ""))


# W2.8


@property_row("W2.8", case="forgot", checks="eight numbers with the names of the contract")
def _(names: Names) -> Row:
    given = names["forgot"]
    if not isinstance(given, Mapping):
        raise AssertionError(f"forgot is {type(given).__name__}; it should be a dictionary")
    wanted = [f"{s}_{n}" for s in ("sgd", "adamw", "adamw_clip") for n in ("right", "forgot")]
    wanted += ["clipped_right", "clipped_forgot"]
    missing = [key for key in wanted if key not in given]
    yours = "\n".join(f"{key} {float(given[key]):.3f}" for key in wanted if key in given) or "nothing"
    message = f"Missing: {', '.join(missing)}." if missing else ""
    return outcome(yours, "a number for each", not missing, message)


@property_row("W2.8", case="shows_it", checks="the name of one setup")
def _(names: Names) -> Row:
    word = names["shows_it"]
    known = word in ("sgd", "adamw", "adamw_clip")
    return outcome(
        repr(word), '"sgd", "adamw" or "adamw_clip"', known, "The hidden test compares it with your numbers."
    )
