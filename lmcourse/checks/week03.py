"""Property rows of week 3: numbers of a format, masters, scalers, types of a step."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from lmcourse.checks.drivers import week03 as drivers
from lmcourse.checks.rows import Names, Row, outcome, property_row

# W3.1


def _number_row(name: str, checks: str, fits: Callable[[float], bool], wanted: str, hint: str) -> None:
    @property_row("W3.1", case=name, checks=checks)
    def _(names: Names) -> Row:
        value = float(names[name])
        return outcome(f"{value:.6g}", wanted, fits(value), hint)


def _added(value: float) -> float:
    return float((torch.tensor(1.0, dtype=torch.float64) + value).bfloat16())


_number_row("largest_absorbed", "1 + your number, in bfloat16", lambda u: u > 0 and _added(u) == 1.0,
            "1 + it rounds to 1", "This update moves the weight; an absorbed one does not.")  # fmt: skip
_number_row("fp16_largest", "your number, in float16", lambda x: bool(torch.tensor(x).half().isfinite()),
            "it is finite", "In float16 this is infinite.")  # fmt: skip
_number_row("fp16_smallest", "your number, in float16", lambda x: float(torch.tensor(x).half()) > 0,
            "it is above zero", "In float16 this is zero.")  # fmt: skip
_number_row("counter_stops", "your number plus 1, in bfloat16",
            lambda n: float((torch.tensor(n).bfloat16() + 1).bfloat16()) == n, "it stays where it is",
            "Adding 1 still moves it.")  # fmt: skip

# W3.3


@property_row("W3.3", case="1.001, rounded 20,000 times", checks="right in the mean")
def _(names: Names) -> Row:
    x = torch.full((20_000,), 1.001)
    came = names["stochastic_round_bf16"](x, torch.Generator().manual_seed(4))
    share = float((came > 1.004).float().mean())
    values = sorted({round(float(v), 7) for v in came[:2_000]})
    yours = f"up in {share:.1%}, values {', '.join(f'{v:g}' for v in values[:3])}"
    ok = abs(share - 0.128) < 0.012 and set(values) <= {1.0, 1.0078125}
    message = "1.001 lies at 12.8 % of the way from 1 to 1.0078125."
    return outcome(yours, "up in about 12.8%, values 1, 1.00781", ok, message)


@property_row("W3.3", case="-1.001, rounded 20,000 times", checks="negative numbers too")
def _(names: Names) -> Row:
    came = names["stochastic_round_bf16"](torch.full((20_000,), -1.001), torch.Generator().manual_seed(5))
    share = float((came < -1.004).float().mean())
    message = "The same share, away from zero: the sign is a bit of its own."
    return outcome(f"away from zero in {share:.1%}", "about 12.8%", abs(share - 0.128) < 0.012, message)


@property_row("W3.3", case="1.5", checks="a number of the format never moves")
def _(names: Names) -> Row:
    came = names["stochastic_round_bf16"](torch.full((500,), 1.5), torch.Generator().manual_seed(6))
    moved = int((came != 1.5).sum())
    return outcome(
        f"moved {moved} times", "moved 0 times", moved == 0, "Its lower 16 bits are zero: nothing to round."
    )


# W3.4


@property_row("W3.4", case="1.0 and 1,000 updates of 0.001", checks="the model's weight at the end")
def _(names: Names) -> Row:
    step = (1.0, [torch.tensor([-0.001])])
    came = drivers.master_weights(names, [torch.tensor([1.0]).bfloat16()], [step] * 1_000)
    value = float(came["weights"][-1][0])
    message = {1.0: "It never moved: does the master take the update, in float32?"}
    return outcome(f"{value:g}", "2", abs(value - 2) < 0.01, message.get(value, "It should end near 2."))


@property_row("W3.4", case="types", checks="masters and weights")
def _(names: Names) -> Row:
    came = drivers.master_weights(
        names, [torch.ones(2, 3).bfloat16()], [(0.1, [torch.ones(2, 3).bfloat16()])]
    )
    yours = f"master {_type(came['master'][0])}, weight {_type(came['weights'][0][0])}"
    expected = "master float32, weight bfloat16"
    return outcome(
        yours, expected, yours == expected, "Masters in float32, the model's tensors as they were given."
    )


@property_row("W3.4", case="saved and loaded after 3 of 6 updates", checks="nothing is lost")
def _(names: Names) -> Row:
    steps = [(1.0, [torch.tensor([-0.001])])] * 6
    start = [torch.tensor([1.0]).bfloat16()]
    straight, resumed = (drivers.master_weights(names, start, steps, stop)["master"][0] for stop in (None, 3))
    yours = f"{float(resumed):.6f}"
    return outcome(
        yours, f"{float(straight):.6f}", torch.equal(straight, resumed), "Save the masters themselves."
    )


# W3.5


def _play(names: Names, letters: str, scale: float = 8.0, interval: int = 3) -> list[dict[str, Any]]:
    settings = {"scale": scale, "growth": 2.0, "backoff": 0.5, "interval": interval}
    steps = [([torch.tensor([0.5, -0.25]), torch.tensor([1.0])], letter != ".") for letter in letters]
    return drivers.scaler_run(names, [torch.zeros(2), torch.zeros(1)], steps, settings)


def _scales(trace: Sequence[Mapping[str, Any]]) -> str:
    return " ".join(f"{told['scale']:g}" for told in trace)


@property_row("W3.5", case="clean steps, interval 3", checks="the scale after each step")
def _(names: Names) -> Row:
    yours, right = _scales(_play(names, "." * 7)), "8 8 16 16 16 32 32"
    return outcome(yours, right, yours == right, "It doubles after every third clean step in a row.")


@property_row("W3.5", case="overflows in steps 2 and 3", checks="the scale after each step")
def _(names: Names) -> Row:
    yours, right = _scales(_play(names, ".oo...")), "8 4 2 2 2 4"
    return outcome(yours, right, yours == right, "Each overflow halves it, and begins the count anew.")


@property_row("W3.5", case="gradients after unscale_", checks="divided by the scale, once")
def _(names: Names) -> Row:
    gradient = _play(names, ".")[0]["gradients"][0]
    ok = bool(torch.allclose(gradient, torch.tensor([0.5, -0.25])))
    return outcome(
        f"{gradient.tolist()}", "[0.5, -0.25]", ok, "Divide each .grad by the scale, in unscale_ only."
    )


@property_row("W3.5", case="a step that overflows", checks="weights and Adam's step count")
def _(names: Names) -> Row:
    before, after = _play(names, ".o")
    same = all(torch.equal(a, b) for a, b in zip(before["weights"], after["weights"], strict=True))
    yours = f"weights {'untouched' if same else 'changed'}, {after['steps'][0]:g} step counted"
    right = "weights untouched, 1 step counted"
    return outcome(yours, right, yours == right, "Do not call optimizer.step() when something is not finite.")


# W3.6

CAUSES = ("absorbed updates", "underflow", "overflow", "learning rate too high", "nothing wrong")
COLUMNS = ("loss", "gradient_norm", "unmoved_weights", "zero_gradients", "skipped_steps")


def _words(names: Names, name: str, allowed: tuple[str, ...]) -> Row:
    given = names[name]
    if not isinstance(given, Mapping):
        raise AssertionError(f"{name} is {type(given).__name__}; it should be a dictionary")
    odd = [str(given.get(log)) for log in "ABC" if str(given.get(log)).lower() not in allowed]
    yours = "\n".join(f"{log}: {given.get(log)}" for log in "ABC")
    return outcome(
        yours, "one of the phrases for each of A, B, C", not odd, f"Not among the phrases: {', '.join(odd)}."
    )


@property_row(
    "W3.6", case="cause", checks="the phrases of the contract; the hidden test looks whether they are right"
)
def _(names: Names) -> Row:
    return _words(names, "cause", CAUSES)


@property_row("W3.6", case="proof", checks="names of columns")
def _(names: Names) -> Row:
    return _words(names, "proof", COLUMNS)


# W3.7


@property_row("W3.7", case="one step", checks="types by place, and where autocast is on")
def _(names: Names) -> Row:
    generator = torch.Generator().manual_seed(7)
    weights = (torch.randn(5, 4, generator=generator), torch.randn(4, 5, generator=generator))
    batch = tuple(torch.randint(5, (2, 2, 3), generator=generator))
    told = drivers.mixed_step(names, weights, [batch], 0.1)["told"]
    right = {
        "parameters": "float32",
        "product": "bfloat16",
        "loss": "float32",
        "gradients": "float32",
        "autocast in backward": "off",
        "autocast in step": "off",
    }
    yours = "\n".join(f"{place}: {told.get(place, 'never')}" for place in right)
    expected = "\n".join(f"{place}: {kind}" for place, kind in right.items())
    wrong = [place for place in right if told.get(place) != right[place]]
    return outcome(yours, expected, not wrong, f"Look at: {', '.join(wrong)}.")


# W3.8


class _Scaler:
    """A right scaler for trying a test on; `fault` switches one mistake on."""

    fault = ""

    def __init__(
        self, scale: float = 2.0**16, growth: float = 2.0, backoff: float = 0.5, interval: int = 200
    ):
        self.scale, self.rules, self.count, self.bad = float(scale), (growth, backoff, interval), 0, False

    def scale_loss(self, loss: Tensor) -> Tensor:
        return loss * self.scale

    def unscale_(self, params: Sequence[Tensor]) -> bool:
        present = [p for p in params if p.grad is not None]
        for p in present:
            p.grad = p.grad / self.scale
        self.bad = any(bool((~p.grad.isfinite()).any()) for p in present)
        return self.bad

    def step(self, optimizer: torch.optim.Optimizer) -> None:
        if not self.bad or self.fault == "steps anyway":
            optimizer.step()

    def update(self) -> None:
        growth, backoff, interval = self.rules
        self.count = 0 if self.bad else self.count + 1
        if self.bad and self.fault != "never backs off":
            self.scale = max(1.0, self.scale * backoff)
        elif self.count == interval:
            self.scale, self.count = self.scale * growth, 0

    def state_dict(self) -> dict[str, float]:
        return {"scale": self.scale, "count": self.count}

    def load_state_dict(self, state: dict[str, float]) -> None:
        self.scale, self.count = state["scale"], state["count"]


def _try(fault: str) -> Callable[[Names], Row]:
    def judge(names: Names) -> Row:
        kind = type("Scaler", (_Scaler,), {"fault": fault})
        try:
            names["test_scaler"](kind)
            said = "accepted"
        except AssertionError as error:
            first = next(iter(str(error).splitlines()), "")
            said = f"rejected: {first}" if first else "rejected"
        ok = (said == "accepted") is (fault == "")
        message = (
            "This one keeps the contract."
            if not fault
            else "What does this mistake change, and in which step?"
        )
        return outcome(said, "rejected" if fault else "accepted", ok, message)

    return judge


for _fault, _words_for in (
    ("", "a right scaler"),
    ("steps anyway", "steps in spite of an overflow"),
    ("never backs off", "keeps its scale after an overflow"),
):
    property_row("W3.8", case=_words_for, checks="what your test says")(_try(_fault))


def _type(tensor: Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")
