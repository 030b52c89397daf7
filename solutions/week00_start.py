# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# This course is about *training* language models: what happens between a folder of text and a model that writes. Most
# of its mistakes are silent. The loss falls, text comes out, and everything is a little worse than it could be.
#
# So the course teaches two things side by side: how each part works, and how to know that it does. This first
# notebook takes half an hour. It shows you the tools with an exercise too easy to be in the way.
#
# **When you are done you can**
#
# - tell that your machine is ready;
# - read what a check says about a wrong answer;
# - say what a public check covers, and what it leaves out;
# - write a test that is itself tested;
# - restart a notebook and run all of it, and know why you should.

# %% role="setup"
import torch

# %% role="show"
from lmcourse.checks import check, predict, quiz
from lmcourse.checks.environment import environment

# %% [markdown]
# ## Is this machine ready?
#
# Run the cell below: click into it and press Shift+Enter. It lists versions, tries a small matrix product in each
# number format, and asks the page whether it can draw widgets. No graphics card is needed anywhere in the course.

# %% role="show"
environment()

# %% [markdown]
# All formats should say *works*. If a package is missing, or a version differs from the lock file, install again as the
# README says, before you start to look for mistakes in your own code.
#
# If the last line says *no answer*, you see a still picture wherever the text speaks of sliders. Everything else works.

# %% [markdown]
# ## How a notebook of this course works
#
# Each exercise has the same parts in the same order: **why** it matters, the **contract** (what goes in, what comes out,
# what must not change), **your cell**, a **prediction**, the **check**, three **hints**, a cell for the grader, and
# what the mistake does in real training.
#
# - Write only into the cells that say so. Cells for the check and the grader are locked; leave them as they are.
# - A *prediction* is a question to answer before you run the check. It is stored on your machine and not graded. You
#   learn more from a wrong prediction than from a right answer.
# - *Hints* are folded. The first one points, the third is nearly code. There is no penalty for opening them.
# - `lmcourse` holds finished versions of much of what you build. Look at them after you have solved the exercise; an
#   answer that only calls them has taught you nothing.

# %% [markdown]
# ## A wrong answer, on purpose
#
# Before you give a right answer, look at what a wrong one gives you. The first exercise asks for a function that returns
# $2x + 1$. By hand: $x = 3$ gives 7.
#
# Suppose that you misread it as $2(x + 1)$, which gives 8. The cell below hands that function to the check, without
# touching anything of yours.

# %% role="show"
check("W0.1", {"hello_check": lambda x: 2 * (x + 1)})

# %% [markdown]
# Each line of the table is one case: what it checks, what *your* function returned, what was expected. Below that
# stands what makes this course different: the check knows typical wrong answers, and when yours gives the same numbers
# as one of them, it says so in words.
#
# It can do that because every exercise comes with its **mutants**: wrong solutions that people really write, each with a
# message. The same mutants keep the hidden tests honest: a hidden test that lets one of them pass is a hole, and the
# course's own tests fail until it is closed.

# %% [markdown] exercise="W0.1" role="why"
# **Why.** You will call `check` a hundred times. It is worth five minutes to see what it does with a function that could
# not be simpler.
#
# $$f(x) = 2x + 1$$
#
# **Worked number.** $f(3) = 2 \cdot 3 + 1 = 7$, and $f(-0.5) = 0$.

# %% [markdown] exercise="W0.1" role="contract"
# **Contract.** `hello_check(x) -> float`
#
# | argument | |
# |---|---|
# | `x` | a float, of any sign |
# | **returns** | `2 * x + 1`, a float |


# %% exercise="W0.1" role="answer"
def hello_check(x: float) -> float:
    """Twice x, plus one."""
    ### BEGIN SOLUTION
    return 2 * x + 1
    ### END SOLUTION


# %% exercise="W0.1" role="predict"
predict("W0.1", "If you return 2 * x instead, what will the check say: only 'wrong', or more?", answer=None)

# %% [markdown] exercise="W0.1" role="hint"
# Replace the line with `raise NotImplementedError` by a `return`. Run your cell, then the cell with the check.

# %% [markdown] exercise="W0.1" role="hint"
# Multiplication binds tighter than addition, in Python as on paper. Where would parentheses go, and do you need any?

# %% [markdown] exercise="W0.1" role="hint"
# `return 2 * x + 1`. Now try a few wrong ones, too, and read what the check says about them.

# %% [markdown] exercise="W0.1" role="after"
# **What "the check passed" means.** The public check tries a few cases, in the open, on your machine. It covers the
# example of the statement and a little more. It does *not* try everything: when you hand in, hidden tests run with other
# inputs, odd shapes, empty cases, and look at things such as changed arguments. They decide the points.
#
# So read a green table as "nothing wrong was found here", the way you read a falling loss. nbgrader's own *Validate*
# button is weaker still: it can report success for a notebook with an endless loop. Use `check(...)`, or
# `lmcourse check W1` in a terminal, which runs the whole notebook in a fresh process and names every cell that failed.

# %% [markdown]
# ## Tests that are tested
#
# From week 1 on, some exercises turn the tables: *you* write the test, and it is your test that is examined. It is called
# with implementations you do not see.
#
# - Right ones, the **variants**, must pass. They may be written quite unlike yours. A test that rejects a variant asks
#   for something the contract does not, and scores nothing.
# - Wrong ones, the **mutants**, must be rejected with an `AssertionError`. The score is the share that your test
#   catches.
#
# A test that accepts everything catches nothing, and one that rejects everything rejects the variants. By hand, for
# ReLU, $\max(0, x)$: the input $3$ cannot tell ReLU from $|x|$, since both give 3. The input $-3$ can: 0 and 3.

# %% [markdown] exercise="W0.2" role="why"
# **Why.** A test is worth what it catches, and you find that out only by showing it something broken. That is what
# happens here, and it is how all hidden tests of this course were made.
#
# $$\text{relu}(x) = \max(0, x), \text{ element by element}$$
#
# **Worked number.** $(-2, 0, 3)$ becomes $(0, 0, 3)$. With all inputs positive, ReLU is the identity, and a test that
# tries only those cannot tell the two apart.

# %% [markdown] exercise="W0.2" role="contract"
# **Contract.** `test_relu(impl) -> None`
#
# `impl` is a function that takes a float tensor of any shape and returns a tensor of the same shape. Return quietly if
# it is a right ReLU; raise `AssertionError` if it is not. Use `assert`, with a message that you would like to read
# yourself. It will be called with `torch.relu`, with other right versions, and with three wrong ones.


# %% exercise="W0.2" role="answer"
def test_relu(impl) -> None:
    """Accepts a right ReLU, rejects a wrong one with an AssertionError."""
    ### BEGIN SOLUTION
    x = torch.tensor([[-100.0, -2.0, -0.5], [0.0, 0.5, 300.0]])  # both signs, zero, small and large
    expected = torch.tensor([[0.0, 0.0, 0.0], [0.0, 0.5, 300.0]])
    result = impl(x.clone())  # a copy: an implementation may work in place
    assert result.shape == x.shape, f"shape {tuple(result.shape)}, expected {tuple(x.shape)}"
    assert torch.equal(result, expected), f"relu gave {result.tolist()}, expected {expected.tolist()}"
    ### END SOLUTION


# %% exercise="W0.2" role="predict"
predict("W0.2", "Name one wrong ReLU that the single input x = 3 cannot catch.", answer=None)

# %% [markdown] exercise="W0.2" role="hint"
# Which inputs does ReLU treat differently? Have at least one of each kind in your test.

# %% [markdown] exercise="W0.2" role="hint"
# Wrong versions that people write: no change at all, the absolute value, a small slope for negative inputs. For each,
# find an input where it differs from ReLU.

# %% [markdown] exercise="W0.2" role="hint"
# Make a tensor `x` with negative, zero, small positive and large positive entries, write down the expected tensor by
# hand, and `assert torch.equal(impl(x.clone()), expected)`.

# %% [markdown] exercise="W0.2" role="after"
# **What this breaks in real training.** A test with one friendly input is the usual kind, and it is how broken parts live
# on in good code bases. You will meet one in week 1: a test of a data split whose validation set was empty, so that it
# could never fail ([MakazhanAlpamys/Soup#680](https://github.com/MakazhanAlpamys/Soup/issues/680)).

# %% [markdown]
# ## Before you begin: eight questions
#
# These eight questions come again at the end of week 9. Answer what you can, guess the rest: nothing is graded, and you
# get no feedback now, so that the comparison is fair. Run a cell to see the question, then write your letter into it, as
# in `quiz("W0", 1, "a")`, and run it again.

# %% role="play"
quiz("W0", 1)

# %% role="play"
quiz("W0", 2)

# %% role="play"
quiz("W0", 3)

# %% role="play"
quiz("W0", 4)

# %% role="play"
quiz("W0", 5)

# %% role="play"
quiz("W0", 6)

# %% role="play"
quiz("W0", 7)

# %% role="play"
quiz("W0", 8)

# %% [markdown]
# ## Restart, and run all
#
# A notebook remembers what you ran, not what you see. Define a function, run it, delete the cell: the function is still
# there, and everything seems to work. The grader starts from nothing and runs the cells from top to bottom.
#
# So before you hand in, and whenever something puzzles you: menu *Kernel*, *Restart Kernel and Run All Cells*. What then
# works is what you really have. An exercise you have not answered does not stop the rest.

# %% [markdown]
# ## Summary
#
# - `check("W1.4")` tries a few open cases and names known mistakes. Hidden tests decide the points.
# - Mutants are typical wrong solutions. They test the tests, including the ones you write.
# - Variants are unusual right solutions. A test that rejects one is too strict.
# - Predictions and quiz answers are stored on your machine, beside the notebook, and are for you.
# - Restart and run all before you hand in.
#
# **Next:** week 1, where a stream of tokens becomes a batch, and documents must not see each other.
