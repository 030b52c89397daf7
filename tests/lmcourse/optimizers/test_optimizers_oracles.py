"""Every rule against a plain loop in float64 and against the library's own optimizer."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import nn

from lmcourse.optimizers import GroupedOptimizer

BETAS = [(0.9, 0.95), (0.9, 0.999), (0.0, 0.9), (0.5, 0.0)]


def gradients(steps, shape, scale=1.0, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return [scale * torch.randn(shape, generator=generator) for _ in range(steps)]


def start(shape, seed=9):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def run(make, given, seed=9):
    """The weights after each step of an optimizer made from one parameter."""
    weight = nn.Parameter(start(given[0].shape, seed))
    optimizer = make(weight)
    path = []
    for gradient in given:
        weight.grad = gradient.clone()
        optimizer.step()
        path.append(weight.detach().clone())
    return path


def ours(rule, lr=1e-2, weight_decay=0.1, **constants):
    def make(weight):
        group = {"params": [("w", weight)], "rule": rule, "lr": lr, "weight_decay": weight_decay}
        return GroupedOptimizer([{**group, **constants}])

    return make


def farthest(path, others):
    return max((a.double() - b.double()).abs().max().item() for a, b in zip(path, others, strict=True))


def adamw_loop(given, lr, decay, betas, eps):
    w = start(given[0].shape).double().numpy()
    m, v = np.zeros_like(w), np.zeros_like(w)
    for t, gradient in enumerate(given, 1):
        g = gradient.double().numpy()
        m = betas[0] * m + (1 - betas[0]) * g
        v = betas[1] * v + (1 - betas[1]) * g * g
        corrected = np.sqrt(v / (1 - betas[1] ** t)) + eps
        w = w - lr * decay * w - lr * (m / (1 - betas[0] ** t)) / corrected
        yield torch.from_numpy(w)


@pytest.mark.parametrize("betas", BETAS)
@pytest.mark.parametrize("eps", [1e-8, 1e-3, 1e-1])
@pytest.mark.parametrize("scale", [1.0, 1e-8, 1e6])
def test_adamw_follows_its_formula_and_the_library_with_tiny_gradients_too(betas, eps, scale):
    """At 1e-8 the place of eps decides: outside the root, after the correction."""
    given = gradients(12, (5, 3), scale)
    path = run(ours("adamw", betas=betas, eps=eps), given)
    assert farthest(path, list(adamw_loop(given, 1e-2, 0.1, betas, eps))) < 2e-6
    theirs = run(
        lambda w: torch.optim.AdamW([w], lr=1e-2, weight_decay=0.1, betas=betas, eps=eps, foreach=False),
        given,
    )
    assert farthest(path, theirs) < 1e-6


def test_adamw_is_the_librarys_plain_loop_bit_for_bit():
    given = gradients(10, (7, 3))
    path = run(ours("adamw", betas=(0.9, 0.95), eps=1e-8), given)
    theirs = run(
        lambda w: torch.optim.AdamW([w], lr=1e-2, weight_decay=0.1, betas=(0.9, 0.95), foreach=False), given
    )
    assert all(torch.equal(a, b) for a, b in zip(path, theirs, strict=True))


def test_the_step_counter_counts_each_parameters_own_steps():
    first, second = nn.Parameter(torch.zeros(3)), nn.Parameter(torch.zeros(3))
    pairs = [("first", first), ("second", second)]
    group = {"params": pairs, "rule": "adamw", "lr": 0.1, "weight_decay": 0.0}
    optimizer = GroupedOptimizer([{**group, "betas": (0.9, 0.95), "eps": 1e-8}])
    for step in range(8):
        first.grad = torch.ones(3)
        second.grad = torch.ones(3) if step == 7 else None
        optimizer.step()
    assert optimizer.state[first]["step"] == 8 and optimizer.state[second]["step"] == 1
    assert torch.allclose(second, torch.full((3,), -0.1))  # a first step is of full size, whenever it comes


@pytest.mark.parametrize("weight_decay", [0.0, 0.3])
def test_sgd_is_the_librarys_with_its_decay(weight_decay):
    given = gradients(10, (4, 6))
    path = run(ours("sgd", lr=0.05, weight_decay=weight_decay), given)
    theirs = run(lambda w: torch.optim.SGD([w], lr=0.05, weight_decay=weight_decay), given)
    assert farthest(path, theirs) < 2e-6


def test_momentum_is_the_librarys_without_decay():
    given = gradients(20, (4, 6))
    path = run(ours("momentum", weight_decay=0.0, momentum=0.9), given)
    assert farthest(path, run(lambda w: torch.optim.SGD([w], lr=1e-2, momentum=0.9), given)) < 2e-6


def test_momentum_sums_gradients_and_keeps_decay_out_of_the_sum():
    given = gradients(20, (4, 6))
    w, m = start((4, 6)).double(), torch.zeros(4, 6, dtype=torch.float64)
    expected = []
    for gradient in given:
        m = 0.8 * m + gradient.double()
        w = w * (1 - 1e-2 * 0.5) - 1e-2 * m
        expected.append(w)
    assert farthest(run(ours("momentum", weight_decay=0.5, momentum=0.8), given), expected) < 2e-6


def muon_loop(given, lr, decay, momentum, scale):
    """Muon in float64, matrix by matrix, with its own Newton-Schulz."""
    w, m = start(given[0].shape).double(), torch.zeros(given[0].shape, dtype=torch.float64)
    for gradient in given:
        g = gradient.double()
        m = momentum * m + (1 - momentum) * g
        x = (1 - momentum) * g + momentum * m
        x = x / x.square().sum().sqrt()
        tall = x.shape[0] > x.shape[1]
        x = x.T if tall else x
        for _ in range(5):
            a = x @ x.T
            x = 3.4445 * x - 4.7750 * a @ x + 2.0315 * a @ a @ x
        w = w - lr * decay * w - lr * scale * (x.T if tall else x)
        yield w


SCALES = [
    ("match_adamw", lambda r, c: 0.2 * math.sqrt(max(r, c))),
    ("original", lambda r, c: math.sqrt(max(1, r / c))),
    ("spectral", lambda r, c: math.sqrt(r / c)),
]


def muon(**changes):
    constants = {"momentum": 0.95, "scale": "match_adamw", "newton_schulz": "fp32", "split": 1}
    return ours("muon", **{**constants, **changes})


@pytest.mark.parametrize(("convention", "scale"), SCALES)
@pytest.mark.parametrize("shape", [(12, 12), (20, 8), (6, 25)])
def test_muon_follows_its_formula(convention, scale, shape):
    given = gradients(12, shape)
    expected = list(muon_loop(given, 1e-2, 0.1, 0.95, scale(*shape)))
    assert farthest(run(muon(scale=convention), given), expected) < 2e-5


@pytest.mark.parametrize(
    ("convention", "name"), [("match_adamw", "match_rms_adamw"), ("original", "original")]
)
@pytest.mark.parametrize("shape", [(16, 16), (40, 16), (16, 40)])
def test_muon_is_the_librarys_within_its_bfloat16(convention, name, shape):
    given = gradients(8, shape)
    path = run(muon(lr=1e-2, scale=convention), given)
    theirs = run(lambda w: torch.optim.Muon([w], lr=1e-2, weight_decay=0.1, adjust_lr_fn=name), given)
    moved = farthest(path[-1:], [start(shape)])
    assert farthest(path, theirs) < 0.02 * moved


def test_muon_in_bfloat16_stays_near_float32():
    given = gradients(8, (24, 24))
    exact, narrow = run(muon(), given), run(muon(newton_schulz="bf16"), given)
    assert 0 < farthest(exact, narrow) < 0.03 * farthest(exact[-1:], [start((24, 24))])


def test_muon_averages_raw_gradients_not_orthogonal_ones():
    """Two opposite gradients of different size: the mean of raw ones keeps the sign of the larger."""
    large, small = gradients(2, (6, 6))
    path = run(muon(weight_decay=0.0), [10 * large, -0.01 * large])
    first, second = path[0] - start((6, 6)), path[1] - path[0]
    assert (first * second).sum() > 0.5 * first.square().sum()
    assert farthest(path, list(muon_loop([10 * large, -0.01 * large], 1e-2, 0.0, 0.95, 0.2 * 6**0.5))) < 2e-5
    assert not torch.equal(large, small)


def test_float64_weights_stay_float64():
    weight = nn.Parameter(start((4, 3)).double())
    weight.grad = gradients(1, (4, 3))[0].double()
    optimizer = ours("adamw", betas=(0.9, 0.95), eps=1e-8)(weight)
    optimizer.step()
    assert weight.dtype == optimizer.state[weight]["m"].dtype == torch.float64
