"""Week 4's own machinery: oracles that agree with torch and the trainer, drivers that see renamed tensors."""

from __future__ import annotations

import copy

import pytest
import torch

from autograde.exercise import Draw, Wrong
from autograde.judge.local import LocalAnswer
from autograde.weeks import hidden
from autograde.weeks.week04 import w4_5, w4_8
from lmcourse.checks.drivers import week04 as drivers
from lmcourse.optimizers import newton_schulz


def test_the_reference_of_adamw_is_torchs() -> None:
    step = hidden("W4.2").reference.names["adamw_step"]
    generator = torch.Generator().manual_seed(1)
    p = torch.randn(4, 3, dtype=torch.float64, generator=generator)
    leaf = torch.nn.Parameter(p.clone())
    hyper = {"lr": 0.02, "betas": (0.8, 0.97), "eps": 1e-3, "weight_decay": 0.2}
    optimizer, state = torch.optim.AdamW([leaf], **hyper), {}
    for _ in range(12):
        leaf.grad = torch.randn(4, 3, dtype=torch.float64, generator=generator)
        optimizer.step()
        step(p, leaf.grad, state, **hyper)
    torch.testing.assert_close(p, leaf.detach(), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("shape", [(4, 7), (9, 3), (5, 5)])
def test_the_oracle_of_newton_schulz_is_the_trainers(shape: tuple[int, int]) -> None:
    G = torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    torch.testing.assert_close(w4_5._orthogonal(G), newton_schulz(G), rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("seed", range(5))
def test_the_band_of_the_contract_is_what_five_steps_reach(seed: int) -> None:
    exercise = hidden("W4.4")
    answer = LocalAnswer(exercise, exercise.reference.names)
    for prop in exercise.properties:
        prop.check(answer, Draw(seed))


def test_ten_steps_do_not_converge_either() -> None:
    G = torch.randn(6, 9, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    values = torch.linalg.svdvals(newton_schulz(G, steps=10))
    assert values.min() > 0.66 and values.max() < 1.22
    assert (values - 1).abs().max() > 0.05


def test_a_renamed_tensor_is_seen() -> None:
    def momentum_step(p, g, buf, lr, beta):
        buf = beta * buf + g
        p = p - lr * buf

    came = drivers.momentum_steps(
        {"momentum_step": momentum_step}, torch.ones(2), [torch.ones(2)] * 2, 0.1, 0.9
    )
    assert all(torch.equal(w, torch.ones(2)) for w in came["weights"])


def test_copies_of_parameters_and_states_go_on_as_the_originals() -> None:
    exercise = hidden("W4.2")
    step = exercise.reference.names["adamw_step"]
    hyper = {"lr": 0.1, "betas": (0.9, 0.95), "eps": 1e-8, "weight_decay": 0.1}
    gradients = [[torch.full((2,), float(k - 2), dtype=torch.float64)] for k in range(6)]
    start = [torch.ones(2, dtype=torch.float64)]
    plain = drivers.adamw_steps({"adamw_step": step}, start, copy.deepcopy(gradients), hyper)
    copied = drivers.adamw_steps({"adamw_step": step}, start, gradients, hyper, copy_after=3)
    assert all(torch.equal(a[0], b[0]) for a, b in zip(plain["weights"], copied["weights"], strict=True))


def test_the_duel_has_its_best_rates_inside_the_grid() -> None:
    from lmcourse.experiments.duel import RATES

    for name in ("adamw", "muon"):
        assert w4_8._RIGHT[f"{name}_rate"] in RATES[1:-1]


def test_two_paths_of_one_name_get_nothing_for_paths() -> None:
    exercise = hidden("W4.7")
    guess = {**dict.fromkeys(("P1", "P2", "P3", "P4"), "adam"), "claim": "c"}
    answer = LocalAnswer(exercise, {"race": guess})
    for prop in exercise.properties[:4]:
        with pytest.raises(Wrong, match="same name"):
            prop.check(answer, Draw(1))
