"""The property rows of week 3 pass a right answer, and name what is wrong with typical wrong ones."""

from __future__ import annotations

import pytest
import torch

from lmcourse.checks import week03
from lmcourse.checks.rows import FAILED, PASSED, property_rows
from lmcourse.numbers import stochastic_round_bf16


class Masters:
    kind = torch.float32

    def __init__(self, params):
        self.params, self.master = params, [p.to(self.kind) for p in params]

    def step(self, lr, grads):
        for m, g in zip(self.master, grads, strict=True):
            m.sub_(lr * g.float())
        self.sync()

    def sync(self):
        for p, m in zip(self.params, self.master, strict=True):
            p.copy_(m)

    def state_dict(self):
        return {"master": self.master}

    def load_state_dict(self, state):
        self.master = [m.clone() for m in state["master"]]
        self.sync()


def mixed_step(model, optimizer, inputs, targets, inside=False):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = torch.nn.functional.cross_entropy(model(inputs).float().flatten(0, 1), targets.flatten())
        if inside:
            loss.backward()
    if not inside:
        loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    return loss


def scaler_test(make):
    scaler = make(8.0, 2.0, 0.5, 3)
    weight = torch.nn.Parameter(torch.zeros(1))
    weight.grad = torch.tensor([float("inf")])
    assert scaler.unscale_([weight])
    scaler.step(torch.optim.SGD([weight], lr=0.1))
    assert weight.item() == 0, "it stepped"
    scaler.update()
    assert scaler.scale == 4, "it kept its scale"


RIGHT = {
    "W3.1": {"largest_absorbed": 2**-8, "fp16_largest": 65504, "fp16_smallest": 2**-24, "counter_stops": 256},
    "W3.3": {"stochastic_round_bf16": lambda x, g: stochastic_round_bf16(x, g).float()},
    "W3.4": {"MasterWeights": Masters},
    "W3.5": {"DynamicScaler": week03._Scaler},
    "W3.6": {
        "cause": {"A": "absorbed updates", "B": "underflow", "C": "overflow"},
        "proof": {"A": "unmoved_weights", "B": "zero_gradients", "C": "skipped_steps"},
    },
    "W3.7": {"mixed_step": mixed_step},
    "W3.8": {"test_scaler": scaler_test},
}


def failures(exercise_id: str, **names) -> str:
    found = []
    for row in property_rows(exercise_id):
        try:
            outcome = row({**RIGHT[exercise_id], **names})
        except AssertionError as error:
            found.append(str(error))
        else:
            if outcome.state == FAILED:
                found.append(outcome.message)
    return " | ".join(found)


@pytest.mark.parametrize("exercise_id", RIGHT)
def test_right_answers_pass_every_row(exercise_id: str) -> None:
    for row in property_rows(exercise_id):
        outcome = row(RIGHT[exercise_id])
        assert outcome.state == PASSED, (row.case, outcome.yours, outcome.message)


def test_numbers_that_are_not_of_the_format() -> None:
    assert "moves the weight" in failures("W3.1", largest_absorbed=0.005)
    assert "infinite" in failures("W3.1", fp16_largest=65_536)
    assert "zero" in failures("W3.1", fp16_smallest=1e-9)
    assert "still moves" in failures("W3.1", counter_stops=100)


def test_rounding_that_is_no_chance_or_the_wrong_chance() -> None:
    nearest = failures("W3.3", stochastic_round_bf16=lambda x, g: x.bfloat16().float())
    assert "12.8" in nearest
    noisy = failures("W3.3", stochastic_round_bf16=lambda x, g: x + 0.01 * torch.rand(x.shape, generator=g))
    assert "nothing to round" in noisy


def test_masters_that_are_not() -> None:
    narrow = failures("W3.4", MasterWeights=type("Narrow", (Masters,), {"kind": torch.bfloat16}))
    assert "never moved" in narrow and "float32" in narrow
    silent = failures(
        "W3.4", MasterWeights=type("Silent", (Masters,), {"load_state_dict": lambda s, state: None})
    )
    assert silent == "Save the masters themselves."


@pytest.mark.parametrize(
    ("fault", "words"), [("steps anyway", "optimizer.step()"), ("never backs off", "halves it")]
)
def test_scalers_with_a_fault(fault: str, words: str) -> None:
    kind = type("Faulty", (week03._Scaler,), {"fault": fault})
    assert words in failures("W3.5", DynamicScaler=kind)


def test_backward_under_autocast_is_seen() -> None:
    told = failures("W3.7", mixed_step=lambda *args: mixed_step(*args, inside=True))
    assert "autocast in backward" in told and "loss" not in told


def test_words_and_tests() -> None:
    assert "too small" in failures("W3.6", cause={**RIGHT["W3.6"]["cause"], "A": "too small"})
    assert "dictionary" in failures("W3.6", proof=["loss"])
    assert "mistake change" in failures("W3.8", test_scaler=lambda make: None)
