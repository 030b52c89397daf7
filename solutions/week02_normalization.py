# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# Last week ended with `keep`: which predictions count. This week asks what their losses are divided by. It sounds
# like bookkeeping. It decides which sentence of your data teaches the model most, and it is the place where several
# well-known libraries were wrong for years, with curves that looked fine.
#
# **When you are done you can**
#
# - say what three common denominators optimize, and which token weighs how much in each;
# - accumulate gradients over micro-batches of unequal size, exactly;
# - put the parts of a training step in their order, and say what each wrong order does;
# - keep the same gradient when the step is spread over several machines;
# - explain why a loss curve is a bad judge of all this, and what a good judge is.

# %% [markdown]
# **Conventions of this week.** `B` is rows, `T` tokens in a row, `V` the vocabulary, `K` micro-batches in a step.
# Losses are in nats. A place *counts* where its mask is `True`; `logits[b, i]` predicts `targets[b, i]`. A *step* is
# one update of the weights, however many micro-batches it reads.

# %% role="setup"
import torch
import torch.nn.functional as F
from torch import Tensor

# %% role="show"
import lmcourse.figures.averages as pictures
import lmcourse.widgets
from lmcourse.checks import check, predict, quiz
from lmcourse.checks.drivers.week02 import TinyModel
from lmcourse.figures import show_figure

# %% [markdown]
# ## Two examples, two answers
#
# Two examples, with the loss of each token:
#
# ```
# A:   4 4                       2 tokens, loss 4 each
# B:   1 1 1 1 1 1 1 1           8 tokens, loss 1 each
# ```
#
# What is "the loss"? You can add up ten numbers and divide by ten. Or you can say that A has loss 4, B has loss 1, and
# take the middle of the two. Both are means. They are different numbers, and different goals.

# %% [markdown]
# With $\ell_{k,i}$ for the loss of token $i$ in example $k$, which has $n_k$ tokens, and $m$ examples:
#
# $$\text{token mean} = \frac{\sum_k \sum_i \ell_{k,i}}{\sum_k n_k}, \qquad
#   \text{example mean} = \frac{1}{m} \sum_k \frac{1}{n_k} \sum_i \ell_{k,i}.$$
#
# Read off the weight of one token: $1 / \sum_k n_k$ in the first, $1 / (m \, n_k)$ in the second. In the first all
# tokens are equal. In the second all examples are equal, so a token in a short example weighs more. Move the lengths and
# watch the weights.

# %% role="show"
lmcourse.widgets.denominator()

# %% [markdown] exercise="W2.1" role="why"
# **Why.** Before you write a function that averages, do it once by hand. You will meet these two numbers again as the
# first case of two public checks.
#
# $$\text{weight of a token in the example mean} = \frac{1}{m \, n_k}$$
#
# **Worked number.** With three examples of 1, 4 and 5 tokens, a token of the first weighs 1/3, one of the second 1/12:
# four times as much for standing in a shorter example.

# %% [markdown] exercise="W2.1" role="contract"
# **Contract.** Three numbers, for A and B above.
#
# - `token_mean`: the mean over the ten tokens, in nats;
# - `example_mean`: the mean over the two examples, in nats;
# - `weight_ratio`: in the example mean, the weight of a token of A divided by the weight of a token of B.
#
# Any kind of number will do.

# %% exercise="W2.1" role="answer"
token_mean = None
example_mean = None
weight_ratio = None
### BEGIN SOLUTION
token_mean = (2 * 4 + 8 * 1) / 10
example_mean = (4 + 1) / 2
weight_ratio = (1 / 2) / (1 / 8)  # each example gets the same share, spread over 2 or over 8 tokens
### END SOLUTION

# %% exercise="W2.1" role="predict"
predict("W2.1", "Before you compute: which of the two means is larger, and why?", answer=None)

# %% [markdown] exercise="W2.1" role="hint"
# Write the ten losses in a row. The token mean is their ordinary mean.

# %% [markdown] exercise="W2.1" role="hint"
# For the example mean, replace each example by its own mean first; then only two numbers are left.

# %% [markdown] exercise="W2.1" role="hint"
# `(2 * 4 + 8 * 1) / 10`, `(4 + 1) / 2`, and for the ratio `(1 / 2) / (1 / 8)`: the common factor 1/m cancels.

# %% [markdown] exercise="W2.1" role="after"
# **What this breaks in real training.** Nothing yet: both means are legitimate. Trouble begins when a run uses one and
# its author believes in the other, or when the validation loss is averaged in one way and the training loss in another.
#
# **It happened.** torchtitan's validation loop divided each batch by its own count and then took the mean of the
# batches. Its fix has the smallest example there is: sums 2 and 90 over 1 and 9 tokens gave 6.0 instead of 9.2
# ([pytorch/torchtitan#4167](https://github.com/pytorch/torchtitan/pull/4167)).

# %% [markdown]
# ## Cross-entropy with a mask
#
# One place with two possible tokens, and logits 0 and 2. The softmax gives the second token
# $e^2 / (e^0 + e^2) = 0.88$. If the target is the second token, the loss is $-\ln 0.88 = 0.13$ nats. If it is the first,
# $-\ln 0.12 = 2.13$.
#
# In general, with logits $z_v$ and target $y$,
#
# $$\ell = \ln \sum_v e^{z_v} - z_y, \qquad \frac{\partial \ell}{\partial z_v} = p_v - [\,v = y\,].$$
#
# The next cell checks both formulas on this place.

# %% role="show"
logits = torch.tensor([0.0, 2.0], requires_grad=True)  # (V,)
for target in (1, 0):
    loss = torch.logsumexp(logits, dim=0) - logits[target]
    (gradient,) = torch.autograd.grad(loss, logits)
    print(f"target {target}: loss {loss.item():.2f} nats, gradient {gradient.numpy().round(2)}")

# %% [markdown]
# The exponential has a trap: $e^{10000}$ is infinite in every float. The library subtracts the largest logit first,
# which changes nothing in the formula: $\ln \sum_v e^{z_v} = M + \ln \sum_v e^{z_v - M}$.

# %% role="show"
large = torch.tensor([1e4, 0.0])
print("by hand:   ", torch.log(torch.exp(large).sum()).item())
print("logsumexp: ", torch.logsumexp(large, dim=0).item())

# %% [markdown]
# And a mask has two. A place that does not count must be left out of the sum *and* of the count. And its target may be
# anything: -100, or a token id that does not exist. You may not look it up.
#
# Then the empty case. If nothing counts, a mean is 0 / 0. torch says `nan` there, on purpose, and one `nan` in a
# gradient ends a run. The next cell shows it.

# %% role="show"
logits, targets = torch.zeros(1, 3, 2), torch.full((1, 3), -100)
print("library, nothing counts:", F.cross_entropy(logits.flatten(0, 1), targets.flatten()).item())
print(
    "its sum instead:        ",
    F.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="sum").item(),
)

# %% [markdown] exercise="W2.2" role="why"
# **Why.** This function is the goal of training in one line. Everything that you train from here on goes where its
# gradient points.
#
# $$L = \frac{\sum_{b,i} m_{b,i} \, \ell_{b,i}}{\max(1, \sum_{b,i} m_{b,i})}$$
#
# **Worked number.** A and B above, padded to eight places: sixteen places, ten of them count. The right loss is
# 16 / 10 = 1.6. Divided by all sixteen places it would be 1.0, and every gradient 1.6 times too small.

# %% [markdown] exercise="W2.2" role="contract"
# **Contract.** `masked_cross_entropy(logits, targets, mask) -> loss`
#
# | argument | |
# |---|---|
# | `logits` | `(B, T, V)`, float32 or bfloat16 |
# | `targets` | `(B, T)` int64; where the mask is `False` it may be -100 or out of range |
# | `mask` | `(B, T)` bool, `True` where the prediction counts |
# | **returns** `loss` | scalar float32 tensor: the mean over the tokens that count, in nats |
#
# Large logits (10,000 and more) give finite losses. If nothing counts, the loss is 0 and its gradient is 0. Places
# that do not count get a gradient of exactly 0. Nothing that you are given is changed.


# %% exercise="W2.2" role="answer"
def masked_cross_entropy(logits: Tensor, targets: Tensor, mask: Tensor) -> Tensor:
    """Mean nats over the places where mask is true; 0 where there are none."""
    ### BEGIN SOLUTION
    safe = targets.masked_fill(~mask, 0)  # (B, T), ids that exist everywhere
    nats = F.cross_entropy(logits.float().transpose(1, 2), safe, reduction="none")  # (B, T)
    nats = nats.masked_fill(~mask, 0.0)  # what does not count adds nothing, and has no gradient
    return nats.sum() / mask.sum().clamp(min=1)
    ### END SOLUTION


# %% exercise="W2.2" role="predict"
predict("W2.2", "You divide by B * T instead of the places that count. Larger or smaller loss?", answer=None)

# %% [markdown] exercise="W2.2" role="hint"
# Get the loss of every place first, as a `(B, T)` tensor. Then it is a question of sums.

# %% [markdown] exercise="W2.2" role="hint"
# `F.cross_entropy(…, reduction="none")` wants the classes in dimension 1: `logits.transpose(1, 2)`. Before you call it,
# replace the targets that do not count by an id that exists, for instance 0.

# %% [markdown] exercise="W2.2" role="hint"
# `safe = targets.masked_fill(~mask, 0)`; losses of all places in float32; `masked_fill(~mask, 0.0)`; sum; divide by
# `mask.sum().clamp(min=1)`.

# %% [markdown] exercise="W2.2" role="after"
# **What this breaks in real training.** A loss that counts padding or the prompt trains the model to repeat what it was
# given, and the curve looks better, since padding is easy to predict.
#
# **It happened.** In torch 1.11 the mean over no targets changed from 0 to `nan`, by decision: that is the mean of an
# empty set ([pytorch/pytorch#70348](https://github.com/pytorch/pytorch/issues/70348)). Trainers in which a batch can be
# empty, because a prompt fills a whole row, had to add the case by hand; one did so three years later
# ([nvidia-cosmos/cosmos-rl#155](https://github.com/nvidia-cosmos/cosmos-rl/pull/155)).

# %% [markdown] exercise="W2.3" role="why"
# **Why.** The other mean is not a bug. If each example is one answer to a user, you may want every answer to weigh the
# same, however long it is. Then write it on purpose.
#
# $$L = \frac{1}{m'} \sum_{b \,:\, n_b > 0} \frac{1}{n_b} \sum_i m_{b,i} \, \ell_{b,i}$$
#
# **Worked number.** Rows with 2, 8 and 0 tokens that count, losses 4 and 1: $m' = 2$ rows have tokens, so the loss is
# (4 + 1) / 2 = 2.5. Counting the empty row would give 1.67.

# %% [markdown] exercise="W2.3" role="contract"
# **Contract.** `per_example_mean_loss(logits, targets, mask) -> loss`, and the word `gives_two_and_a_half`.
#
# Arguments as in W2.2; an example is a row. The loss is the mean over examples of each example's mean over its tokens
# that count. An example without any takes no part. If no example has any, the loss is 0 with a gradient of 0.
#
# `gives_two_and_a_half` is `"token mean"` or `"example mean"`: which of the two gives 2.5 for A and B?


# %% exercise="W2.3" role="answer"
def per_example_mean_loss(logits: Tensor, targets: Tensor, mask: Tensor) -> Tensor:
    """Mean over rows of the mean nats of each row; rows without a token that counts are left out."""
    ### BEGIN SOLUTION
    logp = logits.float().log_softmax(dim=2)  # (B, T, V)
    own = logp.gather(2, targets.masked_fill(~mask, 0)[:, :, None])[:, :, 0]  # (B, T)
    tokens = mask.sum(dim=1)  # (B,)
    row_means = -own.masked_fill(~mask, 0.0).sum(dim=1) / tokens.clamp(min=1)  # (B,), 0 for an empty row
    return row_means.sum() / (tokens > 0).sum().clamp(min=1)
    ### END SOLUTION


gives_two_and_a_half = None
### BEGIN SOLUTION
gives_two_and_a_half = "example mean"
### END SOLUTION

# %% exercise="W2.3" role="predict"
predict("W2.3", "Rows of 1 and 9 tokens: how many times more does the lone token weigh?", answer=None)

# %% [markdown] exercise="W2.3" role="hint"
# Sum over the row, divide by the row's count. Only then average over rows.

# %% [markdown] exercise="W2.3" role="hint"
# An empty row gives 0 / 0. Divide by `tokens.clamp(min=1)`, which leaves it at 0, and do not count it below.

# %% [markdown] exercise="W2.3" role="hint"
# Losses of all places as in W2.2, with 0 where they do not count. `rows = nats.sum(1) / tokens.clamp(min=1)`, then
# `rows.sum() / (tokens > 0).sum().clamp(min=1)`.

# %% [markdown] exercise="W2.3" role="after"
# **What this breaks in real training.** With the example mean, one answer of five tokens has as much say as one of
# two thousand, and a data set with a few one-word answers teaches mostly these. With the token mean, long answers
# decide. Neither is neutral, so it belongs in the documentation of a run.
#
# **It happened.** mlx-lm averaged inside each micro-batch while its evaluation weighted by tokens, so that training and
# validation measured two different things; the proposed fix says that updates were pulled toward shorter examples
# ([ml-explore/mlx-lm#1413](https://github.com/ml-explore/mlx-lm/pull/1413)).

# %% [markdown]
# The two objectives do not only differ in size. Their gradients point in different directions. The next cell takes a
# small model and one batch of rows whose lengths differ more and more, and measures the angle.

# %% role="show"
show_figure(
    *pictures.angle_figure(seeds=range(12)), "Two objectives on the same batch; each line is a random batch."
)

# %% [markdown]
# With equal lengths the two are the same function. The more uneven the lengths, the more they disagree about which way
# is down.

# %% [markdown]
# ## One step in several parts
#
# A step of 32,768 tokens may not fit in memory. So you compute it in $K$ parts, and let `backward()` do what it always
# does: it *adds* to `.grad`. Four micro-batches of 8 rows then give the gradient of one batch of 32, if each loss is
# divided by 4. The next cell does that for a small model, and once more without the division.


# %% role="show"
def gradient_of(parts, divide):
    """The gradient of the head after one backward pass for each part."""
    generator = torch.Generator().manual_seed(0)
    model = TinyModel(torch.randn(50, 32, generator=generator), torch.randn(32, 50, generator=generator) / 6)
    for x, y in parts:
        loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
        (loss / divide).backward()
    return model.head.grad


# %% role="show"
x, y = torch.randint(50, (2, 32, 32), generator=torch.Generator().manual_seed(1))  # (32, 32) each
whole = gradient_of([(x, y)], 1)
parts = list(zip(x.split(8), y.split(8), strict=True))
print(f"divided by 4: largest difference {(gradient_of(parts, 4) - whole).abs().max():.1e}")
print(f"not divided:  {(gradient_of(parts, 1).norm() / whole.norm()):.2f} times as long")

# %% [markdown]
# So far every part had the same number of tokens. Now let them differ, as they do when some targets do not count. Two
# micro-batches, with 2 tokens of loss 4 and 8 tokens of loss 1: you know these numbers. Dividing each *mean* by
# $K = 2$ gives 2.5. The step as a whole has the loss 1.6.
#
# > **Popular answer.** "Divide the loss by the number of accumulation steps." It stands in most tutorials. It is right
# > only while all micro-batches have equally many tokens that count, and nothing complains when they do not.

# %% [markdown]
# The way out is to count first. With $N$ tokens that count in the whole step, over all micro-batches,
#
# $$L = \frac{1}{N} \sum_{k=1}^{K} \sum_{(b,i) \in k} m_{b,i} \, \ell_{b,i},$$
#
# so each micro-batch gives its *sum* divided by the *common* $N$. The count needs no model: it is a sum of masks,
# known before the first forward pass.

# %% [markdown] exercise="W2.4" role="why"
# **Why.** Accumulation is a promise: the same step, in less memory. With the common denominator the promise is kept to
# the last digits, whatever the counts are.
#
# $$\nabla L = \sum_{k=1}^{K} \nabla \Big( \frac{1}{N} \sum_{(b,i) \in k} m_{b,i} \, \ell_{b,i} \Big)$$
#
# **Worked number.** Micro-batches with 2 and 8 tokens: the parts are 8 / 10 and 8 / 10, together 1.6. An empty
# micro-batch would add 0 / 10.

# %% [markdown] exercise="W2.4" role="contract"
# **Contract.** `accumulate(model, micro_batches, total_tokens) -> loss`
#
# | argument | |
# |---|---|
# | `model` | `model(inputs)` gives `(B, T, V)` logits; its parameters may have gradients already |
# | `micro_batches` | a list of batches with `inputs`, `targets` `(B, T)` int64 and `keep` `(B, T)` bool; a batch may have nothing to keep |
# | `total_tokens` | the tokens that count in the *whole* step, which can be more than are here |
# | **returns** `loss` | the sum of the parts: what these micro-batches add to the loss of the step |
#
# Each micro-batch goes backward by itself, so that only one is in memory. The gradients are *added* to those that are
# there. No step, no clipping, no clearing. The model here is float64, and the gradients are compared to 12 digits.


# %% exercise="W2.4" role="answer"
def accumulate(model, micro_batches, total_tokens: int) -> float:
    """Backward for every micro-batch, each kept token with the weight 1 / total_tokens."""
    ### BEGIN SOLUTION
    loss = 0.0
    for batch in micro_batches:
        logits = model(batch.inputs)  # (B, T, V)
        targets = batch.targets.masked_fill(~batch.keep, -100)  # cross_entropy leaves -100 out
        nats = F.cross_entropy(logits.transpose(1, 2), targets, ignore_index=-100, reduction="sum")
        part = nats / total_tokens  # the same denominator for every micro-batch
        part.backward()  # adds to .grad, and frees this micro-batch's activations
        loss += part.item()
    return loss
    ### END SOLUTION


# %% exercise="W2.4" role="predict"
predict(
    "W2.4", "K = 4 equal micro-batches, no division at all: how much longer is the gradient?", answer=None
)

# %% [markdown] exercise="W2.4" role="hint"
# Two things per micro-batch: its sum of nats over the kept tokens, divided by `total_tokens`; and `backward()`.

# %% [markdown] exercise="W2.4" role="hint"
# Your `masked_cross_entropy` divides by its own count, which is the wrong one here. Take a sum
# (`reduction="sum"`), or multiply the mean by its count again.

# %% [markdown] exercise="W2.4" role="hint"
# In the loop: `targets = batch.targets.masked_fill(~batch.keep, -100)`, then
# `part = F.cross_entropy(logits.transpose(1, 2), targets, reduction="sum") / total_tokens`, `part.backward()`, and
# `loss += part.item()`. Nothing after the loop but `return loss`.

# %% [markdown] exercise="W2.4" role="after"
# **What this breaks in real training.** Updates depend on how the data happened to be cut. A micro-batch with three
# tokens that count pulls as hard as one with three hundred.
#
# **It happened.** The Hugging Face Trainer averaged per-micro-batch means. It was asked about in 2021
# ([huggingface/transformers#14638](https://github.com/huggingface/transformers/issues/14638)) and repaired in October
# 2024 ([huggingface/transformers#34191](https://github.com/huggingface/transformers/pull/34191)), after a measurement
# had gone round. The repair changed the printed loss, and that took another round
# ([huggingface/transformers#35438](https://github.com/huggingface/transformers/pull/35438)).

# %% [markdown]
# ## The order of a step
#
# A training step has five parts, and they commute less than it seems:
#
# ```
# rate       set the learning rate of this step
# backward   once for each micro-batch: gradients add up
# clip       shorten the gradient, if it is too long
# step       the optimizer moves the weights
# clear      forget the gradients
# ```
#
# Clipping takes the gradient $g$ of *all* parameters as one vector and shortens it to length $c$:
#
# $$g \leftarrow g \cdot \min\Big(1, \frac{c}{\lVert g \rVert}\Big).$$
#
# By hand: two parameters with gradients (3, 4) and (12). The length is $\sqrt{9 + 16 + 144} = 13$. With $c = 1$ every
# number is multiplied by 1/13.

# %% role="show"
first, second = torch.tensor([3.0, 4.0]), torch.tensor([12.0])
norm = torch.cat([first, second]).norm()
print(
    f"length {norm:.0f}, factor {1 / norm:.3f}: {(first / norm).numpy().round(4)} {(second / norm).numpy().round(4)}"
)

# %% [markdown]
# Here is a step that somebody wrote in a hurry. It runs, the loss falls. Four lines stand in the wrong place.


# %% role="show"
def hasty_step(model, optimizer, micro_batches, total_tokens, lr, clip):
    loss = 0.0
    for batch in micro_batches:
        optimizer.zero_grad()
        loss += accumulate(model, [batch], total_tokens)
        torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
    for group in optimizer.param_groups:
        group["lr"] = lr
    return loss


# %% [markdown] exercise="W2.5" role="why"
# **Why.** Each of these lines can be put somewhere else without an error message. Then the step is another step: three
# small ones instead of one, or one that runs at last step's rate.
#
# $$\text{rate} \to \underbrace{\text{backward} \to \dots \to \text{backward}}_{K} \to \text{clip} \to \text{step} \to \text{clear}$$
#
# **Worked number.** Gradients (2, 0) and (0, 2) from two micro-batches, $c = 1$. Clipped once, on the sum: (0.71, 0.71).
# Clipped after each backward: first (1, 0), then (1, 2) / 2.24 = (0.45, 0.89). The later micro-batch weighs twice as
# much.

# %% [markdown] exercise="W2.5" role="contract"
# **Contract.** `train_step(model, optimizer, micro_batches, total_tokens, lr, clip) -> loss`
#
# Repair `hasty_step`: copy it, rename it, and move or remove lines until one call
#
# - sets the learning rate `lr` in every parameter group, before the optimizer moves;
# - lets every micro-batch go backward (your `accumulate` of W2.4);
# - clips the gradient once, to the global norm `clip`;
# - makes one optimizer step;
# - leaves no gradients behind.


# %% exercise="W2.5" role="answer"
def train_step(model, optimizer, micro_batches, total_tokens: int, lr: float, clip: float) -> float:
    """One update from all micro-batches, at this rate, with the gradient clipped once."""
    ### BEGIN SOLUTION
    for group in optimizer.param_groups:
        group["lr"] = lr  # before the step that it is meant for
    loss = accumulate(model, micro_batches, total_tokens)  # all of them: gradients add up
    torch.nn.utils.clip_grad_norm_(model.parameters(), clip)  # once, on the sum
    optimizer.step()
    optimizer.zero_grad()
    return loss
    ### END SOLUTION


# %% exercise="W2.5" role="predict"
predict("W2.5", "In hasty_step, at which learning rate does the very first step run?", answer=None)

# %% [markdown] exercise="W2.5" role="hint"
# Go through the five parts above, and for each find its line. Does it belong inside the loop or outside, before or
# after?

# %% [markdown] exercise="W2.5" role="hint"
# Only the backward passes belong inside a loop, and `accumulate` has that loop already: give it the whole list.

# %% [markdown] exercise="W2.5" role="hint"
# Five statements, none in a loop over micro-batches: set `group["lr"]`; `loss = accumulate(model, micro_batches,
# total_tokens)`; `clip_grad_norm_`; `optimizer.step()`; `optimizer.zero_grad()`.

# %% [markdown] exercise="W2.5" role="after"
# **What this breaks in real training.** Clearing inside the loop turns a batch of 256 into one of 16, and the noise of
# the gradient grows accordingly; the loss still falls.
#
# **It happened.** Each of the four has been found in published code: cleared per micro-batch
# ([bytetriper/RAE#67](https://github.com/bytetriper/RAE/issues/67),
# [pytorch/torchtitan#3575](https://github.com/pytorch/torchtitan/pull/3575)), and clipped per micro-batch
# ([facebookresearch/lingua#59](https://github.com/facebookresearch/lingua/pull/59),
# [huggingface/transformers#1563](https://github.com/huggingface/transformers/issues/1563)).

# %% [markdown]
# ## What a curve cannot see
#
# How would you notice that an implementation of accumulation is wrong? The obvious way is to train twice, once in parts
# and once in one piece, and to compare the curves. You will see at the end of this notebook what that misses.
#
# The better way costs less. Take one step, uneven on purpose, and compare *gradients* with one big batch, to many
# digits. There is nothing to interpret: a right implementation agrees to rounding, a wrong one is off by 10 % or 400 %.

# %% [markdown] exercise="W2.6" role="why"
# **Why.** Accumulation is rewritten whenever a trainer gets a new feature: a longer context, a second machine, a new
# loss term. A test of one second, in float64, protects it. Write it, and it will be tried on right and wrong
# implementations.
#
# $$\max \left| g_{\text{in parts}} - g_{\text{in one piece}} \right| \le 10^{-9} \cdot \max \left| g_{\text{in one piece}} \right|$$
#
# **Worked number.** Micro-batches with 2 and 8 tokens: a mean of means weighs the first micro-batch by 1/2 instead of
# 2/10, so its part of the gradient is 2.5 times too large. No tolerance below 10 % misses that.

# %% [markdown] exercise="W2.6" role="contract"
# **Contract.** `test_accumulation(accumulate) -> None`
#
# The implementations under test work on a *table* of logits, so that no model is needed:
# `accumulate(table, micro_batches, total_tokens) -> (loss, gradient)`
#
# | | |
# |---|---|
# | `table` | `(V, V)` float64; row `t` holds the logits of the token after `t`. You choose `V` and the numbers |
# | `micro_batches` | list of `(inputs, targets, keep)`, each `(b, T)`, int64, int64, bool; at most 200 |
# | `total_tokens` | int, at least 1: the denominator of the whole step |
# | **returns** | the loss of the step (a number), and its gradient, `(V, V)` float64 |
#
# Return quietly if `accumulate` divides the sum over all kept tokens by `total_tokens`, in loss and in gradient; raise
# `AssertionError` otherwise. Right implementations differ in the last digits (allow 1e-9, relative). Use no global
# random state.


# %% exercise="W2.6" role="answer"
def test_accumulation(accumulate) -> None:
    """Accepts an implementation whose loss and gradient are those of one big batch."""
    ### BEGIN SOLUTION
    generator = torch.Generator().manual_seed(0)
    V = 5
    table = 4 * torch.randn(V, V, dtype=torch.float64, generator=generator)  # large: clipping would show
    micro_batches = []
    for rows, T, share in [(2, 6, 0.9), (1, 4, 0.3), (1, 3, 0.0), (3, 5, 0.5)]:  # uneven, one of them empty
        inputs, targets = torch.randint(V, (2, rows, T), generator=generator)
        micro_batches.append((inputs, targets, torch.rand(rows, T, generator=generator) < share))
    here = sum(int(keep.sum()) for _, _, keep in micro_batches)
    for parts in (micro_batches, micro_batches[:1]):  # several, and K = 1
        for total_tokens in (here, 2 * here + 1):  # all of the step, and a part of a larger one
            leaf = table.clone().requires_grad_()
            nats = [F.cross_entropy(leaf[x[k]], y[k], reduction="sum") for x, y, k in parts]
            whole = torch.stack(nats).sum() / total_tokens
            whole.backward()
            expected = whole.item()
            loss, gradient = accumulate(table.clone(), parts, total_tokens)
            assert abs(float(loss) - expected) <= 1e-9 * abs(expected), f"loss {float(loss)}, not {expected}"
            worst = (gradient - leaf.grad).abs().max()
            assert worst <= 1e-9 * leaf.grad.abs().max(), f"the gradient differs by up to {worst}"
    ### END SOLUTION


# %% exercise="W2.6" role="predict"
predict("W2.6", "Your test uses micro-batches of equal size. Which mistake does it miss?", answer=None)

# %% [markdown] exercise="W2.6" role="hint"
# Build uneven micro-batches from your own generator, compute loss and gradient in one piece yourself, and compare.
# Then think of an implementation that is wrong and still passes.

# %% [markdown] exercise="W2.6" role="hint"
# Things that hide a mistake: equal counts; everything kept; small gradients (clipping does nothing); `total_tokens`
# that is just the sum of what is here; comparing the loss alone; comparing directions or lengths alone. And one
# micro-batch in which nothing counts belongs in, too.

# %% [markdown] exercise="W2.6" role="hint"
# One piece: `leaf = table.clone().requires_grad_()`, the sum of `F.cross_entropy(leaf[x[k]], y[k], reduction="sum")` over
# the micro-batches, divided by `total_tokens`, `backward()`. Compare `float(loss)` and `gradient` with it, for
# `total_tokens` equal to the kept tokens and larger.

# %% [markdown] exercise="W2.6" role="after"
# **What this breaks in real training.** Without such a test the mistake comes back. With it, a change that looks
# harmless fails within a second, on a laptop.
#
# **It happened.** In a trainer for supervised fine-tuning the division by the number of micro-batches came after
# `backward()`, where it changes the printed loss and nothing else. The gradients were never divided, and no curve said
# so ([verl-project/verl#436](https://github.com/verl-project/verl/pull/436)).

# %% [markdown]
# ## Several machines
#
# With $R$ machines (*ranks*), each computes on its own rows, and then their gradients are *averaged*: added up and
# divided by $R$. That division is built into the usual tools.
#
# Take the smallest case: rank 0 has 1 token, with gradient sum 2; rank 1 has 9 tokens, with gradient sum 90. The mean over
# all ten tokens is 92 / 10 = 9.2. If each rank divides by its own count, they hand over 2 and 10, and the average is
# 6.0.

# %% [markdown]
# What must rank $r$, with gradient sum $s_r$, hand over, so that the average comes out right? Call it $h_r = \alpha s_r$
# with one factor $\alpha$ for all ranks. Then
#
# $$\frac{1}{R} \sum_r \alpha s_r = \frac{1}{N} \sum_r s_r \quad\Longrightarrow\quad \alpha = \, ?$$
#
# where $N$ is the number of tokens on all ranks together. That number is the only thing that the ranks must tell each
# other beforehand.

# %% [markdown] exercise="W2.7" role="why"
# **Why.** The same mistake as with micro-batches is waiting here, and a second one beside it: forgetting that the
# reduction divides as well. The printed loss shows neither.
#
# $$\frac{1}{R} \sum_{r} h_r = \frac{1}{N} \sum_r s_r$$
#
# **Worked number.** In the case above, $R = 2$ and $N = 10$. The ranks must hand over 0.4 and 18; their average is 9.2.

# %% [markdown] exercise="W2.7" role="contract"
# **Contract.** `rank_gradients(local_sums, local_counts, world) -> handed_over`
#
# | argument | |
# |---|---|
# | `local_sums` | list of `world` tensors: on each rank, the gradient of the *sum* of its losses |
# | `local_counts` | list of `world` ints: tokens that count on each rank; may be 0 |
# | `world` | the number of ranks |
# | **returns** | list of `world` tensors: what each rank hands to a reduction that averages |
#
# A rank can scale its own sum, and knows all counts; it cannot see another rank's sum. The average of what you return is
# the gradient of the mean over all tokens. If no rank has any token, everything is 0. The inputs are not changed.


# %% exercise="W2.7" role="answer"
def rank_gradients(local_sums: list[Tensor], local_counts: list[int], world: int) -> list[Tensor]:
    """What each rank hands over, so that the average is the gradient of the mean over all tokens."""
    ### BEGIN SOLUTION
    total = sum(local_counts)  # on real machines: one integer, added up over the ranks before backward
    scale = world / max(1, total)  # the reduction divides by world, so multiply by it here
    return [gradient * scale for gradient in local_sums]
    ### END SOLUTION


# %% exercise="W2.7" role="predict"
predict("W2.7", "You forget the factor `world`. Would AdamW notice? Would SGD?", answer=None)

# %% [markdown] exercise="W2.7" role="hint"
# Solve the equation above for the factor. It is the same on all ranks.

# %% [markdown] exercise="W2.7" role="hint"
# The factor has two parts: one undoes the division that the reduction will make, the other makes a mean of a sum.

# %% [markdown] exercise="W2.7" role="hint"
# `scale = world / max(1, sum(local_counts))`, and each tensor of the list times `scale` (a new tensor, not in place).

# %% [markdown] exercise="W2.7" role="after"
# **What this breaks in real training.** Runs that agree on one machine differ on eight, by a little or by a factor of
# eight, and the learning rate gets the blame.
#
# **It happened.** torchtitan normalized per rank and per micro-batch until January 2026; the fix counts over all ranks
# before the first backward pass ([pytorch/torchtitan#2206](https://github.com/pytorch/torchtitan/pull/2206)). The fix of
# the Trainer above averaged over ranks once more
# ([huggingface/transformers#34242](https://github.com/huggingface/transformers/issues/34242)).

# %% [markdown]
# ## Who notices a forgotten division?
#
# Now the experiment. One small model, $K = 4$ micro-batches a step, trained twice: once right, once without the division
# by $K$, so that every gradient is four times too long. And that under three optimizers: SGD, AdamW, and AdamW with the
# gradient clipped to length 1. Before you run the next cell: which of the three pairs will differ?

# %% role="show"
from lmcourse.experiments.accumulation import accumulation_experiment, load_recorded_accumulation

recorded = load_recorded_accumulation()  # a list, one entry for each seed
show_figure(*pictures.forgotten_division_figure(recorded), "Mean and range over the recorded seeds.")

# %% [markdown]
# SGD moves by the gradient, so a gradient four times too long is a learning rate four times too high: here the model
# never recovers, and stays at ln V.
#
# AdamW divides the gradient by its own recent size. A factor of four stands above and below the line, and cancels. The
# two losses agree to three digits. So the mistake is invisible in the curve, not harmless: a learning rate, a weight
# decay or a clip limit that you tuned with it is tuned to the mistake.
#
# One number does show it, and it stands in most logs: the share of clipped steps.

# %% [markdown]
# > **Popular answer.** "Forgetting to divide by the accumulation steps is the same as a K times higher learning rate."
# > True for SGD. For AdamW the figure above says no. The remark "AdamW hides it" stands beside this very bug in the
# > history of [nanoGPT](https://github.com/karpathy/nanoGPT/commit/553f949f).

# %% [markdown]
# You can run it yourself, at half the length, in about ten seconds. Change the seed.

# %% role="play"
mine = accumulation_experiment(seed=7, steps=150)
for name, training in mine.items():
    print(f"{name:18} final loss {training.final:.4f} nats, clipped in {training.clipped:.0%} of the steps")

# %% [markdown] exercise="W2.8" role="why"
# **Why.** You will often be asked to judge a change by its curve. Here you know the truth, and can see what a curve is
# worth.
#
# $$\text{AdamW:} \quad \frac{\hat m}{\sqrt{\hat v} + \epsilon} = \frac{K \hat m}{\sqrt{K^2 \hat v} + \epsilon} \quad \text{up to } \epsilon$$
#
# **Worked number.** A first gradient of 0.02: $\hat m / \sqrt{\hat v} = 0.02 / 0.02 = 1$. Four times as long:
# 0.08 / 0.08 = 1. The step is the same.

# %% [markdown] exercise="W2.8" role="contract"
# **Contract.** A dictionary `forgot` and a word `shows_it`.
#
# | keys of `forgot` | |
# |---|---|
# | `sgd_right`, `sgd_forgot` | final loss in nats per token: with the division, and without |
# | `adamw_right`, `adamw_forgot` | the same for AdamW |
# | `adamw_clip_right`, `adamw_clip_forgot` | the same for AdamW with clipping |
# | `clipped_right`, `clipped_forgot` | share of steps, 0 to 1, in which AdamW with clipping had to clip |
#
# Take one seed of `recorded`, or a run of your own. A run that blew up may be `nan` or infinite.
#
# `shows_it` is the setup whose *loss* gives the mistake away: `"sgd"`, `"adamw"` or `"adamw_clip"`.

# %% exercise="W2.8" role="answer"
forgot = None
shows_it = None
### BEGIN SOLUTION
first = recorded[0]  # run -> {"final": ..., "clipped": ...}
forgot = {name: run["final"] for name, run in first.items()}
forgot["clipped_right"] = first["adamw_clip_right"]["clipped"]
forgot["clipped_forgot"] = first["adamw_clip_forgot"]["clipped"]
shows_it = "sgd"
### END SOLUTION

# %% exercise="W2.8" role="predict"
predict("W2.8", "Which pair of final losses will differ: SGD, AdamW, or AdamW with clipping?", answer=None)

# %% [markdown] exercise="W2.8" role="hint"
# `recorded[0]` is a dictionary of six runs; each has a `"final"` loss and a share `"clipped"`.

# %% [markdown] exercise="W2.8" role="hint"
# The six losses have the names of the runs. The two shares come from `adamw_clip_right` and `adamw_clip_forgot`.

# %% [markdown] exercise="W2.8" role="hint"
# `forgot = {name: run["final"] for name, run in recorded[0].items()}`, and then two more entries. Which of the three
# pairs in `forgot` differs by more than a few thousandths?

# %% [markdown] exercise="W2.8" role="question"
# **In words** (10 points, read by a person). You fine-tune on answers of 5 to 2,000 tokens. Choose a normalization, and
# defend it.
#
# Say what your choice makes equal and what it makes unequal, name one thing that goes wrong with the other choice on
# these data, and say what you would look at to find out whether you chose well. Half a page is plenty.

# %% [markdown] exercise="W2.8" role="written"
# I take the mean over all tokens that count in the step, with one denominator over micro-batches and ranks. Every token
# weighs the same, so the gradient does not depend on how answers were cut into micro-batches or spread over machines.
#
# It makes answers unequal: one of 2,000 tokens has 400 times the say of one of 5. On these data that means that style and
# content come from the long answers, and short answers (yes, no, a number) may stay bad, though they may be half of what
# users see. The mean over examples would turn that round: a token of a 5-token answer would weigh 400 times one of a
# 2,000-token answer, so a handful of one-word answers dominates each step, the gradient gets noisier, and a wrong label
# in a short answer does 400 times the harm.
#
# I would look at the validation loss by length of answer (three or four bins), under both choices, at equal steps; and at
# the gradient norm from step to step as a measure of noise. If short answers stay behind, I would rather show them more
# often than change the denominator, since then the weight is visible in the data.

# %% [markdown] exercise="W2.8" role="after"
# **What this breaks in real training.** A clip limit of 1.0 that fires on every step is no fuse any more: it fixes the
# length of every gradient. In the experiment nothing else about the run gives that away.
#
# **It happened.** A fix in build-nanogpt moved one flag from between forward and backward to before both. With the flag in
# the wrong place, ranks stepped with gradients that were not the sum of all: the validation loss at step 1,000 was 4.88
# instead of 4.15, and the run still looked like training
# ([karpathy/build-nanogpt#30](https://github.com/karpathy/build-nanogpt/pull/30)).

# %% [markdown]
# ## Quiz
#
# Six questions, no points. Run a cell to see its question. Then add your letter, as in `quiz("W2", 1, "a")`, and run it
# again: each answer is explained, the right one and the wrong ones.

# %% role="play"
quiz("W2", 1)

# %% role="play"
quiz("W2", 2)

# %% role="play"
quiz("W2", 3)

# %% role="play"
quiz("W2", 4)

# %% role="play"
quiz("W2", 5)

# %% role="play"
quiz("W2", 6)

# %% [markdown]
# ## Mistakes seen in the wild
#
# - Mean of means over micro-batches:
#   [huggingface/transformers#34191](https://github.com/huggingface/transformers/pull/34191),
#   [ml-explore/mlx-lm#1413](https://github.com/ml-explore/mlx-lm/pull/1413).
# - The same over ranks: [pytorch/torchtitan#2206](https://github.com/pytorch/torchtitan/pull/2206).
# - The same in validation: [pytorch/torchtitan#4167](https://github.com/pytorch/torchtitan/pull/4167).
# - Divided after `backward()`: [verl-project/verl#436](https://github.com/verl-project/verl/pull/436).
# - Gradients cleared or clipped once for each micro-batch: [bytetriper/RAE#67](https://github.com/bytetriper/RAE/issues/67),
#   [facebookresearch/lingua#59](https://github.com/facebookresearch/lingua/pull/59).
# - `nan` where nothing counts: [pytorch/pytorch#70348](https://github.com/pytorch/pytorch/issues/70348).

# %% [markdown]
# ## Summary
#
# - A mean needs a denominator, and each denominator is an objective of its own. Token mean: all tokens equal. Example
#   mean: all examples equal.
# - What does not count is left out of the sum and of the count. Nothing counts: 0, not `nan`.
# - Accumulation: count the tokens of the whole step first; each micro-batch gives its sum divided by that count.
# - Order of a step: rate, backward for all micro-batches, clip once, step, clear.
# - Across ranks the same denominator, times the number of ranks where the reduction averages.
# - AdamW hides a constant factor in the gradient. Test gradients against one big batch, not curves.
#
# **Next week** looks at the numbers themselves: what happens to an update that is too small for the format it is
# stored in.
