"""W0.2, write a test that catches a wrong ReLU: the mechanism of W1.7, on one line of mathematics."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from autograde.exercise import HiddenExercise

EXERCISE = HiddenExercise("W0.2")

# Right implementations.


@EXERCISE.accepts("torch.relu")
def _(x):
    return torch.relu(x)


@EXERCISE.accepts("clamp", "an implementation may use clamp; only the values count.")
def _(x):
    return x.clamp(min=0)


@EXERCISE.accepts("where", "an implementation may use torch.where; only the values count.")
def _(x):
    return torch.where(x > 0, x, torch.zeros_like(x))


# Wrong implementations: the three that the exercise speaks of.


@EXERCISE.rejects("identity", "it returns x as it is. What should become of a negative number?")
def _(x):
    return x.clone()


@EXERCISE.rejects(
    "absolute value",
    "it turns negative numbers into positive ones: never below 0, and still wrong. Look at the value itself.",
)
def _(x):
    return x.abs()


@EXERCISE.rejects(
    "leaky",
    "it keeps one hundredth of a negative number (a leaky ReLU), so the result is small but not 0.",
)
def _(x):
    return F.leaky_relu(x, negative_slope=0.01)


# Tests: the reference and variants.


def test_relu(impl):
    x = torch.tensor([-2.0, -0.5, 0.0, 3.0])
    assert torch.equal(impl(x), torch.tensor([0.0, 0.0, 0.0, 3.0]))


EXERCISE.set_reference(test_relu)


@EXERCISE.variant("random numbers", "compares with the maximum of 0 and x on random numbers")
def _(impl):
    x = torch.randn(5, 7, generator=torch.Generator().manual_seed(1))
    assert torch.allclose(impl(x), torch.maximum(x, torch.tensor(0.0)))


@EXERCISE.variant("two properties", "negative numbers give exactly 0, positive ones stay")
def _(impl):
    x = torch.linspace(0.1, 4.0, 9)
    if impl(-x).abs().max() != 0:
        raise AssertionError("a negative number should give 0")
    assert (impl(x) == x).all()


# Mutants.


@EXERCISE.mutant("always passes", "Your test passes every implementation: it has no assertion that can fail.")
def _(impl):
    impl(torch.tensor([-1.0, 2.0]))


@EXERCISE.mutant("always fails", "Your test fails every implementation, also torch.relu.")
def _(impl):
    raise AssertionError("wrong")


@EXERCISE.mutant(
    "positive numbers only",
    "Your test tries positive numbers only, where ReLU does nothing and the wrong ones do nothing either.",
)
def _(impl):
    x = torch.tensor([0.5, 1.0, 7.0])
    assert torch.equal(impl(x), x)


@EXERCISE.mutant(
    "never below 0",
    "Your test asks only that nothing is below 0, and the absolute value passes that.",
)
def _(impl):
    assert (impl(torch.tensor([-3.0, -0.1, 2.0])) >= 0).all()


@EXERCISE.mutant(
    "generous",
    "Your test allows a difference of 0.1, and the leaky ReLU hides in it.",
)
def _(impl):
    x = torch.tensor([-3.0, 0.5, 2.0])
    assert torch.allclose(impl(x), torch.tensor([0.0, 0.5, 2.0]), atol=0.1)


@EXERCISE.mutant("only the shape", "Your test looks at the shape of the result, which all of them keep.")
def _(impl):
    assert impl(torch.zeros(2, 3)).shape == (2, 3)


@EXERCISE.mutant("a positive sum", "Your test asks only for a positive sum, which all of them can have.")
def _(impl):
    assert impl(torch.tensor([-1.0, 2.0])).sum() > 0


@EXERCISE.mutant(
    "inverted",
    "Your test has its assertion the wrong way round: it passes what is wrong and fails what is right.",
)
def _(impl):
    x = torch.tensor([-2.0, 3.0])
    assert not torch.equal(impl(x), torch.tensor([0.0, 3.0]))


@EXERCISE.mutant(
    "returns its verdict",
    "Your test returns True or False; a test says no by raising AssertionError.",
)
def _(impl):
    x = torch.tensor([-2.0, 3.0])
    return bool(torch.equal(impl(x), torch.tensor([0.0, 3.0])))


@EXERCISE.mutant(
    "hands over a list",
    "Your test calls impl with a list; it takes a tensor.",
)
def _(impl):
    assert torch.equal(impl([-2.0, 3.0]), torch.tensor([0.0, 3.0]))
