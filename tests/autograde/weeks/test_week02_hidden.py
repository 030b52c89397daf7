"""Week 2's own machinery: oracles that agree with torch, and drivers that see what they say they see."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from autograde.exercise import Draw, Wrong
from autograde.judge.local import LocalAnswer
from autograde.weeks import hidden
from autograde.weeks.week02 import batches, losses
from autograde.weeks.week02.w2_2 import losses_of
from lmcourse.checks.drivers import week02 as drivers


def test_the_oracle_of_one_pass_is_torchs() -> None:
    rng = np.random.default_rng(4)
    weights, micro = batches.weights(rng), batches.uneven(rng, 5, 1, 9)
    loss, gradients = batches.oracle(weights, micro)
    leaves = [w.clone().requires_grad_() for w in weights]
    inputs, targets, keep = (torch.cat([rows[i] for rows in micro]) for i in range(3))
    logits = torch.tanh(leaves[0][inputs]) @ leaves[1]
    wanted = F.cross_entropy(logits[keep], targets[keep])
    assert loss == pytest.approx(wanted.item(), rel=1e-12)
    for got, right in zip(gradients, torch.autograd.grad(wanted, leaves), strict=True):
        torch.testing.assert_close(got, right, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("kept", [(0,), (1,), (7, 0, 18), (3, 3)])
def test_micro_batches_have_the_counts_that_were_asked_for(kept: tuple[int, ...]) -> None:
    micro = batches.uneven(np.random.default_rng(1), *kept)
    assert tuple(int(keep.sum()) for _, _, keep in micro) == kept


def test_logits_can_be_made_for_given_losses() -> None:
    logits, targets, mask = losses_of([[4.0, 4.0], [1.0] * 8])
    assert losses.token_mean(logits, targets, mask).item() == pytest.approx(1.6, abs=1e-6)
    assert losses.example_mean(logits, targets, mask).item() == pytest.approx(2.5, abs=1e-6)


def test_the_driver_counts_what_is_kept_in_memory() -> None:
    rng = np.random.default_rng(2)
    weights, micro = batches.weights(rng), batches.uneven(rng, 4, 4, 4, 4)

    def play(accumulate):
        return drivers.accumulate({"accumulate": accumulate}, weights, micro, 16)

    def one_at_a_time(model, parts, total):
        for batch in parts:
            model(batch.inputs).sum().backward()

    def all_at_once(model, parts, total):
        sum(model(batch.inputs).sum() for batch in parts).backward()

    def hoards(model, parts, total):
        for batch in parts:
            model(batch.inputs).sum().backward(retain_graph=True)

    def hoards_results(model, parts, total):
        kept = [model(batch.inputs) for batch in parts]
        sum(k.sum() for k in kept).backward()

    assert (play(one_at_a_time)["alive"], play(one_at_a_time)["graphs_kept"]) == (0, 0)
    assert play(all_at_once)["graphs_kept"] == 0  # freed by the one backward ...
    assert play(hoards_results)["alive"] == 3  # ... but all alive before it
    assert play(hoards)["graphs_kept"] == 4


def test_the_trace_of_a_step_is_in_order() -> None:
    rng = np.random.default_rng(3)
    exercise = hidden("W2.5")
    steps = [(batches.uneven(rng, 3, 8), 0.25), (batches.uneven(rng, 6), 0.5)]
    came = LocalAnswer(exercise, exercise.reference.names).drive(
        "week02.train_steps", batches.weights(rng), steps, 1.0
    )
    first, second = ([event.split(" norm")[0] for event in told] for told in came["events"])
    assert first == ["backward", "backward", "step lr=0.25", "zero_grad"]
    assert second == ["backward", "step lr=0.5", "zero_grad"]


def test_tolerances_are_those_of_float64() -> None:
    """A gradient that is right to seven digits only, as float32 gives it, is not the one promised."""
    exercise = hidden("W2.4")
    right = exercise.reference.names["accumulate"]

    def blurred(model, micro, total):
        loss = right(model, micro, total)
        for p in model.parameters():
            p.grad.mul_(1 + 1e-7)
        return loss

    prop = next(p for p in exercise.properties if p.name == "the gradient of the whole step")
    prop.check(LocalAnswer(exercise, {"accumulate": right}), Draw(5))
    with pytest.raises(Wrong, match="gradient"):
        prop.check(LocalAnswer(exercise, {"accumulate": blurred}), Draw(5))


def test_a_test_that_looks_at_losses_alone_misses_the_mistakes_of_the_gradient() -> None:
    exercise = hidden("W2.6")

    def losses_only(accumulate):
        x = torch.tensor([[0, 1, 2, 1]])
        keep = torch.tensor([[True, True, False, True]])
        table = torch.eye(3, dtype=torch.float64)
        loss, _ = accumulate(table, [(x, x.roll(-1), keep), (x, x, ~keep)], 4)
        nats = -table.log_softmax(-1)
        right = (nats[x[keep], x.roll(-1)[keep]].sum() + nats[x[~keep], x[~keep]].sum()) / 4
        assert abs(float(loss) - float(right)) < 1e-9

    answer = LocalAnswer(exercise, {"test_accumulation": losses_only})
    missed = {
        s.name for s in exercise.reject if answer.test(s.names["test_accumulation"]).state == "accepted"
    }
    assert {"mean of means, right loss", "no division", "sign of the gradient"} <= missed
    assert all(answer.test(s.names["test_accumulation"]).state == "accepted" for s in exercise.accept)
