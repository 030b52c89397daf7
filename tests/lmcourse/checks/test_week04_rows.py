"""The property rows of week 4 pass a right answer, and name what is wrong with typical wrong ones."""

from __future__ import annotations

import pytest
import torch

from lmcourse.checks.rows import FAILED, PASSED, property_rows
from lmcourse.optimizers import newton_schulz


def momentum_step(p, g, buf, lr, beta):
    buf.mul_(beta).add_(g)
    p.sub_(lr * buf)


def adamw_step(p, g, state, *, lr, betas, eps, weight_decay, correct=True):
    t = state["t"] = state.get("t", 0) + 1
    for name, beta, power in (("m", betas[0], 1), ("v", betas[1], 2)):
        state[name] = beta * state.get(name, 0.0) + (1 - beta) * g**power
    m = state["m"] / (1 - betas[0] ** t) if correct else state["m"]
    v = state["v"] / (1 - betas[1] ** t) if correct else state["v"]
    p.mul_(1 - lr * weight_decay).sub_(lr * m / (v.sqrt() + eps))


def param_groups(model, weight_decay):
    return [{"params": [p], "weight_decay": weight_decay if p.dim() > 1 else 0.0} for p in model.parameters()]


def muon_step(p, g, state, orthogonalize, *, lr, momentum, weight_decay, split=1):
    p.sub_(lr * max(1, p.shape[0] / p.shape[1]) ** 0.5 * orthogonalize(g))


def test_first_step(step):
    g = torch.tensor([2e-4, -3.0], dtype=torch.float64)
    new, _ = step(torch.zeros(2).double(), g, {}, lr=0.1, betas=(0.9, 0.95), eps=1e-8, weight_decay=0.0)
    assert (new + 0.1 * g.sign()).abs().max() < 1e-3


test_first_step.__test__ = False  # an answer of the exercise, not a test of this suite

NUMBERS = {"adamw_rate": 1e-2, "adamw_loss": 1.0, "muon_rate": 1e-2, "muon_loss": 0.9, "spread": 0.01}
PATHS = {"P1": "sgd", "P2": "momentum", "P3": "adam", "P4": "muon", "claim": "a"}
RIGHT = {
    "W4.1": {"momentum_step": momentum_step},
    "W4.2": {"adamw_step": adamw_step},
    "W4.3": {"param_groups": param_groups},
    "W4.4": {"newton_schulz": newton_schulz},
    "W4.5": {"muon_step": muon_step},
    "W4.6": {"test_bias_correction_makes_first_step_full_size": test_first_step},
    "W4.7": {"race": PATHS},
    "W4.8": {"duel": NUMBERS, "verdict": "undecided"},
}


def failures(exercise_id: str, **names) -> str:
    found = []
    for row in property_rows(exercise_id):
        outcome = row({**RIGHT[exercise_id], **names})
        if outcome.state == FAILED:
            found.append(outcome.message)
    return " | ".join(found)


@pytest.mark.parametrize("exercise_id", RIGHT)
def test_right_answers_pass_every_row(exercise_id: str) -> None:
    for row in property_rows(exercise_id):
        outcome = row(RIGHT[exercise_id])
        assert outcome.state == PASSED, (row.case, outcome.yours, outcome.message)


def test_a_mean_and_a_renamed_tensor() -> None:
    def mean(p, g, buf, lr, beta):
        buf.mul_(beta).add_((1 - beta) * g)
        p.sub_(lr * buf)

    assert "running mean" in failures("W4.1", momentum_step=mean)
    assert "in place" in failures("W4.1", momentum_step=lambda *args: None)


def test_a_missing_correction() -> None:
    wrong = lambda *args, **kwargs: adamw_step(*args, **kwargs, correct=False)  # noqa: E731
    assert "lr long" in failures("W4.2", adamw_step=wrong)


def test_everything_decays() -> None:
    all_in = lambda model, decay: [{"params": list(model.parameters()), "weight_decay": decay}]  # noqa: E731
    assert "Two or more" in failures("W4.3", param_groups=all_in)


def test_singular_values() -> None:
    assert "Frobenius" in failures("W4.4", newton_schulz=lambda G: G / G.norm().clamp(min=1e-9))
    assert "0 / 0" in failures("W4.4", newton_schulz=lambda G: newton_schulz(G) + 0 / G.norm())


def test_an_indulgent_test() -> None:
    name = "test_bias_correction_makes_first_step_full_size"
    assert "small ones" in failures("W4.6", **{name: lambda step: None})


def test_names_and_words() -> None:
    assert failures("W4.7", race={**PATHS, "P1": "adam"})
    assert "Missing: spread" in failures("W4.8", duel={k: v for k, v in NUMBERS.items() if k != "spread"})
    assert failures("W4.8", verdict="it depends")
