"""Gradients written by hand are those of the formulas."""

import pytest
import torch
import torch.nn.functional as F

from lmcourse.model.by_hand import EPSILON, relu_squared, rms_normalize, turn
from lmcourse.model.rope import rope_table, rotation


def numbers(*shape: int, seed: int = 0, dtype=torch.float64) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def both_gradients(mine, theirs, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    weight = numbers(*theirs(x).shape, seed=9).to(x.dtype)
    gradients = []
    for function in (mine, theirs):
        leaf = x.clone().requires_grad_()
        (function(leaf) * weight).sum().backward()
        gradients.append(leaf.grad)
    return gradients[0], gradients[1]


FUNCTIONS = {
    "norm": (
        lambda x: rms_normalize(x, x.dtype),
        lambda x: x / (x.square().mean(-1, keepdim=True) + EPSILON).sqrt(),
    ),
    "turn": (
        lambda x: turn(x, rotation(rope_table(5, 8, 100.0), 3, x.dtype)),
        lambda x: turned(x, rope_table(5, 8, 100.0).to(x.dtype)),
    ),
    "squared": (relu_squared, lambda x: F.relu(x).square()),
}


def turned(x: torch.Tensor, angles: torch.Tensor) -> torch.Tensor:
    cos, sin = angles[:, :, None]  # (T, 1, D/2)
    a, b = x[..., :4], x[..., 4:]
    return torch.cat((a * cos - b * sin, a * sin + b * cos), -1)


@pytest.mark.parametrize(("mine", "theirs"), FUNCTIONS.values(), ids=FUNCTIONS)
def test_values_and_gradients(mine, theirs):
    x = numbers(2, 5, 3, 8)
    assert torch.allclose(mine(x), theirs(x), rtol=0, atol=1e-12)
    got, expected = both_gradients(mine, theirs, x)
    assert torch.allclose(got, expected, rtol=0, atol=1e-12)
    assert torch.autograd.gradcheck(mine, (x.clone().requires_grad_(),))


@pytest.mark.parametrize(("mine", "theirs"), FUNCTIONS.values(), ids=FUNCTIONS)
def test_in_bfloat16_they_are_off_by_its_steps_only(mine, theirs):
    x = numbers(2, 5, 3, 8).bfloat16()
    exact = theirs(x.double())
    assert mine(x).dtype == torch.bfloat16
    assert (mine(x).double() - exact).abs().max() <= 2**-6 * exact.abs().max()
    got, _ = both_gradients(mine, theirs, x)
    _, expected = both_gradients(mine, theirs, x.double())
    assert (got.double() - expected).abs().max() <= 2**-5 * expected.abs().max()


def test_norm_of_nothing_is_nothing():
    x = torch.zeros(2, 8, requires_grad=True)
    y = rms_normalize(x, torch.float32)
    y.sum().backward()
    assert (y == 0).all() and x.grad.isfinite().all()


def test_norm_of_wide_values_in_a_narrow_type():
    """The mean square of 300s is beyond float16; a stream in float32 gives its gradient in float32."""
    half = torch.full((1, 8), 300.0, dtype=torch.float16)
    assert torch.equal(rms_normalize(half, half.dtype), torch.ones_like(half))
    stream = numbers(3, 8, dtype=torch.float32).requires_grad_()
    y = rms_normalize(stream, torch.bfloat16)
    y.float().square().sum().backward()
    assert y.dtype == torch.bfloat16 and stream.grad.dtype == torch.float32


def test_functions_below_zero_are_flat():
    x = torch.tensor([-2.0, -0.0, 3.0], requires_grad=True)
    relu_squared(x).sum().backward()
    assert x.grad.tolist() == [0.0, 0.0, 6.0]
