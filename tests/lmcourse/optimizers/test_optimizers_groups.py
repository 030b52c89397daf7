import pytest
import torch
from torch import nn

from lmcourse.errors import CourseError
from lmcourse.model import Transformer, TransformerConfig
from lmcourse.optimizers import adamw, check_groups, parameter_groups

CONFIG = TransformerConfig(30, context=8, layers=2, heads=2, width=16)


def test_param_groups_exclude_norms_and_biases():
    model = nn.Sequential(nn.Linear(3, 4, bias=True), nn.LayerNorm(4), Transformer(CONFIG))
    decayed, plain = parameter_groups(model, 0.1)
    names = {name for name, _ in plain["params"]}
    assert decayed["weight_decay"] == 0.1 and plain["weight_decay"] == 0.0
    assert all(p.dim() >= 2 for _, p in decayed["params"]) and all(p.dim() < 2 for _, p in plain["params"])
    assert {"0.bias", "1.weight", "1.bias", "2.final_norm.weight"} <= names
    assert "2.embedding.weight" in {name for name, _ in decayed["params"]}


@pytest.mark.parametrize("tied", [False, True])
def test_every_parameter_is_in_one_group_tied_ones_once(tied):
    model = Transformer(TransformerConfig(30, context=8, layers=2, heads=2, width=16, tied=tied))
    grouped = [id(p) for group in parameter_groups(model, 0.1) for _, p in group["params"]]
    assert sorted(grouped) == sorted({id(p) for p in model.parameters()})


def test_frozen_parameters_are_left_out():
    model = Transformer(CONFIG)
    model.embedding.weight.requires_grad_(False)
    names = [name for group in parameter_groups(model, 0.1) for name, _ in group["params"]]
    assert "embedding.weight" not in names and "head.weight" in names


def test_a_parameter_in_no_group_or_in_two_is_named():
    model = nn.Linear(2, 2)
    groups = [{"params": [("weight", model.weight)]}, {"params": [("weight", model.weight)]}]
    with pytest.raises(CourseError, match="weight in 2, bias in none"):
        check_groups(model, groups)


@pytest.mark.parametrize("scale", [1e-5, 1.0, 1e5])
def test_bias_correction_makes_first_step_full_size(scale):
    """lr * sign(gradient) at any size; without the correction (1-b1)/sqrt(1-b2) times that."""
    generator = torch.Generator().manual_seed(0)
    model = nn.Linear(5, 4)
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    optimizer = adamw(model, lr=1e-3, weight_decay=0.0)
    for p in model.parameters():
        size = 0.5 + torch.rand(p.shape, generator=generator)
        p.grad = scale * size * torch.randn(p.shape, generator=generator).sign()
    optimizer.step()
    for name, p in model.named_parameters():
        step = p.detach() - before[name]
        assert torch.allclose(step, -1e-3 * p.grad.sign(), rtol=5e-3)


def test_weight_decay_with_zero_gradient_shrinks_matrices_once_and_nothing_else():
    model = Transformer(TransformerConfig(30, context=8, layers=1, heads=2, width=16, tied=True))
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    optimizer = adamw(model, lr=0.5, weight_decay=0.1)
    for p in model.parameters():
        p.grad = torch.zeros_like(p)
    optimizer.step()
    for name, p in model.named_parameters():
        factor = 1 - 0.5 * 0.1 if p.dim() >= 2 else 1.0
        assert torch.allclose(p.detach(), factor * before[name])


def test_twelve_steps_equal_a_float64_adamw():
    generator = torch.Generator().manual_seed(1)
    model = nn.Linear(3, 3, bias=False)
    w = model.weight.detach().double().clone()
    m, v = torch.zeros_like(w), torch.zeros_like(w)
    optimizer = adamw(model, lr=1e-2, weight_decay=0.1, betas=(0.9, 0.95))
    for t in range(1, 13):
        gradient = torch.randn(3, 3, generator=generator)
        model.weight.grad = gradient.clone()
        optimizer.step()
        g = gradient.double()
        m, v = 0.9 * m + 0.1 * g, 0.95 * v + 0.05 * g * g
        w = w * (1 - 1e-2 * 0.1) - 1e-2 * (m / (1 - 0.9**t)) / ((v / (1 - 0.95**t)).sqrt() + 1e-8)
    assert (model.weight.detach().double() - w).abs().max() < 1e-6
