"""A small source for week W0, and the parts of the build applied to it."""

from __future__ import annotations

import pytest
import torch

from autograde.build.source import read_source
from autograde.exercise import HiddenExercise, Wrong
from autograde.nbgrader_plugin.course_root import CourseRoot
from lmcourse import exercises as registry

WEEK0 = '''# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     name: python3
# ---

# %% [markdown]
# You start here.

# %% role="setup"
import torch
from lmcourse.checks import check, predict

# %% [markdown] exercise="W0.1" role="why"
# A function gets a number and gives one back.

# %% [markdown] exercise="W0.1" role="contract"
# `hello_check(x: float) -> float` returns $2x + 1$.

# %% exercise="W0.1" role="answer"
def hello_check(x: float) -> float:
    """Twice x plus one."""
    ### BEGIN SOLUTION
    return 2 * x + 1
    ### END SOLUTION

# %% exercise="W0.1" role="predict"
predict("W0.1", "What is hello_check(3)?", answer=None)

# %% [markdown] exercise="W0.1" role="hint"
# Try $x = 0$.

# %% [markdown] exercise="W0.1" role="hint"
# Then $x = 1$.

# %% [markdown] exercise="W0.1" role="hint"
# Double it and add one.

# %% [markdown] exercise="W0.1" role="after"
# Small functions break big runs.

# %% [markdown]
# Between two exercises.

# %% role="play"
x = 3

# %% [markdown] exercise="W0.2" role="why"
# A test says what a function must do.

# %% [markdown] exercise="W0.2" role="contract"
# `test_relu(impl)` raises AssertionError for a wrong ReLU.

# %% exercise="W0.2" role="answer"
def test_relu(impl):
    ### BEGIN SOLUTION
    x = torch.tensor([-2.0, -0.5, 0.0, 0.5, 3.0])
    assert torch.equal(impl(x), x.clamp(min=0))
    ### END SOLUTION

# %% [markdown] exercise="W0.2" role="hint"
# Which numbers matter?

# %% [markdown] exercise="W0.2" role="hint"
# Negative ones.

# %% [markdown] exercise="W0.2" role="hint"
# Compare with clamp.

# %% [markdown] exercise="W0.2" role="after"
# Tests are code.
'''


@pytest.fixture
def week():
    return registry.week("W0")


@pytest.fixture
def text() -> str:
    return WEEK0


@pytest.fixture
def cells_of(tmp_path):
    """Read a source from text: `cells_of(text)`."""

    def read(text: str):
        path = tmp_path / "week00_start.py"
        path.write_text(text, encoding="utf-8")
        return read_source(path)

    return read


@pytest.fixture
def root(tmp_path) -> CourseRoot:
    return CourseRoot(tmp_path / "course")


def hidden_hello() -> HiddenExercise:
    """A complete hidden side of W0.1."""
    exercise = HiddenExercise("W0.1")

    def hello_check(x):
        return 2 * x + 1

    exercise.set_reference(hello_check)
    exercise.variant("adds twice")(lambda x: x + x + 1)
    exercise.variant("one first")(lambda x: 1 + 2 * x)
    exercise.mutant("no one", "You forgot to add one.")(lambda x: 2 * x)
    exercise.mutant("square", "You squared x.")(lambda x: x * x)

    @exercise.property("twice plus one", 1)
    def _(answer, draw):
        x = float(draw.rng.normal())
        if abs(answer(x) - (2 * x + 1)) > 1e-9:
            raise Wrong("not twice x plus one", f"x = {x:.3g}")

    exercise.public_case("three", "an example")(lambda: (3.0,))
    return exercise


def hidden_relu() -> HiddenExercise:
    """A complete hidden side of W0.2."""
    exercise = HiddenExercise("W0.2")

    def test_relu(impl):
        x = torch.tensor([-2.0, -0.5, 0.0, 0.5, 3.0])
        assert torch.equal(impl(x), x.clamp(min=0))

    exercise.set_reference(test_relu)
    exercise.accepts("torch")(torch.relu)
    exercise.accepts("clamp")(lambda x: x.clamp(min=0))
    exercise.rejects("identity", "nothing is cut off")(lambda x: x)
    exercise.rejects("absolute", "negative numbers come back")(torch.abs)

    @exercise.mutant("only positive numbers", "Your test never looks at negative numbers.")
    def _(impl):
        assert impl(torch.tensor([2.0])).item() == 2.0

    return exercise


@pytest.fixture
def hidden():
    """The hidden side of both exercises, by id, fresh for each test."""
    exercises = {"W0.1": hidden_hello(), "W0.2": hidden_relu()}
    return exercises.__getitem__
