# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# A gradient says which way is down, for a step of no length. An optimizer decides how far to go. This week you write
# four of them, race them, and then learn why one race decides nothing.
#
# **When you are done you can**
#
# - write momentum, AdamW and Muon, and say what each remembers;
# - explain why Adam's first step has the size of the learning rate, whatever the gradient;
# - say which weights should decay;
# - tell an optimizer by the path it takes;
# - compare two optimizers fairly.

# %% [markdown]
# **Conventions of this week.** `p` is a parameter, `g` its gradient, `lr` the learning rate. A step changes `p` *in place*,
# as `p.mul_(…)`, `p.add_(…)`, `p -= …` and `p.copy_(…)` do; `p = …` gives a name to another tensor, and the caller sees
# nothing of it. What an optimizer remembers of a parameter stands in `state`, a dictionary of that parameter's own.

# %% role="setup"
import torch
from torch import Tensor

# %% role="show"
import lmcourse.figures.optimizers as pictures
from lmcourse.checks import check, predict, quiz
from lmcourse.figures import show_figure
from lmcourse.optimizers import newton_schulz as orthogonalize

# %% [markdown]
# ## A ball with momentum
#
# Plain SGD is `p -= lr * g`. In a ravine, steep across and flat along, it has a dilemma: a rate that is small enough for
# the walls is too small for the floor. Momentum adds gradients up. Across, they change sign and cancel; along, they agree.

# %% [markdown] exercise="W4.1" role="why"
# **Why.** The oldest remedy is one line long, and it stands inside all later ones.
#
# $$m \leftarrow \beta m + g, \qquad p \leftarrow p - \eta \, m$$
#
# **Worked number.** A gradient of 1 that never changes, $\beta = 0.9$: the buffer goes 1, 1.9, 2.71 and ends at
# $1 / (1 - \beta) = 10$. Momentum 0.9 is, in the long run, a rate ten times higher.

# %% [markdown] exercise="W4.1" role="contract"
# **Contract.** `momentum_step(p, g, buf, lr, beta) -> None`
#
# `p`, `g` and `buf` are tensors of one shape; `buf` is zero before the first step. First `buf` becomes `beta * buf + g` (a
# running sum, no mean), then `p` moves by `-lr * buf`. Both change in place; `g` does not change.


# %% exercise="W4.1" role="answer"
def momentum_step(p: Tensor, g: Tensor, buf: Tensor, lr: float, beta: float) -> None:
    """One step of momentum; changes p and buf."""
    ### BEGIN SOLUTION
    buf.mul_(beta).add_(g)
    p.sub_(lr * buf)
    ### END SOLUTION


# %% exercise="W4.1" role="predict"
predict("W4.1", "A constant gradient, beta 0.9: how many times longer do steps become?", answer=None)

# %% [markdown] exercise="W4.1" role="hint"
# Two lines: the buffer first, then the parameter. The step uses the new buffer.

# %% [markdown] exercise="W4.1" role="hint"
# `buf = beta * buf + g` would only rename. Which methods of a tensor change it?

# %% [markdown] exercise="W4.1" role="hint"
# `buf.mul_(beta).add_(g)`, then `p.sub_(lr * buf)`.

# %% [markdown] exercise="W4.1" role="after"
# **What this breaks in real training.** Sum and mean differ by the factor $1 / (1 - \beta)$ in the learning rate. A rate
# that is copied from a library with the other convention is wrong by ten.
#
# **It happened.** optax's first Muon orthogonalized the gradient of the step where it should have taken the momentum. Its
# author repaired it and asked for harder toy tests, so that such a slip would be seen at once
# ([google-deepmind/optax#1170](https://github.com/google-deepmind/optax/pull/1170)).

# %% [markdown]
# ## Adam
#
# A gradient of 0.001 and one of 1,000 move SGD by steps that differ a million times. Adam divides each entry by its own
# recent size. It keeps two running means, of $g$ and of $g^2$. Both start at zero, so both are too small at first: after
# one step, $m = (1 - \beta_1) g$. The *correction* divides by what is missing. The next cell shows the first step with
# and without it.

# %% role="show"
for size in (1e-3, 1.0, 1e3):
    m, v = 0.1 * size, 0.05 * size**2  # after one step, betas (0.9, 0.95)
    print(f"g = {size:7g}: without {m / v**0.5:.3f}, corrected {(m / 0.1) / (v / 0.05) ** 0.5:.3f}")

# %% [markdown] exercise="W4.2" role="why"
# **Why.** This is the optimizer behind most language models. It has six places in which a slip trains on.
#
# $$\hat m = \frac{m}{1 - \beta_1^t}, \quad \hat v = \frac{v}{1 - \beta_2^t}, \qquad
#   p \leftarrow (1 - \eta \lambda) \, p - \eta \, \frac{\hat m}{\sqrt{\hat v} + \epsilon}$$
#
# **Worked number.** First step, $g = -50$: $\hat m = -50$, $\hat v = 2500$, so $p$ moves by
# $-\eta \cdot (-50) / 50 = +\eta$. With $g = 0.001$ it moves by $-\eta$.

# %% [markdown] exercise="W4.2" role="contract"
# **Contract.** `adamw_step(p, g, state, *, lr, betas, eps, weight_decay) -> None`
#
# | argument | |
# |---|---|
# | `p`, `g` | tensors of one shape, float32 or float64; `p` changes in place, `g` does not change |
# | `state` | dict of this parameter, empty before its first step; everything you remember goes there |
# | `betas` | memory of $m$ and of $v$ |
# | `eps` | behind the root, after the correction |
# | `weight_decay` | $\lambda$; shrinks the weight before the step, apart from the gradient |
#
# The first step has $t = 1$. A copy of `p` and `state`, as from a checkpoint, goes on as the original would.


# %% exercise="W4.2" role="answer"
def adamw_step(p: Tensor, g: Tensor, state: dict, *, lr, betas, eps, weight_decay) -> None:
    """One step of AdamW; changes p and state."""
    ### BEGIN SOLUTION
    t = state["t"] = state.get("t", 0) + 1
    state["m"] = betas[0] * state.get("m", 0.0) + (1 - betas[0]) * g
    state["v"] = betas[1] * state.get("v", 0.0) + (1 - betas[1]) * g * g
    m_hat = state["m"] / (1 - betas[0] ** t)
    v_hat = state["v"] / (1 - betas[1] ** t)
    p.mul_(1 - lr * weight_decay)
    p.sub_(lr * m_hat / (v_hat.sqrt() + eps))
    ### END SOLUTION


# %% exercise="W4.2" role="predict"
predict("W4.2", "All gradients become 1000 times larger. What does AdamW do differently?", answer=None)

# %% [markdown] exercise="W4.2" role="hint"
# Five things in order: count, two means, two corrections, decay, step.

# %% [markdown] exercise="W4.2" role="hint"
# `state.get("m", 0.0)` gives a start without a special case. Count before you correct: t = 1 in the first step.

# %% [markdown] exercise="W4.2" role="hint"
# `m_hat = m / (1 - betas[0] ** t)`, `v_hat` likewise; `p.mul_(1 - lr * weight_decay)`; `p.sub_(lr * m_hat / (v_hat.sqrt() + eps))`.

# %% [markdown] exercise="W4.2" role="after"
# **What this breaks in real training.** A step number that stands still gives no correction, or never ends it; the run
# trains at another rate than the one in its log.
#
# **It happened.** In a custom AdamW of OLMo-core the step number was never increased. Its maintainers put the effective
# rate at 2.2 times the one that was set ([allenai/OLMo-core#317](https://github.com/allenai/OLMo-core/pull/317)). In
# NVIDIA's BERT example each variable increased one common number
# ([NVIDIA/DeepLearningExamples#391](https://github.com/NVIDIA/DeepLearningExamples/issues/391)).

# %% [markdown]
# ## What decays
#
# Decay pulls a weight toward zero. For a matrix that means a smaller function. A gain of a norm belongs near 1, where zero
# means nothing; a bias has too few numbers to overfit. So: matrices and embeddings decay, everything with one dimension or
# none does not.
#
# What published runs used:
#
# | run | betas | decay | clip | tokens a step |
# |---|---|---|---|---|
# | GPT-3 175B ([Brown et al. 2020](https://arxiv.org/abs/2005.14165)) | 0.9, 0.95 | 0.1 | 1.0 | 3.2 M |
# | Llama 2 ([Touvron et al. 2023](https://arxiv.org/abs/2307.09288)) | 0.9, 0.95 | 0.1 | 1.0 | 4 M |
# | DeepSeek-V3 ([2024](https://arxiv.org/abs/2412.19437)) | 0.9, 0.95 | 0.1 | 1.0 | up to 63 M |

# %% [markdown] exercise="W4.3" role="why"
# **Why.** An optimizer of torch takes *groups* of parameters, each with its own settings. The function that makes them is
# written once per project, and often by name.
#
# $$\lambda_p = \begin{cases} \lambda & \dim p \ge 2 \\ 0 & \text{otherwise} \end{cases}$$
#
# **Worked number.** A norm gain of 1, rate 0.001, decay 0.1, no gradient: after 10,000 steps it is
# $(1 - 0.0001)^{10000} = 0.37$.

# %% [markdown] exercise="W4.3" role="contract"
# **Contract.** `param_groups(model, weight_decay) -> list[dict]`
#
# Each dictionary has `"params"`, a list of parameters (or of pairs with their names), and `"weight_decay"`. Every trainable
# parameter stands in exactly one group: with two or more dimensions under `weight_decay` (embeddings too), otherwise under
# 0. Frozen parameters (`requires_grad` is `False`) are left out. A tied weight, one tensor with two names, stands there
# once. Inside a group, keep the order of `model.named_parameters()`. The model does not change.


# %% exercise="W4.3" role="answer"
def param_groups(model, weight_decay: float) -> list[dict]:
    """Groups for an optimizer: what decays, and what does not."""
    ### BEGIN SOLUTION
    trained = [p for p in model.parameters() if p.requires_grad]  # tied weights come once
    return [
        {"params": [p for p in trained if p.dim() >= 2], "weight_decay": weight_decay},
        {"params": [p for p in trained if p.dim() < 2], "weight_decay": 0.0},
    ]
    ### END SOLUTION


# %% exercise="W4.3" role="predict"
predict("W4.3", "Going by the name 'bias' alone: which parameters would decay by mistake?", answer=None)

# %% [markdown] exercise="W4.3" role="hint"
# Names are a convention, dimensions are a fact: `p.dim()`.

# %% [markdown] exercise="W4.3" role="hint"
# `model.parameters()` already lists a tied weight once, and goes into all modules. What is left is `requires_grad`.

# %% [markdown] exercise="W4.3" role="hint"
# One list of trainable parameters, then two comprehensions: `p.dim() >= 2` and `p.dim() < 2`.

# %% [markdown] exercise="W4.3" role="after"
# **What this breaks in real training.** Gains that shrink make every layer quieter, and the loss curve shows nothing.
#
# **It happened.** DeepSpeed-Chat looked for the name `LayerNorm.weight`. OPT calls it `layer_norm`, Llama `norm`, Bloom
# `ln_f`, so their gains decayed
# ([deepspeedai/DeepSpeedExamples#755](https://github.com/deepspeedai/DeepSpeedExamples/pull/755)).

# %% [markdown]
# ## Directions of a matrix
#
# Adam treats a matrix as a bag of numbers. Muon looks at it as a map. A gradient $G = U \Sigma V^\top$ usually has a few
# large singular values; a step along $G$ moves in these directions and hardly in the others. Muon steps along $U V^\top$:
# the same directions, all equally far.
#
# An SVD in each step is slow. A polynomial does: if $X = U S V^\top$, then $a X + b (X X^\top) X + c (X X^\top)^2 X$
# has the same $U$ and $V$, and singular values $a s + b s^3 + c s^5$.

# %% role="show"
s = torch.tensor([1.0, 0.3, 0.1, 0.01, 0.001])
for step in range(6):
    print(step, s.numpy().round(3))
    s = 3.4445 * s - 4.7750 * s**3 + 2.0315 * s**5

# %% [markdown]
# > **Popular answer.** "Newton-Schulz makes all singular values equal to one." With these coefficients it does not. They end
# > in a band around 1 and never settle, however many steps follow. The coefficients were chosen for speed: the slope at
# > zero is 3.4 a step.

# %% [markdown] exercise="W4.4" role="why"
# **Why.** Five products of matrices replace an SVD, on hardware that is built for products
# ([Jordan et al. 2024](https://kellerjordan.github.io/posts/muon/)).
#
# $$X_0 = \frac{G}{\lVert G \rVert_F}, \qquad X \leftarrow a X + (b A + c A A) X, \quad A = X X^\top$$
#
# with $(a, b, c) = (3.4445, -4.7750, 2.0315)$.
#
# **Worked number.** A matrix of rank one has one singular value, and $X_0$ has 1. One step gives
# $3.4445 - 4.7750 + 2.0315 = 0.701$.

# %% [markdown] exercise="W4.4" role="contract"
# **Contract.** `newton_schulz(G, steps=5) -> X`
#
# `G` is `(..., r, c)`, float32 or float64, each matrix of a batch by itself; `X` has its shape and dtype. Five steps bring every
# singular value that is at least 0.002 of the Frobenius norm into 0.66 to 1.22, and keep the singular vectors. `G` times a
# positive number gives the same. A zero matrix gives zero. `G` does not change. An exact method is accepted too.


# %% exercise="W4.4" role="answer"
def newton_schulz(G: Tensor, steps: int = 5) -> Tensor:
    """Singular values near 1, singular vectors kept."""
    ### BEGIN SOLUTION
    a, b, c = 3.4445, -4.7750, 2.0315
    X = G / G.norm(dim=(-2, -1), keepdim=True).clamp(min=1e-30)
    tall = G.shape[-2] > G.shape[-1]
    X = X.mT if tall else X  # the short side first: A is then the smaller square
    for _ in range(steps):
        A = X @ X.mT
        X = a * X + (b * A + c * A @ A) @ X
    return X.mT if tall else X
    ### END SOLUTION


# %% exercise="W4.4" role="predict"
predict("W4.4", "A direction 1000 times weaker than the strongest: where does it end?", answer=None)

# %% [markdown] exercise="W4.4" role="hint"
# Normalize, loop, return. The norm is one number for each matrix: `dim=(-2, -1), keepdim=True`.

# %% [markdown] exercise="W4.4" role="hint"
# `X.mT` transposes the last two dimensions. Turn tall matrices before the loop and back after it.

# %% [markdown] exercise="W4.4" role="hint"
# `A = X @ X.mT` and `X = a * X + (b * A + c * A @ A) @ X`, five times; `.clamp(min=1e-30)` for the norm.

# %% [markdown] exercise="W4.4" role="after"
# **What this breaks in real training.** Without the norm a singular value above about 1.5 grows in each step, and the first
# update is infinite. With one norm for a whole batch, the smaller matrices hardly move.
#
# **It happened.** torchtitan's fused linear layers hold two interleaved matrices; orthogonalized as one, they are coupled
# ([pytorch/torchtitan#4532](https://github.com/pytorch/torchtitan/issues/4532)).

# %% [markdown] exercise="W4.5" role="why"
# **Why.** Around the iteration stand four decisions: what is averaged, what is orthogonalized, how large the update is, and
# what counts as one matrix.
#
# $$m \leftarrow \mu m + (1 - \mu) g, \quad n = (1 - \mu) g + \mu m, \quad
#   p \leftarrow (1 - \eta \lambda) p - \eta \sqrt{\max(1, r / c)} \; O(n)$$
#
# **Worked number.** A fused matrix of queries, keys and values, 12 x 4, is three of 4 x 4: each has the scale 1. Taken as
# one it would have $\sqrt{3} = 1.73$.

# %% [markdown] exercise="W4.5" role="contract"
# **Contract.** `muon_step(p, g, state, orthogonalize, *, lr, momentum, weight_decay, split=1) -> None`
#
# `p` and `g` are `(r, c)`; `p` changes in place, `g` does not. `state` is as in W4.2. `orthogonalize(M)` does what W4.4 does,
# for `(..., r, c)`; it is handed to you, so that this exercise stands alone. $m$ averages raw gradients, $n$ looks ahead
# (Nesterov), and $n$ is orthogonalized. `p` holds `split` matrices of equal height, one below the other: each is
# orthogonalized by itself and sized by its *own* shape. Decay as in W4.2.


# %% exercise="W4.5" role="answer"
def muon_step(
    p: Tensor, g: Tensor, state: dict, orthogonalize, *, lr, momentum, weight_decay, split=1
) -> None:
    """One step of Muon; changes p and state."""
    ### BEGIN SOLUTION
    m = state["m"] = momentum * state.get("m", 0.0) + (1 - momentum) * g
    look = (1 - momentum) * g + momentum * m
    p.mul_(1 - lr * weight_decay)
    for part, n in zip(p.chunk(split), look.chunk(split), strict=True):  # views into p
        part.sub_(lr * max(1, n.shape[0] / n.shape[1]) ** 0.5 * orthogonalize(n))
    ### END SOLUTION


# %% exercise="W4.5" role="predict"
predict("W4.5", "Queries with gradients 100 times those of the keys, not split: who moves?", answer=None)

# %% [markdown] exercise="W4.5" role="hint"
# Momentum and look-ahead first, for the whole matrix. The parts come later.

# %% [markdown] exercise="W4.5" role="hint"
# `p.chunk(split)` gives views: changing one in place changes `p`.

# %% [markdown] exercise="W4.5" role="hint"
# For each pair of parts: `part.sub_(lr * max(1, n.shape[0] / n.shape[1]) ** 0.5 * orthogonalize(n))`.

# %% [markdown] exercise="W4.5" role="after"
# **What this breaks in real training.** In a fused matrix the strongest part decides what is a large singular value. Weak
# parts are left behind, which is what Muon was taken to prevent.
#
# **It happened.** xtuner orthogonalized fused queries, keys and values as one, until a change gave the optimizer the rows of
# each ([InternLM/xtuner#2030](https://github.com/InternLM/xtuner/pull/2030)).

# %% [markdown]
# ## A test for the first step
#
# The corrected first step has a property that is easy to state: it is `lr` long in every entry, against the sign of the
# gradient. A test of that needs no second implementation. But it must be tried where mistakes show.

# %% [markdown] exercise="W4.6" role="why"
# **Why.** This test finds a forgotten correction in milliseconds; a loss curve may never show it.
#
# $$p_1 - p_0 = -\eta \, \mathrm{sign}(g) \quad \text{for } |g| \gg \epsilon$$
#
# **Worked number.** With $g = 10^{-4}$ and $\epsilon = 10^{-8}$ the step is $\eta \cdot 0.9999$. With $\epsilon$ inside
# the root it would be $10^{-4} / \sqrt{10^{-8} + 10^{-8}} = 0.71 \, \eta$.

# %% [markdown] exercise="W4.6" role="contract"
# **Contract.** `test_bias_correction_makes_first_step_full_size(step) -> None`
#
# Implementations are called as `step(p, g, state, *, lr, betas, eps, weight_decay)` and return `(p, state)`, new ones; start
# with `state = {}`. Return quietly if the first step is `lr` long in every entry, against the gradient; raise
# `AssertionError` otherwise. Right ones may be Adam or AdamW: they differ in the decay. For `eps` of 1e-8, `betas[1]` up to
# 0.999 and gradients of 1e-4 and more, right steps are within 1 %. Use no global random state.


# %% exercise="W4.6" role="answer"
def test_bias_correction_makes_first_step_full_size(step) -> None:
    """Accepts an Adam whose first step has the length of the learning rate."""
    ### BEGIN SOLUTION
    g = torch.tensor([2e-4, -3e-3, 0.7, -20.0, 5e3], dtype=torch.float64)  # sizes and signs
    for lr in (0.02, 0.3):
        for betas in ((0.9, 0.95), (0.8, 0.999)):
            p = torch.zeros_like(g)
            new, _ = step(p, g, {}, lr=lr, betas=betas, eps=1e-8, weight_decay=0.0)
            gap = (new - (p - lr * g.sign())).abs().max()
            assert gap <= 0.01 * lr, f"a first step is off by {gap / lr:.0%} of the rate"
    ### END SOLUTION


# %% exercise="W4.6" role="predict"
predict("W4.6", "A test with g = 1 alone: which mistakes does it miss?", answer=None)

# %% [markdown] exercise="W4.6" role="hint"
# Choose gradients of several sizes and both signs, in one tensor. Then think of a mistake that they would hide.

# %% [markdown] exercise="W4.6" role="hint"
# Things that hide mistakes: one rate, the usual betas, large gradients alone, comparing lengths alone. And a decay that is not zero rejects one kind of right ones.

# %% [markdown] exercise="W4.6" role="hint"
# `new, _ = step(p, g, {}, lr=lr, betas=betas, eps=1e-8, weight_decay=0.0)`, and assert that `new - p` is within 1 % of `-lr * g.sign()`, for two rates and two pairs of betas.

# %% [markdown] exercise="W4.6" role="after"
# **What this breaks in real training.** Without correction of $v$ alone, with $\beta_2 = 0.95$, the first step is 4.5 times
# too long, at the time when the weights are random.
#
# **It happened.** The optimizer that BERT was published with has no correction. Asked why, its author answered that it was
# mostly an oversight, harmless with a warm-up
# ([google-research/bert#153](https://github.com/google-research/bert/issues/153)).

# %% [markdown]
# ## The race
#
# Four optimizers ran 200 steps each from the same point, on two landscapes: a tilted *ravine* and a *plateau* whose slope
# is almost zero at the start. The rates were chosen to tell a story, not to win. In the last 30 % of the steps they fall to
# zero.
#
# In two dimensions a parameter is a 2 x 1 matrix. It has one singular value, so Muon's step there is a direction of constant
# length, about 0.70 of the rate.

# %% role="show"
from lmcourse.experiments.race_paths import load_race_paths

paths = load_race_paths()  # landscape -> "P1" ... "P4" -> points
show_figure(*pictures.race_figure(paths), "Four optimizers without their names; + is the goal.")

# %% [markdown] exercise="W4.7" role="why"
# **Why.** You will rarely see the source of an optimizer, and often its behavior.
#
# $$\text{SGD: } \eta \lVert g \rVert \qquad \text{momentum: up to } \frac{\eta \lVert g \rVert}{1 - \beta} \qquad
#   \text{Adam: } \approx \eta \text{ per entry} \qquad \text{Muon: } \approx 0.7 \, \eta$$
#
# **Worked number.** With a slope of 0.007 and a rate of 0.1, SGD's step is 0.0007 long. To cross a distance of 3.3 at that
# pace takes more than 4,000 steps.

# %% [markdown] exercise="W4.7" role="contract"
# **Contract.** A dictionary `race` with five entries.
#
# `"P1"` to `"P4"`: `"sgd"`, `"momentum"`, `"adam"` or `"muon"`, each once. `"claim"`: the letter of the claim that the pictures
# support.
#
# - `"a"`: Muon is the best of the four for language models.
# - `"b"`: On the plateau, SGD is about to arrive.
# - `"c"`: With these rates, the paths whose step does not shrink with the gradient set out over the plateau at
#   full speed; SGD hardly moves.
# - `"d"`: In the ravine, all four are at the goal after 200 steps.

# %% exercise="W4.7" role="answer"
race = None
### BEGIN SOLUTION
race = {"P1": "adam", "P2": "sgd", "P3": "muon", "P4": "momentum", "claim": "c"}
### END SOLUTION

# %% exercise="W4.7" role="predict"
predict("W4.7", "Which of the four will be first at the bottom of the plateau?", answer=None)

# %% [markdown] exercise="W4.7" role="hint"
# Start with the plateau: who hardly moves has a step in proportion to the gradient.

# %% [markdown] exercise="W4.7" role="hint"
# Then look at the lengths of steps. One line is flat until the rates fall.

# %% [markdown] exercise="W4.7" role="hint"
# Shortest path on the plateau: SGD. Flat line of step lengths: Muon. Steps that grow on the plateau from small to large:
# momentum. What is left, full steps from the start that shrink later: Adam.

# %% [markdown] exercise="W4.7" role="after"
# **What this breaks in real training.** A picture in two dimensions is good for mechanisms and bad for verdicts: nothing in
# it was tuned, and nothing in it has the shape of a network.
#
# **It happened.** Muon needs care at scale. The Kimi K2 report trained on 15.5 trillion tokens without a loss spike only with
# a limit on attention scores beside it ([Kimi K2, 2025](https://arxiv.org/abs/2507.20534)).

# %% [markdown]
# ## A duel
#
# Now a real model, on stories of `StoryGrammar`. AdamW and Muon get the same four learning rates, the same two seeds, the same
# data. Muon's updates are sized as AdamW's are ([Liu et al. 2025](https://arxiv.org/abs/2502.16982)), so that one grid is
# fair to both.

# %% role="show"
from lmcourse.experiments.duel import duel_run, load_recorded_duel

recorded = load_recorded_duel()  # a list of {"optimizer", "lr", "seed", "loss"}
show_figure(*pictures.duel_figure(recorded), "A marker for each run, lines through the means of two seeds.")

# %% [markdown]
# You can run one yourself, at a quarter of the length.

# %% role="play"
print(f"{duel_run('adamw', lr=3e-3, seed=7, steps=50):.3f} nats per token after 50 steps")

# %% [markdown] exercise="W4.8" role="why"
# **Why.** "Optimizer A beats B" needs both to be tuned, and a gap that is larger than the noise.
#
# $$\text{gap} = \big| \min_\eta \bar L_A(\eta) - \min_\eta \bar L_B(\eta) \big| \quad \text{against} \quad
#   \text{spread} = \max_{A, B} \big| L_{\text{seed } 0} - L_{\text{seed } 1} \big|$$
#
# **Worked number.** Means of 2.10 and 2.06 with seeds that differ by 0.05: the gap of 0.04 is undecided.

# %% [markdown] exercise="W4.8" role="contract"
# **Contract.** A dictionary `duel` and a word `verdict`, from `recorded`.
#
# | keys of `duel` | |
# |---|---|
# | `adamw_rate`, `muon_rate` | the learning rate with the lowest mean loss over the seeds |
# | `adamw_loss`, `muon_loss` | that mean loss, in nats per token |
# | `spread` | difference between the two seeds at the best rate, the larger of the two optimizers' |
#
# `verdict`: `"adamw"` or `"muon"` if the gap between the two losses is larger than `spread`, else `"undecided"`.

# %% exercise="W4.8" role="answer"
duel = None
verdict = None
### BEGIN SOLUTION
losses = {}
for run in recorded:
    losses.setdefault((run["optimizer"], run["lr"]), []).append(run["loss"])
duel, spreads = {}, []
for name in ("adamw", "muon"):
    mean, rate = min((sum(x) / len(x), lr) for (n, lr), x in losses.items() if n == name)
    duel[f"{name}_rate"], duel[f"{name}_loss"] = rate, mean
    spreads.append(max(losses[name, rate]) - min(losses[name, rate]))
duel["spread"] = max(spreads)
gap = duel["adamw_loss"] - duel["muon_loss"]
verdict = "undecided" if abs(gap) <= duel["spread"] else "muon" if gap > 0 else "adamw"
### END SOLUTION

# %% exercise="W4.8" role="predict"
predict("W4.8", "Will the gap between the two optimizers be larger than that between seeds?", answer=None)

# %% [markdown] exercise="W4.8" role="hint"
# Group the losses by optimizer and rate; each group has two seeds.

# %% [markdown] exercise="W4.8" role="hint"
# Take the mean of each group, then for each optimizer the group with the smallest mean.

# %% [markdown] exercise="W4.8" role="hint"
# `losses.setdefault((run['optimizer'], run['lr']), []).append(run['loss'])`; `min` over means; the spread is `max - min` in that group.

# %% [markdown] exercise="W4.8" role="question"
# **In words** (6 points, read by a person). A post reports: "Same 10 M tokens, same model: Muon 2.393, AdamW 2.709
# validation loss. Muon is better." Muon was tried at two learning rates, AdamW at one, one seed each; Muon's run was 7 %
# slower in tokens a second.
#
# What is missing before you would believe it, and what would you run? A quarter of a page.

# %% [markdown] exercise="W4.8" role="written"
# Equal tuning is missing: AdamW had one learning rate, which may be far from its best, so I do not know how much of 0.316 is
# the optimizer. I would run both over the same number of rates (four each, spaced by a factor of three), with the best one
# inside the grid and not at its edge; decay and betas as usual for each.
#
# The noise is missing too: one seed says nothing about how much the loss varies. I would run three seeds at the best rate of
# each, and call it better if the gap is clearly larger than the spread. And the comparison is per token: Muon is 7 % slower,
# so I would also compare at equal time.
#
# I would conclude for this model size and this many tokens only.

# %% [markdown] exercise="W4.8" role="after"
# **What this breaks in real training.** A new optimizer is usually tuned by the one who proposes it, and the old one taken as
# it was. Then the result measures effort.
#
# **It happened.** A comparison that this course was built from gave validation losses of 2.393 for Muon and 2.709 for AdamW,
# and called the result unambiguous: one seed, Muon at two rates, AdamW at one.

# %% [markdown]
# ## Quiz
#
# Six questions, no points. Run a cell to see its question. Then add your letter, as in `quiz("W4", 1, "a")`, and run it
# again: each answer is explained, the right one and the wrong ones.

# %% role="play"
quiz("W4", 1)

# %% role="play"
quiz("W4", 2)

# %% role="play"
quiz("W4", 3)

# %% role="play"
quiz("W4", 4)

# %% role="play"
quiz("W4", 5)

# %% role="play"
quiz("W4", 6)

# %% [markdown]
# ## Mistakes seen in the wild
#
# - The step number stands still: [allenai/OLMo-core#317](https://github.com/allenai/OLMo-core/pull/317).
# - One step number for all: [NVIDIA/DeepLearningExamples#391](https://github.com/NVIDIA/DeepLearningExamples/issues/391).
# - eps under the correction: [tensorflow/tensorflow#35102](https://github.com/tensorflow/tensorflow/issues/35102).
# - Norms by name: [deepspeedai/DeepSpeedExamples#755](https://github.com/deepspeedai/DeepSpeedExamples/pull/755).
# - Fused matrices taken as one: [InternLM/xtuner#2030](https://github.com/InternLM/xtuner/pull/2030).

# %% [markdown]
# ## Summary
#
# - Momentum adds gradients up: what alternates cancels, what agrees grows.
# - Adam divides by the gradient's own size. With the correction its first step is as long as the rate.
# - Decay stands apart from the gradient, and is for matrices.
# - Muon gives all directions of a matrix a step of nearly the same size. What is one matrix, you must say.
# - A fair comparison tunes both equally, and knows the noise.
#
# **Next week**: the learning rate over time.
