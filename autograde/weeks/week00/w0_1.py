"""W0.1, say hello to the check: 2 * x + 1."""

from __future__ import annotations

import numpy as np
import torch

from autograde import expect
from autograde.exercise import Answer, Draw, HiddenExercise

EXERCISE = HiddenExercise("W0.1")


def hello_check(x: float) -> float:
    return 2 * x + 1


EXERCISE.set_reference(hello_check)


@EXERCISE.variant("additions", "adds x to itself")
def _(x):
    return x + x + 1.0


@EXERCISE.variant("numpy", "returns a numpy scalar")
def _(x):
    return np.float64(x) * 2 + 1


@EXERCISE.variant("tensor", "returns a tensor without dimensions")
def _(x):
    return torch.tensor(x, dtype=torch.float64).mul(2).add(1)


# Mutants.


@EXERCISE.mutant(
    "one added first",
    "Your result is 2 * (x + 1), which is one too much: double x first, then add 1.",
)
def _(x):
    return 2 * (x + 1)


@EXERCISE.mutant("nothing added", "Your result is 2 * x: the 1 is missing.")
def _(x):
    return 2 * x


@EXERCISE.mutant("one subtracted", "Your result is 2 * x - 1: the 1 is added, not subtracted.")
def _(x):
    return 2 * x - 1


@EXERCISE.mutant("not doubled", "Your result is x + 1: double x first.")
def _(x):
    return x + 1


@EXERCISE.mutant("squared", "Your result is x * x + 1: it is 2 * x, not x to the power of 2.")
def _(x):
    return x**2 + 1


@EXERCISE.mutant("halves cut off", "Your result drops the decimals of x: keep x as the float that it is.")
def _(x):
    return 2 * int(x) + 1


@EXERCISE.mutant("sign lost", "Your result ignores the sign of x: a negative x gives a smaller result.")
def _(x):
    return 2 * abs(x) + 1


@EXERCISE.mutant("text", "Your function returns a text; it should return the number itself.")
def _(x):
    return f"{2 * x + 1}"


@EXERCISE.mutant(
    "printed",
    "Your function returns nothing (None). Printing shows a number, only return hands it back.",
)
def _(x):
    return None


@EXERCISE.mutant("yes or no", "Your function returns True or False; it should return the number 2 * x + 1.")
def _(x):
    return 2 * x + 1 > 0


# Properties.


@EXERCISE.property("2 * x + 1", 1)
def _(answer: Answer, draw: Draw) -> None:
    rng = draw.rng
    near, far = np.round(rng.uniform(1.1, 1.9, 2), 3).tolist(), np.round(rng.normal(0, 50, 4), 2).tolist()
    for x in (near[0], -near[1], 0.0, 1.0, -1.0, *far, -1e6, 2.5e-7):
        case = f"x = {x}"
        came = expect.number(answer(x), what="the result", case=case)
        expect.close(came, 2.0 * x + 1.0, dtype=torch.float32, what="the result", case=case)


# Public rows.


@EXERCISE.public_case("x = 3", "the example of the statement")
def _():
    return (3.0,)


@EXERCISE.public_case("x = 0.25", "a number with decimals")
def _():
    return (0.25,)
