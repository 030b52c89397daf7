# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# A training step can be right in every line and still do nothing, because its result is rounded back to where it
# started. This week is about the numbers themselves: which numbers a format has, what happens to the others, and the
# three devices that make training in 16 bits work.
#
# **When you are done you can**
#
# - say from the bits of a format how far its numbers reach and how close they lie;
# - predict when an update is absorbed;
# - round to bfloat16 yourself, to the nearest and by chance;
# - keep master weights, and scale a loss so that float16 can carry its gradients;
# - tell from a log which of three number problems a run has;
# - say what autocast does, and what it must not be wrapped around.

# %% [markdown]
# **Conventions of this week.** `float32`, `float16` and `bfloat16` are torch's names. The *spacing* at a number is the
# distance to the next larger number of the format. A *subnormal* number is one so small that it has fewer digits than
# the others. Steps are counted from 1 in the logs.

# %% role="setup"
import torch
import torch.nn.functional as F
from torch import Tensor

# %% role="show"
import lmcourse.figures.precision as pictures
from lmcourse.checks import check, predict, quiz
from lmcourse.experiments.additions import thousand_additions
from lmcourse.figures import show_figure
from lmcourse.numbers import FORMATS

# %% [markdown]
# ## A thousand steps to nowhere
#
# You have a weight of 1.00 and may keep three digits. An update of 0.001 arrives: 1.001, which is 1.00 in three digits.
# The next one arrives: 1.00 again. After a thousand of them the weight should be 2.00. It is 1.00.
#
# That is not a small error that averages out. It is no motion at all. The next cell does the thousand additions in
# four ways to keep the number.

# %% role="show"
paths = thousand_additions(seed=0)
for way, path in paths.items():
    print(f"{way:22} ends at {float(path[-1]):.4f}")

# %% role="show"
show_figure(*pictures.additions_figure(paths), "1.0 and a thousand updates of 0.001.")

# %% [markdown]
# `bfloat16` does not move. `float16`, with three more bits, ends close to 2, and not at it. Rounding *by chance*
# gets there on average, with noise; you will write it below.

# %% [markdown]
# ## What the bits say
#
# A float is a sign, an exponent and a mantissa: $\pm\, 2^{e} \cdot 1.m$. With $p$ mantissa bits, the numbers between 1
# and 2 are $2^p$ in number and $2^{-p}$ apart; between 2 and 4 they are twice as far apart, and so on:
#
# $$\text{spacing}(x) = 2^{\lfloor \log_2 |x| \rfloor - p}.$$
#
# For $p = 7$ (bfloat16), that is 1/128 at 1, and 2 at 256.

# %% role="show"
print(
    f"{'format':9} {'bits':>4} {'exponent':>8} {'mantissa':>8} {'largest':>10} {'normal':>10} {'smallest':>10} {'at 1':>10}"
)
for name, f in FORMATS.items():
    shape = f"{name:9} {f.bits:4} {f.exponent_bits:8} {f.mantissa_bits:8}"
    print(shape, f"{f.max:10.4g} {f.min_normal:10.3g} {f.min_subnormal:10.3g} {f.spacing(1.0):10.3g}")

# %% [markdown]
# Three things can go wrong with a small number, and they are often confused:
#
# - **underflow**: it is smaller than the smallest number of the format, and becomes zero;
# - **overflow**: it is larger than the largest, and becomes infinite;
# - **absorption**: it fits, but is *added* to a number whose spacing is larger than twice its size, and changes nothing.
#
# bfloat16 reaches as far as float32, so underflow and overflow are rare there. Absorption is its disease. float16 has
# more digits and a short reach: there it is the other way round.

# %% [markdown]
# Exactly between two numbers, rounding goes to the one whose last bit is zero ("ties to even"). So 1 + 1/256, in the
# middle between 1 and 1 + 1/128, goes to 1.

# %% role="show"
one = torch.tensor(1.0)
for update in (1 / 256, 1 / 256 + 1e-7, 1 / 128):
    print(f"1 + {update:.8f} in bfloat16: {(one + update).bfloat16().item()}")

# %% [markdown] exercise="W3.1" role="why"
# **Why.** These four numbers decide whether an update moves a weight, whether a gradient survives, and how far you can
# count. You can read each of them off the bits.
#
# $$\text{largest} = 2^{e_\max} \, (2 - 2^{-p}), \qquad \text{smallest} = 2^{e_\min - p}$$
#
# **Worked number.** An 8-bit format with 5 exponent and 2 mantissa bits: the spacing at 1 is 1/4, so every update up to
# 1/8 is absorbed by 1. Its largest number is $2^{15} \cdot 1.75 = 57{,}344$, its smallest $2^{-14-2} = 1.5 \cdot 10^{-5}$.

# %% [markdown] exercise="W3.1" role="contract"
# **Contract.** Four numbers (three digits are enough; for the second, five).
#
# - `largest_absorbed`: the largest update $u > 0$ for which $1 + u$, rounded to bfloat16, is still 1;
# - `fp16_largest`: the largest finite float16;
# - `fp16_smallest`: the smallest float16 above zero;
# - `counter_stops`: a bfloat16 number counts 0, 1, 2, … by adding 1. At which number does it stop for ever?

# %% exercise="W3.1" role="answer"
largest_absorbed = None
fp16_largest = None
fp16_smallest = None
counter_stops = None
### BEGIN SOLUTION
largest_absorbed = 2**-8  # half the spacing 2^-7; the tie goes to 1, whose last bit is 0
fp16_largest = 2**15 * (2 - 2**-10)  # 5 exponent bits: 15 is the largest that is not infinity
fp16_smallest = 2**-24  # exponent -14, last of 10 mantissa bits
counter_stops = 256  # from here on the spacing is 2, and adding 1 is a tie
### END SOLUTION

# %% exercise="W3.1" role="predict"
predict(
    "W3.1", "Adam's first step has size lr. For which lr does a bfloat16 weight of 1.0 not move?", answer=None
)

# %% [markdown] exercise="W3.1" role="hint"
# bfloat16 has 7 mantissa bits, float16 has 10 and 5 exponent bits. What is the spacing at 1 in each?

# %% [markdown] exercise="W3.1" role="hint"
# An update is absorbed up to *half* the spacing, the tie included, since 1 has an even last bit. For the counter: at
# which power of two does the spacing become 2?

# %% [markdown] exercise="W3.1" role="hint"
# `2**-8`; $2^{15} (2 - 2^{-10})$; $2^{-14} \cdot 2^{-10}$; and $2^{8}$, since the spacing at $2^8$ is $2^{8 - 7} = 2$.

# %% [markdown] exercise="W3.1" role="after"
# **What this breaks in real training.** A step counter, a running count of tokens or a sum of losses in bfloat16 stops at
# 256. Nothing complains.
#
# **It happened.** In a training code with weights in bfloat16, a learning rate of 6e-4 and Adam, 100 steps left 0 of 768
# weights changed; with float32 masters 603 moved. The author's note does the arithmetic you have just done
# ([workofart/ml-by-hand#85](https://github.com/workofart/ml-by-hand/pull/85)).

# %% [markdown]
# ## Rounding by hand
#
# A bfloat16 number is a float32 number whose last 16 bits are zero: same sign, same 8 exponent bits, 7 of the 23 mantissa
# bits. So rounding happens in those 16 bits. Look at them:


# %% role="show"
def bits(x: float) -> str:
    """The 32 bits of a float32: sign, exponent, the seven bits that stay, the sixteen that go."""
    raw = torch.tensor(x).view(torch.int32).item() & 0xFFFFFFFF
    text = f"{raw:032b}"
    return f"{text[0]} {text[1:9]} {text[9:16]} {text[16:]}"


for x in (1.0, 1.001, 1.00390625, 1.01171875, -1.001):
    print(f"{x:11}  {bits(x)}")

# %% [markdown]
# If the sixteen bits that go are less than a half (`1000…0`), cut them off. More than a half: cut, and go one up. Exactly
# half: go to the neighbor whose last kept bit is 0.
#
# All three cases are one addition. Add `0x7FFF`, which is one less than half, plus the last kept bit; then cut. A carry
# runs up into the kept bits exactly when it should, and from the mantissa into the exponent if need be: 1.999 becomes 2.

# %% [markdown] exercise="W3.2" role="why"
# **Why.** Formats are not magic. With the bits in your hand, each surprise of this week is a line of arithmetic, and you
# can write the variant that hardware does not have, which is the next exercise.
#
# $$\text{rounded} = \big(\text{bits} + \texttt{0x7FFF} + \text{last kept bit}\big) \ \& \ \texttt{0xFFFF0000}$$
#
# **Worked number.** 1.00390625 has the bits `1000…0` below: exactly half. Its last kept bit is 0, so `0x7FFF` is added,
# nothing carries, and it becomes 1. For 1.01171875 the last kept bit is 1: the sum carries, and it becomes 1.015625.

# %% [markdown] exercise="W3.2" role="contract"
# **Contract.** `round_bf16(x) -> rounded`
#
# | argument | |
# |---|---|
# | `x` | float32, any shape; must not be changed |
# | **returns** | float32, the shape of `x`: the nearest number that bfloat16 has, ties to even |
#
# NaN stays NaN, infinities stay, ±0 keep their sign, subnormal numbers are rounded as the others. What is nearer to the
# next power of two than to the largest bfloat16 becomes infinite. Do it with integers: `x.view(torch.int32)` shows the
# bits of a tensor, and `.view(torch.float32)` goes back.


# %% exercise="W3.2" role="answer"
def round_bf16(x: Tensor) -> Tensor:
    """Each number rounded to the nearest bfloat16, ties to even, as float32."""
    ### BEGIN SOLUTION
    raw = x.view(torch.int32)
    last_kept = (raw >> 16) & 1  # 1 where the last bit that stays is set
    rounded = (raw + 0x7FFF + last_kept) & -0x10000  # -0x10000 has the upper 16 bits set
    # adding could carry a NaN over into something else, and infinities need no rounding
    return torch.where(x.isfinite(), rounded.view(torch.float32), x)
    ### END SOLUTION


# %% exercise="W3.2" role="predict"
predict("W3.2", "3.4e38 is below float32's largest number. What is it in bfloat16?", answer=None)

# %% [markdown] exercise="W3.2" role="hint"
# Start with the cut: `(x.view(torch.int32) & -0x10000).view(torch.float32)`. That rounds towards zero. Then add
# something before the cut.

# %% [markdown] exercise="W3.2" role="hint"
# Adding `0x8000` before the cut gives rounding to the nearest, but ties always go up. Add one less, and one more where
# the last kept bit `(raw >> 16) & 1` is set.

# %% [markdown] exercise="W3.2" role="hint"
# `rounded = (raw + 0x7FFF + ((raw >> 16) & 1)) & -0x10000`, viewed as float32. At the end,
# `torch.where(x.isfinite(), rounded, x)`, so that NaN stays NaN.

# %% [markdown] exercise="W3.2" role="after"
# **What this breaks in real training.** Truncation instead of rounding looks harmless and is biased: each number is
# pulled towards zero, a little, at every step.
#
# **It happened.** A rounding trick in apex kept a bfloat16 weight plus the 16 lost bits, so that the two together are
# the float32 master. Users found that putting them together again was off in rare cases
# ([NVIDIA/apex#1842](https://github.com/NVIDIA/apex/issues/1842)).

# %% [markdown]
# ## Rounding by chance
#
# 1.001 lies between 1 and 1.0078125, at 12.8 % of the way. Round it up in 12.8 % of the cases, and down in the others:
# then the *mean* is 1.001, though each single result is a number of the format. A thousand updates of 0.001 move the
# weight in 128 jumps, on average, to 2.
#
# $$P(\text{up}) = \frac{x - \text{below}}{\text{above} - \text{below}}$$

# %% [markdown]
# With bits it is one line. The 16 bits that go are the share of the way, as a number from 0 to 65,535. Add a random
# number from 0 to 65,535 and cut: a carry comes with exactly that share as its probability. It works for negative
# numbers too, since the sign is a bit of its own.

# %% [markdown] exercise="W3.3" role="why"
# **Why.** This is how weights can live in 16 bits without a copy in 32: the updates that are too small are not lost, they
# are rare.
#
# $$\mathbb{E}\,[\text{rounded}] = x$$
#
# **Worked number.** The share of 1.001 is $0.001 / 0.0078125 = 0.128$. After $n$ updates of 0.001 the weight has moved by
# $0.001\,n$ on average, with a standard deviation of about $0.0078 \sqrt{0.128 \cdot 0.872\, n}$: 0.08 after a thousand.

# %% [markdown] exercise="W3.3" role="contract"
# **Contract.** `stochastic_round_bf16(x, generator) -> rounded`
#
# | argument | |
# |---|---|
# | `x` | finite float32, any shape; must not be changed |
# | `generator` | a `torch.Generator`, the only source of chance |
# | **returns** | float32, the shape of `x`: one of the two bfloat16 neighbors of each number |
#
# The probability of a neighbor grows linearly as the number comes nearer, so that the mean is right. Numbers that
# bfloat16 has never move. Each element draws for itself.


# %% exercise="W3.3" role="answer"
def stochastic_round_bf16(x: Tensor, generator: torch.Generator) -> Tensor:
    """Each number rounded to one of its bfloat16 neighbors, right in the mean."""
    ### BEGIN SOLUTION
    chance = torch.randint(0x10000, x.shape, generator=generator, dtype=torch.int32)  # 0 .. 65535 each
    # the carry into the kept bits comes with probability (lower 16 bits) / 65536
    return ((x.view(torch.int32) + chance) & -0x10000).view(torch.float32)
    ### END SOLUTION


# %% exercise="W3.3" role="predict"
predict("W3.3", "-1.001: how often does it become -1, how often -1.0078125?", answer=None)

# %% [markdown] exercise="W3.3" role="hint"
# You have rounded by adding a *fixed* number below the cut. What if the number is random?

# %% [markdown] exercise="W3.3" role="hint"
# It must be uniform on 0 … 65,535, so that the carry has the probability (bits that go) / 65,536. A number of the format
# has 0 there and never carries.

# %% [markdown] exercise="W3.3" role="hint"
# `torch.randint(0x10000, x.shape, generator=generator, dtype=torch.int32)`, added to `x.view(torch.int32)`, then
# `& -0x10000` and back to float32.

# %% [markdown] exercise="W3.3" role="after"
# **What this breaks in real training.** Stochastic rounding needs a random state, so a run that is to be resumed bit for
# bit must save it. And it has to be applied where the result is *stored*, once: noise in the middle of a computation is
# just noise.
#
# **It happened.** torchao added it to its optimizers for weights in bfloat16, with the measurement that led there
# ([pytorch/ao#1124](https://github.com/pytorch/ao/pull/1124)). In another trainer the optimizer's update was rounded by
# chance, but weight decay was applied before, in bfloat16, to the nearest: it never did anything
# ([Nerogar/OneTrainer#996](https://github.com/Nerogar/OneTrainer/issues/996)).

# %% [markdown]
# ## Master weights
#
# The usual way is to keep the weights twice: a *master* in float32, which takes the updates, and a bfloat16 copy, with
# which forward and backward compute.
#
# How many weights would move without masters? Take weights as they are in a model, normal with standard deviation 0.02,
# and let each move by the learning rate, as in Adam's first step.

# %% role="show"
weights = 0.02 * torch.randn(100_000, generator=torch.Generator().manual_seed(0))
weights = weights.bfloat16()
for lr in (1e-3, 3e-4, 1e-4, 3e-5, 1e-5, 3e-6):
    moved = (weights.float() + lr).bfloat16() != weights
    print(f"learning rate {lr:.0e}: {1 - moved.float().mean():4.0%} of the weights stay where they are")

# %% [markdown]
# A warm-up starts at small rates, and a cosine ends at them. So without masters the end of a schedule, where the fine
# work is done, does the least.

# %% [markdown] exercise="W3.4" role="why"
# **Why.** The master is the weight. The bfloat16 tensor is a picture of it, made anew after each step.
#
# $$M \leftarrow M - \text{lr} \cdot g \quad (\text{float32}), \qquad w \leftarrow \text{round}(M) \quad (\text{bfloat16})$$
#
# **Worked number.** $M = w = 1$, updates of 0.001. After 3 steps $M = 1.003$, $w = 1$. After 4, $M = 1.004$ is past the
# middle, and $w = 1.0078125$. The updates before were not lost, they were waiting in $M$.

# %% [markdown] exercise="W3.4" role="contract"
# **Contract.** `class MasterWeights`
#
# | | |
# |---|---|
# | `MasterWeights(params)` | `params`: list of bfloat16 tensors, the model's own |
# | `.master` | list of float32 tensors, one for each, in memory of their own |
# | `.step(lr, grads)` | gradient descent on the masters, then `sync()`; `grads`: list of bfloat16 tensors |
# | `.sync()` | writes the rounded masters into the model's own tensors, in place |
# | `.state_dict()` | what must be saved so that nothing is lost (tensors, numbers, lists, dictionaries) |
# | `.load_state_dict(state)` | takes it over, and syncs |
#
# The product of rate and gradient is computed in float32. Saved and loaded in the middle, a run goes on bit for bit.


# %% exercise="W3.4" role="answer"
class MasterWeights:
    """Float32 masters behind the bfloat16 tensors of a model."""

    def __init__(self, params: list[Tensor]) -> None:
        ### BEGIN SOLUTION
        self.params = params  # the model's own tensors: keep them, do not copy them
        self.master = [p.detach().float() for p in params]
        ### END SOLUTION

    def step(self, lr: float, grads: list[Tensor]) -> None:
        ### BEGIN SOLUTION
        for master, grad in zip(self.master, grads, strict=True):
            master -= lr * grad.float()  # in float32, where small updates add up
        self.sync()
        ### END SOLUTION

    def sync(self) -> None:
        ### BEGIN SOLUTION
        for master, param in zip(self.master, self.params, strict=True):
            param.copy_(master)  # copy_ rounds to the type of the target
        ### END SOLUTION

    def state_dict(self) -> dict:
        ### BEGIN SOLUTION
        return {"master": [master.clone() for master in self.master]}
        ### END SOLUTION

    def load_state_dict(self, state: dict) -> None:
        ### BEGIN SOLUTION
        for master, saved in zip(self.master, state["master"], strict=True):
            master.copy_(saved)
        self.sync()
        ### END SOLUTION


# %% exercise="W3.4" role="predict"
predict("W3.4", "You save only the bfloat16 weights and resume. What exactly is lost?", answer=None)

# %% [markdown] exercise="W3.4" role="hint"
# Two lists of the same length: the model's tensors, which you were given, and your float32 copies of them.

# %% [markdown] exercise="W3.4" role="hint"
# `param.copy_(master)` rounds to bfloat16 and writes in place; `param = master.bfloat16()` would only name a new tensor.
# Cast each gradient with `.float()` before you multiply.

# %% [markdown] exercise="W3.4" role="hint"
# `self.master = [p.detach().float() for p in params]`; in `step`, `master -= lr * grad.float()` for each pair, then
# `self.sync()`. The state is `{"master": [m.clone() for m in self.master]}`.

# %% [markdown] exercise="W3.4" role="question"
# **In words** (6 points, read by a person). Forward and backward run in bfloat16. Why, then, do the weights have to be
# kept in float32? Answer in at most six sentences, with one number.

# %% [markdown] exercise="W3.4" role="written"
# Forward and backward multiply and add many numbers of similar size, and an error of 0.4 % in each is noise that largely
# averages out. An update is different: it is a small number added to a large one. bfloat16 has 7 mantissa bits, so
# near a weight of 1 its numbers are 1/128 apart, and any update of up to 1/256 is rounded away. Adam's updates have about
# the size of the learning rate, 1e-4 to 1e-3, so most of them would vanish, and the same way in every step, so that nothing
# averages out. In float32 the spacing at 1 is 1.2e-7, and the updates add up. The copy costs 4 bytes a weight.

# %% [markdown] exercise="W3.4" role="after"
# **What this breaks in real training.** A model loaded in bfloat16 as a whole and trained with an ordinary optimizer has no
# masters. It trains, since large updates pass, and stops improving early.
#
# **It happened.** A user of torchtune reported that fine-tuning converged very badly in bfloat16; the maintainers compared
# with float32
# ([meta-pytorch/torchtune#2254](https://github.com/meta-pytorch/torchtune/issues/2254)).

# %% [markdown]
# ## Gradients that are too small
#
# Now float16. Its weakness is the range: what is smaller than $6 \cdot 10^{-8}$ is zero. How small are gradients? The next
# cell trains a small model for a moment and looks at each number of its gradient.

# %% role="show"
from lmcourse.experiments.gradient_sizes import gradient_sizes

sizes = gradient_sizes(seed=0)
show_figure(*pictures.gradient_figure(sizes), "Gradients of a small model in float32, by size.")

# %% role="show"
print(
    f"{len(sizes.exponents):,} gradients, from 2^{sizes.exponents.min():.0f} to 2^{sizes.exponents.max():.0f}"
)
for scale in (2.0**-12, 2.0**-6, 1.0, 2.0**16, 2.0**20):
    zero, few, inf = sizes.lost(scale), sizes.coarse(scale), sizes.overflow(scale)
    print(f"loss times {scale:10.4g}: {zero:6.1%} become zero, {few:6.1%} lose digits, {inf:6.1%} overflow")

# %% [markdown]
# This model is small and its batch is small, so few of its gradients are in danger: a few percent lose digits. Large
# models and large batches have smaller ones; the first line of the table shows what a shift by a factor of 4,096 does.
#
# The remedy is as simple as the disease. Multiply the *loss* by a large number $S$ before `backward()`. By the chain rule
# every gradient is multiplied by $S$, and moves into the range where float16 has its digits. Divide again before the
# optimizer sees them.

# %% [markdown]
# How large may $S$ be? As large as possible without overflow, and that changes during training. So it is found by trial:
#
# - an infinity or NaN in the gradients: skip this step, and halve $S$;
# - 200 steps in a row without one: double $S$.
#
# The order matters. First divide (*unscale*), then clip, then step. Clipping scaled gradients to length 1 and dividing them
# by 65,536 afterwards leaves an update of nothing.

# %% [markdown] exercise="W3.5" role="why"
# **Why.** A dynamic scaler is a small machine with a memory, and it stands between the gradient and the optimizer. When
# it is wrong, weights become NaN, or a schedule counts steps that never happened.
#
# $$S \leftarrow \begin{cases} \max(1, S \cdot \text{backoff}) & \text{if something is not finite} \\ S \cdot \text{growth} & \text{after interval clean steps in a row} \end{cases}$$
#
# **Worked number.** $S = 65{,}536$ and a gradient of $10^{-7}$: scaled it is 0.0066, well inside float16. A gradient of 2
# becomes 131,072, which is infinite there: the step is skipped, and $S$ becomes 32,768.

# %% [markdown] exercise="W3.5" role="contract"
# **Contract.** `class DynamicScaler(scale=2.0**16, growth=2.0, backoff=0.5, interval=200)`
#
# | | |
# |---|---|
# | `.scale` | the present scale, a number; never below 1 |
# | `.scale_loss(loss)` | the loss times the scale |
# | `.unscale_(params)` | divides the `.grad` of each parameter by the scale; returns whether any number in them is not finite |
# | `.step(optimizer)` | calls `optimizer.step()`, unless `unscale_` found something; then it touches nothing |
# | `.update()` | ends the step: backs off, or counts a clean step and grows after `interval` of them in a row |
# | `.state_dict()`, `.load_state_dict(state)` | everything a resumed run needs |
#
# They are called once a step, in this order; gradients are clipped between `unscale_` and `step`. After growing, the count
# begins anew. A parameter may have no gradient (`None`).


# %% exercise="W3.5" role="answer"
class DynamicScaler:
    """Scales a loss so that gradients fit float16, and finds by trial how far that may go."""

    def __init__(self, scale=2.0**16, growth=2.0, backoff=0.5, interval=200) -> None:
        ### BEGIN SOLUTION
        self.scale, self.growth, self.backoff, self.interval = scale, growth, backoff, interval
        self.clean = 0  # clean steps in a row
        self.found = False  # something not finite in this step
        ### END SOLUTION

    def scale_loss(self, loss: Tensor) -> Tensor:
        ### BEGIN SOLUTION
        return loss * self.scale
        ### END SOLUTION

    def unscale_(self, params) -> bool:
        ### BEGIN SOLUTION
        grads = [p.grad for p in params if p.grad is not None]
        for grad in grads:
            grad.div_(self.scale)
        self.found = not all(bool(grad.isfinite().all()) for grad in grads)  # infinities and NaN
        return self.found
        ### END SOLUTION

    def step(self, optimizer) -> None:
        ### BEGIN SOLUTION
        if not self.found:  # else: no step, no decay, no count
            optimizer.step()
        ### END SOLUTION

    def update(self) -> None:
        ### BEGIN SOLUTION
        if self.found:
            self.scale, self.clean = max(1.0, self.scale * self.backoff), 0
            return
        self.clean += 1
        if self.clean == self.interval:
            self.scale, self.clean = self.scale * self.growth, 0
        ### END SOLUTION

    def state_dict(self) -> dict:
        ### BEGIN SOLUTION
        return {"scale": self.scale, "clean": self.clean}
        ### END SOLUTION

    def load_state_dict(self, state: dict) -> None:
        ### BEGIN SOLUTION
        self.scale, self.clean = state["scale"], state["clean"]
        ### END SOLUTION


# %% exercise="W3.5" role="predict"
predict("W3.5", "Adam gets gradients of zero instead of no step. What changes in its state?", answer=None)

# %% [markdown] exercise="W3.5" role="hint"
# What must it remember between steps? And what only between `unscale_` and `update` of one step?

# %% [markdown] exercise="W3.5" role="hint"
# `grad.isfinite().all()` is false for infinities and for NaN. Look at every gradient, not only the first. A skipped step
# calls nothing at all: a step with zeroed gradients would still move Adam's moments and count.

# %% [markdown] exercise="W3.5" role="hint"
# Keep `self.scale`, `self.clean` and `self.found`. `update`: if found, `scale = max(1.0, scale * backoff)` and `clean = 0`;
# else `clean += 1`, and when it equals `interval`, multiply by `growth` and set it to 0. The state is scale and clean.

# %% [markdown] exercise="W3.5" role="after"
# **What this breaks in real training.** A scaler that is not saved begins a resumed run with a wrong scale, and skips its
# first steps. A schedule that counts skipped steps runs ahead of the weights.
#
# **It happened.** Clipping before unscaling was found in many trainers, and each time the curve was merely flat
# ([milesial/Pytorch-UNet#470](https://github.com/milesial/Pytorch-UNet/pull/470),
# [rwth-i6/returnn#1590](https://github.com/rwth-i6/returnn/issues/1590)). The state of the scaler was missing from
# checkpoints ([huggingface/transformers#11663](https://github.com/huggingface/transformers/pull/11663)), or written and
# not read back ([huggingface/accelerate#4289](https://github.com/huggingface/accelerate/issues/4289)).

# %% [markdown]
# ## Three sick logs
#
# Four runs of the same small model, on the same data. One is healthy. A, B and C each have one number problem. Every line
# is the mean over ten steps, except the gradient norm, which is that of the last (and empty where it was not finite).

# %% role="show"
from lmcourse.experiments.precision_logs import load_recorded_logs

logs = load_recorded_logs()
for name, lines in logs.items():
    print(f"\n{name:8} {'step':>5} {'loss':>7} {'norm':>10} {'unmoved':>8} {'zero grads':>10} {'skipped':>8}")
    for line in (lines[0], lines[len(lines) // 2], lines[-1]):
        norm = "" if line.gradient_norm is None else f"{line.gradient_norm:.3g}"
        shares = f"{line.unmoved_weights:8.1%} {line.zero_gradients:10.1%} {line.skipped_steps:8.0%}"
        print(f"{'':8} {line.step:5} {line.loss:7.3f} {norm:>10} {shares}")

# %% role="show"
show_figure(*pictures.logs_figure(logs), "Four runs of one model; ln V and the floor as dotted lines.")

# %% [markdown] exercise="W3.6" role="why"
# **Why.** The loss of a sick run looks like the loss of another sick run. Its cause stands in a column that most logs do not
# have, and that you will want in yours.
#
# $$\text{cause} \Rightarrow \text{a column that only this cause explains}$$
#
# **Worked number.** Suppose 95 % of the gradients are exactly zero. Small steps or coarse weights cannot do that: gradients
# are computed before any update is rounded. Only a format in which small numbers *become* zero can.

# %% [markdown] exercise="W3.6" role="contract"
# **Contract.** Two dictionaries with the keys `"A"`, `"B"`, `"C"`.
#
# - `cause`: each one of `"absorbed updates"`, `"underflow"`, `"overflow"`, `"learning rate too high"`, `"nothing wrong"`;
# - `proof`: the column that proves it: one of `"loss"`, `"gradient_norm"`, `"unmoved_weights"`, `"zero_gradients"`,
#   `"skipped_steps"`.
#
# A proof is a column that the cause explains and that no other of the three logs shows in the same way.

# %% exercise="W3.6" role="answer"
cause = None
proof = None
### BEGIN SOLUTION
cause = {"A": "absorbed updates", "B": "underflow", "C": "overflow"}
proof = {"A": "unmoved_weights", "B": "zero_gradients", "C": "skipped_steps"}
### END SOLUTION

# %% exercise="W3.6" role="predict"
predict("W3.6", "Which of the three would a learning rate ten times higher help?", answer=None)

# %% [markdown] exercise="W3.6" role="hint"
# Compare each log with the healthy one, column by column. Which column is far off?

# %% [markdown] exercise="W3.6" role="hint"
# Weights that do not move can have three reasons: no gradient arrives, the step is skipped, or the update is too small for
# the format. The other columns tell which.

# %% [markdown] exercise="W3.6" role="hint"
# In one log, steps are skipped. In one, gradients are zero before any optimizer sees them. In the third, gradients arrive in
# good health, and still most weights stay.

# %% [markdown] exercise="W3.6" role="after"
# **What this breaks in real training.** Without the column, the usual reaction to all three is to change the learning rate,
# which helps by accident in one of them.
#
# **It happened.** With a warm-up of 1,000 steps in bfloat16 a run's updates began so small that nothing moved; the report
# says that removing the warm-up "fixed" it
# ([kyegomez/SingLoRA#6](https://github.com/kyegomez/SingLoRA/issues/6)).

# %% [markdown]
# ## What autocast does
#
# `torch.autocast` keeps parameters in float32 and chooses a type *operation by operation*: matrix products in bfloat16, and
# what needs digits (softmax, norms, losses) in float32. Loading a whole model in bfloat16 is something else: then the
# parameters themselves are 16 bits, and you are back at the thousand steps to nowhere.
#
# Autocast is for the forward pass. Backward needs none, since each operation goes back in the type it went forward. The
# optimizer must not be under it.


# %% role="show"
def hasty_mixed_step(model, optimizer, inputs, targets):
    model.bfloat16()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        logits = model(inputs)  # (B, T, V)
        logp = logits.bfloat16().log_softmax(dim=-1).bfloat16()
        loss = -logp.gather(-1, targets[:, :, None]).mean()
        loss.backward()
        optimizer.step()
    optimizer.zero_grad()
    return loss.detach()


# %% [markdown] exercise="W3.7" role="why"
# **Why.** The step above runs, and its loss falls. Each of its four mistakes is in published code.
#
# $$\text{forward (autocast)} \to \text{loss (float32)} \to \text{backward} \to \text{step} \quad (\text{outside})$$
#
# **Worked number.** A loss of 2.303 in bfloat16 is 2.297 or 2.313: the spacing there is 1/64. A loss that falls by 0.005 in
# an evening does not fall at all.

# %% [markdown] exercise="W3.7" role="contract"
# **Contract.** `mixed_step(model, optimizer, inputs, targets) -> loss`
#
# Repair `hasty_mixed_step`: copy it, rename it, and change what is wrong, until
#
# - the parameters stay float32, and their gradients are float32;
# - the model's matrix products run in bfloat16, by autocast on `"cpu"`;
# - the loss (mean over all places, in nats) is computed and returned in float32;
# - backward and optimizer run outside autocast, one step a call, and no gradients are left.


# %% exercise="W3.7" role="answer"
def mixed_step(model, optimizer, inputs: Tensor, targets: Tensor) -> Tensor:
    """One step with bfloat16 products and everything else in float32."""
    ### BEGIN SOLUTION
    with torch.autocast("cpu", dtype=torch.bfloat16):
        logits = model(inputs)  # (B, T, V), bfloat16
    logp = logits.float().log_softmax(dim=-1)  # float32 from here on
    loss = -logp.gather(-1, targets[:, :, None]).mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    return loss.detach()
    ### END SOLUTION


# %% exercise="W3.7" role="predict"
predict("W3.7", "Under autocast, in which type is model.head.weight.grad?", answer=None)

# %% [markdown] exercise="W3.7" role="hint"
# Four lines: one converts the model, two make the loss narrow, and the block is longer than it should be.

# %% [markdown] exercise="W3.7" role="hint"
# Only `logits = model(inputs)` needs the block. Remove `model.bfloat16()`, and turn the logits into float32 before the
# softmax.

# %% [markdown] exercise="W3.7" role="hint"
# `with torch.autocast("cpu", dtype=torch.bfloat16): logits = model(inputs)`, and outside: log-softmax of
# `logits.float()`, mean, `backward()`, `step()`, `zero_grad()`.

# %% [markdown] exercise="W3.7" role="after"
# **What this breaks in real training.** A comparison of formats in which the mixed-precision run looks bad, though the
# format is not to blame.
#
# **It happened.** In a thread that asks for stochastic rounding because autocast trained so badly, a reader found the reason:
# the whole loop ran inside the autocast block. With the forward pass alone in it, the curves agreed
# ([pytorch/pytorch#120376](https://github.com/pytorch/pytorch/issues/120376)). The default of a compiler setting that ran
# backward under autocast was changed for the same reason
# ([pytorch/pytorch#177287](https://github.com/pytorch/pytorch/pull/177287)).

# %% [markdown] exercise="W3.8" role="why"
# **Why.** Scalers are copied from project to project, and each copy has a chance to lose a line. The mistakes show only in
# rare steps, so nobody meets them while developing. A test makes the rare step happen.
#
# $$\text{state after a skipped step} = \text{state before it}$$
#
# **Worked number.** With `interval=3`: clean, clean, overflow, clean, clean, clean. A right scaler backs off once and grows
# once. One that forgets to reset its count grows at the fourth step already.

# %% [markdown] exercise="W3.8" role="contract"
# **Contract.** `test_scaler(scaler_class) -> None`
#
# You get a class with the methods of W3.5 and the arguments `(scale, growth, backoff, interval)`. Return quietly if it keeps
# that contract, raise `AssertionError` otherwise. You set `.grad` of parameters yourself (multiply by `.scale`), and use any
# optimizer.
#
# Right ones may differ in the last digit of a gradient (allow 1e-6, relative), may replace `.grad` by a new tensor, may
# return other true and false values than `True` and `False`, and may save more than you expect: only what
# `load_state_dict` brings back is promised.


# %% exercise="W3.8" role="answer"
def test_scaler(scaler_class) -> None:
    """Accepts a scaler that divides once, skips without a trace, backs off, grows on time, and resumes."""
    ### BEGIN SOLUTION
    scaler = scaler_class(8.0, 2.0, 0.5, 3)
    assert float(scaler.scale_loss(torch.tensor(2.0))) == 16
    first, second = torch.nn.Parameter(torch.zeros(2)), torch.nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.Adam([first, second], lr=0.01)
    true = torch.tensor([3.0, -2.0])
    expected = [8, 8, 4, 4, 4, 8, 4, 4, 2, 1, 1, 1, 1, 1, 1, 2, 2]  # the scale after each step
    for number, kind in enumerate("..i...n.iiiin...."):  # clean, infinity, NaN
        if number == 5:  # in the middle of an interval, at a scale of its own
            state = scaler.state_dict()
            scaler = scaler_class(32.0, 2.0, 0.5, 3)
            scaler.load_state_dict(state)
        bad = {".": 1.0, "i": float("inf"), "n": float("nan")}[kind]
        first.grad, second.grad = true * scaler.scale, torch.tensor([bad * scaler.scale])
        before = [first.detach().clone(), second.detach().clone()]
        steps = float(optimizer.state[first].get("step", 0))
        found = scaler.unscale_([first, second])
        assert bool(found) == (kind != "."), "what unscale_ found"
        scaler.step(optimizer)
        assert torch.allclose(first.grad, true, rtol=1e-6), "divided once, by the scale"
        taken = float(optimizer.state[first].get("step", 0)) - steps
        assert taken == (kind == "."), "a skipped step does not count"
        if kind != ".":
            assert torch.equal(first, before[0]) and torch.equal(second, before[1]), (
                "a skipped step moves nothing"
            )
        scaler.update()
        assert float(scaler.scale) == expected[number], f"scale after step {number + 1}"
    ### END SOLUTION


# %% exercise="W3.8" role="predict"
predict("W3.8", "Your test uses SGD. Which mistake about skipped steps can it not see?", answer=None)

# %% [markdown] exercise="W3.8" role="hint"
# Play a short training by hand: a list of clean steps and overflows, and for each the scale you expect afterwards. Then add
# what else must hold in each step.

# %% [markdown] exercise="W3.8" role="hint"
# Look at: the factor of `scale_loss`; gradients after `unscale_` and after `step`; what `unscale_` returns, for infinity
# and for NaN, in a later parameter; the weights *and* Adam's step count in a skipped step; many overflows in a row;
# saving in the middle of an interval, when the scale is not the first one.

# %% [markdown] exercise="W3.8" role="hint"
# One loop over a string such as `"..i...n.iiiin...."` with `interval=3`. In each step set the gradients times
# `scaler.scale`, spoil the last one if the letter says so, call `unscale_`, `step`, `update`, and compare. In the middle,
# make a new scaler and load the state of the old one.

# %% [markdown] exercise="W3.8" role="after"
# **What this breaks in real training.** A skipped step happens once in thousands, so code for it is run by nobody until it
# matters.
#
# **It happened.** One project called `update` only in steps that were taken. The first skipped step left the scaler in a
# state in which the next one crashed ([Haian-Jin/LVSM#19](https://github.com/Haian-Jin/LVSM/pull/19)). Another let its
# learning-rate schedule count skipped steps, and had to wind it back by hand
# ([NVIDIA-NeMo/Speech#3293](https://github.com/NVIDIA-NeMo/Speech/pull/3293)).

# %% [markdown]
# ## Quiz
#
# Seven questions, no points. Run a cell to see its question. Then add your letter, as in `quiz("W3", 1, "a")`, and run it
# again: each answer is explained, the right one and the wrong ones.

# %% role="play"
quiz("W3", 1)

# %% role="play"
quiz("W3", 2)

# %% role="play"
quiz("W3", 3)

# %% role="play"
quiz("W3", 4)

# %% role="play"
quiz("W3", 5)

# %% role="play"
quiz("W3", 6)

# %% role="play"
quiz("W3", 7)

# %% [markdown]
# ## Mistakes seen in the wild
#
# - Weights in bfloat16 without masters: [workofart/ml-by-hand#85](https://github.com/workofart/ml-by-hand/pull/85).
# - Weight decay rounded away: [Nerogar/OneTrainer#996](https://github.com/Nerogar/OneTrainer/issues/996).
# - Clipped before unscaling: [milesial/Pytorch-UNet#470](https://github.com/milesial/Pytorch-UNet/pull/470).
# - The loop inside autocast: [pytorch/pytorch#120376](https://github.com/pytorch/pytorch/issues/120376).
# - Scaler state lost: [huggingface/accelerate#4289](https://github.com/huggingface/accelerate/issues/4289).

# %% [markdown]
# ## Summary
#
# - Spacing grows with size. An update of up to half the spacing is absorbed, the same way in every step.
# - bfloat16: range of float32, two to three digits. Its disease is absorption. float16: more digits, short range. Its
#   diseases are underflow and overflow.
# - Masters in float32 take the updates; the bfloat16 weights are their picture. Or round by chance, and save the random state.
# - Loss scaling: scale, backward, unscale once, look for what is not finite, clip, step or skip, update. A skipped step
#   leaves no trace.
# - Autocast goes around the forward pass only. Keep softmax and loss in float32.
# - Log the share of weights that did not move, of gradients that are zero, and of steps that were skipped.
#
# **Next week** asks what to do with a gradient once it has arrived: four optimizers, and a fair race.
