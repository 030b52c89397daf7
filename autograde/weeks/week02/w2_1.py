"""W2.1, two means by hand: one example of 2 tokens at 4 nats, one of 8 tokens at 1 nat."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import torch

from autograde import expect
from autograde.exercise import Answer, Draw, HiddenExercise

EXERCISE = HiddenExercise("W2.1")

LENGTHS, LOSSES = (2, 8), (4.0, 1.0)
TOKEN_MEAN = sum(n * loss for n, loss in zip(LENGTHS, LOSSES, strict=True)) / sum(LENGTHS)
EXAMPLE_MEAN = sum(LOSSES) / len(LOSSES)
RATIO = (1 / LENGTHS[0]) / (1 / LENGTHS[1])
CASE = "2 tokens at 4 nats, 8 tokens at 1 nat"

EXERCISE.set_reference(token_mean=TOKEN_MEAN, example_mean=EXAMPLE_MEAN, weight_ratio=RATIO)

EXERCISE.variant("whole numbers and tensors", "any kind of number will do", example_mean=2.5, weight_ratio=4)(
    torch.tensor(1.6)
)
EXERCISE.variant("fractions", "exact fractions", example_mean=Fraction(5, 2), weight_ratio=np.float32(4.0))(
    Fraction(8, 5)
)

EXERCISE.mutant(
    "means swapped",
    "Your two means are swapped: the mean over tokens counts all ten tokens alike.",
    example_mean=TOKEN_MEAN,
)(EXAMPLE_MEAN)
EXERCISE.mutant(
    "the same mean twice",
    "Your two means are equal: the mean over examples first averages inside each example.",
    example_mean=TOKEN_MEAN,
)(TOKEN_MEAN)
EXERCISE.mutant(
    "sum of the losses",
    "Your token mean is divided by the number of examples instead of the number of tokens.",
)(8.0)
EXERCISE.mutant(
    "tokens added, not weighted",
    "Your token mean adds the two losses and divides by ten: each loss stands for as many tokens as its "
    "example has.",
)(0.5)
EXERCISE.mutant(
    "ratio of the lengths upside down",
    "Your ratio is upside down: a token of the short example weighs more, not less.",
    weight_ratio=0.25,
)(TOKEN_MEAN)
EXERCISE.mutant(
    "ratio of the losses' shares",
    "Your ratio compares whole examples, which weigh the same in that mean; compare one token with one "
    "token.",
    weight_ratio=1,
)(TOKEN_MEAN)
EXERCISE.mutant("texts", "Your answers are texts; give numbers.", example_mean="2.5", weight_ratio="4")("1.6")
EXERCISE.mutant("nothing yet", "Your answers are still empty.", example_mean=None, weight_ratio=None)(None)


@EXERCISE.property("the mean over tokens", 1.5)
def _(answer: Answer, draw: Draw) -> None:
    _equal(
        answer, "token_mean", TOKEN_MEAN, "Ten tokens, each with its own loss: add them up, divide by ten."
    )


@EXERCISE.property("the mean over examples", 1.5)
def _(answer: Answer, draw: Draw) -> None:
    _equal(answer, "example_mean", EXAMPLE_MEAN, "First one mean per example, then the mean of the two.")


@EXERCISE.property("what a token of the short example weighs", 1)
def _(answer: Answer, draw: Draw) -> None:
    hint = "In the mean over examples a token weighs 1 / (examples · length of its example)."
    _equal(answer, "weight_ratio", RATIO, hint)


def _equal(answer: Answer, name: str, right: float, hint: str) -> None:
    came = expect.number(answer.value(name), what=name, case=CASE)
    if abs(came - right) > 1e-6 * right:
        raise expect.wrong(f"{name} is {came:.6g}, which is not right", CASE, hint)
