from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

from lmcourse.errors import CourseError
from lmcourse.model import Transformer, TransformerConfig
from lmcourse.optimizers import OptimizerSettings, make_optimizer, optimizer_groups, set_learning_rate
from lmcourse.optimizers.rules.muon import FLOOR
from lmcourse.optimizers.settings import NAMES
from lmcourse.precision import Probe
from lmcourse.schedules import Schedule, factor


def small(tied=False, **changes):
    return Transformer(TransformerConfig(30, context=8, layers=2, heads=2, width=16, tied=tied, **changes))


class FusedBlock(nn.Module):
    def __init__(self, width=12):
        super().__init__()
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width, bias=False)


class FusedModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(9, 12)
        self.blocks = nn.ModuleList([FusedBlock(), FusedBlock()])
        self.head = nn.Linear(12, 9, bias=False)


def give_gradients(model, seed=0, scale=1.0):
    generator = torch.Generator().manual_seed(seed)
    for p in model.parameters():
        p.grad = (scale * torch.randn(p.shape, generator=generator)).to(p.dtype)


def weights(model):
    return {name: p.detach().clone() for name, p in model.named_parameters()}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("tied", [False, True])
def test_every_parameter_is_in_one_group_under_every_optimizer(name, tied):
    model = small(tied)
    groups = make_optimizer(model, OptimizerSettings(name)).param_groups
    grouped = [id(p) for group in groups for p in group["params"]]
    assert sorted(grouped) == sorted({id(p) for p in model.parameters()})
    assert sum(p.numel() for g in groups for p in g["params"]) == sum(p.numel() for p in model.parameters())


def test_muon_takes_the_matrices_of_the_blocks_and_adamw_the_rest():
    model = small()
    rules = {n: g for g in optimizer_groups(model, OptimizerSettings("muon")) for n, _ in g["params"]}
    for name, group in rules.items():
        hidden = name.startswith("blocks.") and model.get_parameter(name).dim() == 2
        assert group["rule"] == ("muon" if hidden else "adamw"), name
        assert group["weight_decay"] == (0.1 if model.get_parameter(name).dim() == 2 else 0.0), name


def test_a_head_tied_to_an_embedding_inside_the_blocks_is_not_a_hidden_matrix():
    model = FusedModel()
    model.blocks[0].out = nn.Linear(12, 9, bias=False)
    model.blocks[0].out.weight = model.embedding.weight
    names = [
        n
        for g in optimizer_groups(model, OptimizerSettings("muon"))
        if g["rule"] == "muon"
        for n, _ in g["params"]
    ]
    assert "embedding.weight" not in names and "blocks.1.out.weight" in names


def test_fused_queries_keys_and_values_get_steps_of_equal_size():
    """Keys with gradients a hundred times smaller: orthogonalized together they would hardly move."""
    model = FusedModel()
    optimizer = make_optimizer(model, OptimizerSettings("muon", lr=1.0, weight_decay=0.0))
    give_gradients(model)
    for block in model.blocks:
        block.qkv.weight.grad[12:24] *= 0.01
    before = weights(model)
    optimizer.step()
    moved = model.blocks[1].qkv.weight.detach() - before["blocks.1.qkv.weight"]
    sizes = [part.square().mean().sqrt().item() for part in moved.chunk(3)]
    assert all(0.14 < size < 0.24 for size in sizes)

    alone = model.blocks[1].qkv.weight.grad[12:24].clone()
    one = nn.ModuleDict({"blocks": nn.ModuleList([nn.Linear(12, 12, bias=False)])})
    key = one["blocks"][0].weight
    start = key.detach().clone()
    key.grad = alone
    make_optimizer(one, OptimizerSettings("muon", lr=1.0, weight_decay=0.0, newton_schulz="fp32")).step()
    assert torch.allclose(key.detach() - start, moved[12:24], atol=0.02)


@pytest.mark.parametrize("name", NAMES)
def test_a_tied_weight_decays_once(name):
    model = small(tied=True)
    before = weights(model)
    optimizer = make_optimizer(model, OptimizerSettings(name, lr=0.5, weight_decay=0.1))
    for p in model.parameters():
        p.grad = torch.zeros_like(p)
    optimizer.step()
    assert model.head.weight.data_ptr() == model.embedding.weight.data_ptr()
    for parameter, p in model.named_parameters():
        kept = 1 - 0.5 * 0.1 if p.dim() >= 2 else 1.0
        assert torch.allclose(p.detach(), kept * before[parameter], rtol=1e-6), parameter


def test_an_unused_block_does_not_walk():
    """Rounding noise instead of a gradient, twenty steps: under Muon only decay may move it."""
    model = small()
    optimizer = make_optimizer(model, OptimizerSettings("muon", lr=0.1, weight_decay=0.0))
    before = weights(model)
    for step in range(20):
        give_gradients(model, step)
        for p in model.blocks[1].parameters():
            p.grad.mul_(FLOOR / 10)
        optimizer.step()
    for name, p in model.blocks[1].named_parameters():
        if p.dim() == 2:
            assert torch.equal(p.detach(), before[f"blocks.1.{name}"])
    assert (model.blocks[0].mlp.up.weight - before["blocks.0.mlp.up.weight"]).abs().max() > 0.1


@pytest.mark.parametrize("name", NAMES)
def test_a_parameter_without_gradient_is_left_alone(name):
    model = small()
    before = weights(model)
    optimizer = make_optimizer(model, OptimizerSettings(name, lr=0.1))
    give_gradients(model)
    model.blocks[0].attention.key.weight.grad = None
    optimizer.step()
    assert torch.equal(model.blocks[0].attention.key.weight.detach(), before["blocks.0.attention.key.weight"])
    assert (
        model.blocks[0].attention.key.weight not in optimizer.state
        or not optimizer.state[model.blocks[0].attention.key.weight]
    )


def test_one_schedule_moves_every_group_by_the_same_factor():
    optimizer = make_optimizer(small(), OptimizerSettings("muon", lr=0.02, adamw_lr=0.004))
    schedule = Schedule("cosine", 20, warmup=4)
    for step in [*range(20), 3, 25]:  # out of order too: there is nothing that could run down
        set_learning_rate(optimizer, factor(schedule, step))
        rates = {g["rule"]: g["lr"] for g in optimizer.param_groups}
        assert all(g["lr"] == g["base_lr"] * factor(schedule, step) for g in optimizer.param_groups)
        assert rates["muon"] == pytest.approx(5 * rates["adamw"])


@pytest.mark.parametrize("name", NAMES)
def test_a_loaded_state_goes_on_bit_for_bit_and_keeps_the_base_rates(name, tmp_path):
    model = small()
    optimizer = make_optimizer(model, OptimizerSettings(name, lr=0.02, adamw_lr=0.004))
    for step in range(3):
        set_learning_rate(optimizer, 0.5)
        give_gradients(model, step)
        optimizer.step()
    torch.save(optimizer.state_dict(), tmp_path / "optimizer.pt")
    twin = copy.deepcopy(model)
    again = make_optimizer(twin, OptimizerSettings(name, lr=0.02, adamw_lr=0.004))
    again.load_state_dict(torch.load(tmp_path / "optimizer.pt", weights_only=True))
    assert [g["base_lr"] for g in again.param_groups] == [g["base_lr"] for g in optimizer.param_groups]
    for m, o in ((model, optimizer), (twin, again)):
        for step in range(3, 6):
            set_learning_rate(o, 0.25)
            give_gradients(m, step)
            o.step()
    for a, b in zip(model.parameters(), twin.parameters(), strict=True):
        assert torch.equal(a, b)


@pytest.mark.parametrize("name", ["momentum", "adamw", "muon"])
def test_moments_of_bfloat16_weights_are_float32_and_stay_so_through_a_checkpoint(name):
    model = small().bfloat16()
    optimizer = make_optimizer(model, OptimizerSettings(name))
    give_gradients(model)
    optimizer.step()
    saved = copy.deepcopy(optimizer.state_dict())
    twin = make_optimizer(copy.deepcopy(model), OptimizerSettings(name))
    twin.load_state_dict(saved)
    loaded = twin.state_dict()["state"]
    assert saved["state"].keys() == loaded.keys() and saved["state"]
    for index, state in saved["state"].items():
        for key, value in state.items():
            if isinstance(value, torch.Tensor):
                assert value.dtype == loaded[index][key].dtype == torch.float32
                assert torch.equal(value, loaded[index][key])
            else:
                assert value == loaded[index][key]


def test_a_loaded_state_shares_no_memory_with_what_it_came_from():
    model = small()
    optimizer = make_optimizer(model, OptimizerSettings("adamw"))
    give_gradients(model)
    optimizer.step()
    state = optimizer.state_dict()
    other = make_optimizer(copy.deepcopy(model), OptimizerSettings("adamw"))
    other.load_state_dict(state)
    moment = state["state"][0]["m"].clone()
    parameter = other.param_groups[0]["params"][0]
    parameter.grad = torch.ones_like(parameter)
    other.step()
    assert torch.equal(optimizer.state_dict()["state"][0]["m"], moment)


def test_bfloat16_weights_are_computed_in_float32_and_rounded_once():
    model = small().bfloat16()
    before = weights(model)
    optimizer = make_optimizer(model, OptimizerSettings("sgd", lr=0.1, weight_decay=0.1))
    give_gradients(model)
    optimizer.step()
    w, g = before["head.weight"].float(), model.head.weight.grad.float()
    assert torch.equal(model.head.weight, (w * (1 - 0.1 * 0.1) - 0.1 * g).bfloat16())


def saved_state(model, name="adamw"):
    optimizer = make_optimizer(model, OptimizerSettings(name))
    give_gradients(model)
    optimizer.step()
    return optimizer.state_dict()


def test_another_order_or_another_model_is_refused_in_one_line():
    state = saved_state(small())
    names = state["param_groups"][0]["param_names"]
    names[1], names[2] = names[2], names[1]
    with pytest.raises(CourseError, match="order of parameters differs in group 0, first at place 1"):
        make_optimizer(small(), OptimizerSettings("adamw")).load_state_dict(state)
    with pytest.raises(CourseError, match=r"2 groups were saved, this optimizer has 3"):
        make_optimizer(small(), OptimizerSettings("muon")).load_state_dict(saved_state(small()))
    with pytest.raises(CourseError, match=r"parameters differ in group 0: head\.weight"):
        make_optimizer(small(), OptimizerSettings("adamw")).load_state_dict(saved_state(small(tied=True)))


def test_a_state_of_other_shapes_is_refused_and_changes_nothing():
    wide = Transformer(TransformerConfig(31, context=8, layers=2, heads=2, width=16))
    optimizer = make_optimizer(small(), OptimizerSettings("adamw"))
    with pytest.raises(
        CourseError, match=r"m of embedding\.weight has shape \(31, 16\), its parameter \(30, 16\)"
    ):
        optimizer.load_state_dict(saved_state(wide))
    assert not optimizer.state


def test_a_state_saved_without_names_is_refused():
    state = saved_state(small())
    for group in state["param_groups"]:
        del group["param_names"]
    with pytest.raises(CourseError, match="parameters differ in group 0"):
        make_optimizer(small(), OptimizerSettings("adamw")).load_state_dict(state)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"name": "adam"}, "name: expected one of sgd, momentum, adamw, muon, got 'adam'"),
        ({"scale": "big"}, "scale: expected one of match_adamw"),
        ({"newton_schulz": "fp16"}, "newton_schulz: expected one of auto, bf16, fp32"),
        ({"lr": -1.0}, "lr: expected 0 or more, got -1.0"),
        ({"lr": float("nan")}, "lr: expected 0 or more, got nan"),
        ({"weight_decay": float("inf")}, "weight_decay"),
        ({"beta2": 1.0}, "beta2: expected a share from 0 to below 1, got 1.0"),
        ({"momentum": -0.1}, "momentum"),
    ],
)
def test_settings_that_no_optimizer_can_have_are_one_line(values, message):
    with pytest.raises(CourseError, match=message):
        OptimizerSettings(**values)


def test_a_model_without_blocks_or_without_parameters_is_one_line():
    with pytest.raises(CourseError, match="no matrices inside blocks"):
        make_optimizer(nn.Linear(3, 3), OptimizerSettings("muon"))
    frozen = nn.Linear(3, 3).requires_grad_(False)
    with pytest.raises(CourseError, match="nothing to optimize"):
        make_optimizer(frozen, OptimizerSettings("adamw"))


@pytest.mark.parametrize(("name", "memory"), [("momentum", 0.9), ("muon", 0.95)])
def test_momentum_has_a_default_for_each_optimizer_and_can_be_given(name, memory):
    assert make_optimizer(small(), OptimizerSettings(name)).param_groups[0]["momentum"] == memory
    given = OptimizerSettings(name, momentum=0.5)
    assert make_optimizer(small(), given).param_groups[0]["momentum"] == 0.5


@pytest.mark.parametrize(("bf16", "expected"), [(30.0, "bf16"), (20.0, "fp32"), (1.0, "fp32")])
def test_the_number_format_is_the_one_that_this_machine_is_fast_at(monkeypatch, bf16, expected):
    measured = Probe({"fp32": 20.0, "bf16": bf16, "fp16": 100.0}, "cpu")
    monkeypatch.setattr("lmcourse.optimizers.make.probe", lambda device: measured)
    assert make_optimizer(small(), OptimizerSettings("muon")).param_groups[0]["newton_schulz"] == expected
    given = OptimizerSettings("muon", newton_schulz="fp32")
    assert make_optimizer(small(), given).param_groups[0]["newton_schulz"] == "fp32"


def test_a_loaded_state_brings_its_number_format_along():
    narrow, wide = (OptimizerSettings("muon", newton_schulz=name) for name in ("bf16", "fp32"))
    optimizer = make_optimizer(small(), wide)
    optimizer.load_state_dict(make_optimizer(small(), narrow).state_dict())
    assert optimizer.param_groups[0]["newton_schulz"] == "bf16"
