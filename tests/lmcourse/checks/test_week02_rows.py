"""The property rows of week 2 pass a right answer, and name what is wrong with typical wrong ones."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from lmcourse.checks.rows import FAILED, PASSED, property_rows
from lmcourse.objective import masked_cross_entropy


def accumulate(model, micro_batches, total_tokens, divide=None, clear=False):
    loss = 0.0
    for batch in micro_batches:
        if clear:
            model.zero_grad()
        nats = F.cross_entropy(model(batch.inputs)[batch.keep], batch.targets[batch.keep], reduction="sum")
        part = nats / (total_tokens if divide is None else divide(int(batch.keep.sum()), len(micro_batches)))
        part.backward()
        loss += part.item()
    return loss


def train_step(model, optimizer, micro_batches, total_tokens, lr, clip, late=False, twice=False, clear=True):
    if not late:
        optimizer.param_groups[0]["lr"] = lr
    loss = accumulate(model, micro_batches, total_tokens)
    torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
    for _ in range(1 + twice):
        optimizer.step()
    optimizer.param_groups[0]["lr"] = lr
    if clear:
        optimizer.zero_grad()
    return loss


def per_example(logits, targets, mask):
    return torch.stack(
        [F.cross_entropy(x[m], y[m]) for x, y, m in zip(logits, targets, mask, strict=True)]
    ).mean()


def rank_gradients(local_sums, local_counts, world):
    return [g * world / sum(local_counts) for g in local_sums]


def test_accumulation(accumulate):
    generator = torch.Generator().manual_seed(0)
    table = torch.randn(4, 4, dtype=torch.float64, generator=generator)
    micro = []
    for kept in (1, 6):
        x, y = torch.randint(4, (2, 1, 6), generator=generator)
        micro.append((x, y, (torch.arange(6) < kept)[None]))
    leaf = table.clone().requires_grad_()
    (
        torch.stack([F.cross_entropy(leaf[x[k]], y[k], reduction="sum") for x, y, k in micro]).sum() / 7
    ).backward()
    assert torch.allclose(accumulate(table, micro, 7)[1], leaf.grad, rtol=1e-9)


test_accumulation.__test__ = False  # an answer of the exercise, not a test of this suite

LOSSES = {f"{s}_{n}": 2.4 for s in ("sgd", "adamw", "adamw_clip") for n in ("right", "forgot")}
RIGHT = {
    "W2.1": {"token_mean": 1.6, "example_mean": 2.5, "weight_ratio": 4},
    "W2.2": {"masked_cross_entropy": masked_cross_entropy},
    "W2.3": {"per_example_mean_loss": per_example, "gives_two_and_a_half": "example mean"},
    "W2.4": {"accumulate": accumulate},
    "W2.5": {"train_step": train_step},
    "W2.6": {"test_accumulation": test_accumulation},
    "W2.7": {"rank_gradients": rank_gradients},
    "W2.8": {"forgot": {**LOSSES, "clipped_right": 0.0, "clipped_forgot": 1.0}, "shows_it": "sgd"},
}


def failures(exercise_id: str, **names) -> str:
    found = []
    for row in property_rows(exercise_id):
        try:
            outcome = row({**RIGHT[exercise_id], **names})
        except AssertionError as error:
            found.append(str(error))
        else:
            if outcome.state == FAILED:
                found.append(outcome.message)
    return " | ".join(found)


@pytest.mark.parametrize("exercise_id", RIGHT)
def test_right_answers_pass_every_row(exercise_id: str) -> None:
    for row in property_rows(exercise_id):
        outcome = row(RIGHT[exercise_id])
        assert outcome.state == PASSED, (row.case, outcome.yours, outcome.message)


def test_numbers_by_hand() -> None:
    assert "ten losses" in failures("W2.1", token_mean=2.5)
    assert "these two" in failures("W2.1", example_mean=1.6)
    assert "8 tokens" not in failures("W2.1") and "over 2 tokens" in failures("W2.1", weight_ratio=0.25)
    assert "text" in failures("W2.1", token_mean="1.6")


def test_a_mean_of_nothing() -> None:
    def nan(logits, targets, mask):
        return F.cross_entropy(logits.flatten(0, 1), targets.masked_fill(~mask, -100).flatten())

    assert "0 / 0" in failures("W2.2", masked_cross_entropy=nan)
    plain = failures("W2.2", masked_cross_entropy=lambda *args: masked_cross_entropy(*args).item())
    assert "has no gradient" in plain


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"divide": lambda own, K: own * K}, "mean of the two"),
        ({"divide": lambda own, K: own}, "sum of the two"),
        ({"divide": lambda own, K: 1}, "bare sum"),
        ({"divide": lambda own, K: 10 * K}, "once too often"),
        ({"clear": True}, "last micro-batch alone"),
    ],
)
def test_known_slips_of_accumulation_are_named(change: dict, words: str) -> None:
    assert words in failures("W2.4", accumulate=lambda m, b, n: accumulate(m, b, n, **change))


def test_memory_of_accumulation() -> None:
    def hoards(model, micro, total):
        nats = [F.cross_entropy(model(b.inputs)[b.keep], b.targets[b.keep], reduction="sum") for b in micro]
        loss = torch.stack(nats).sum() / total
        loss.backward(retain_graph=True)
        return loss.item()

    assert failures("W2.4", accumulate=hoards) == (
        "Call backward() inside the loop, for each micro-batch, without retain_graph."
    )


@pytest.mark.parametrize(
    ("change", "words"),
    [({"late": True}, "rate"), ({"twice": True}, "One step"), ({"clear": False}, "add to them")],
)
def test_the_order_of_a_step(change: dict, words: str) -> None:
    assert words in failures("W2.5", train_step=lambda *args: train_step(*args, **change))


def test_an_indulgent_and_a_strict_test() -> None:
    assert "uneven" in failures("W2.6", test_accumulation=lambda accumulate: None)

    def strict(accumulate):
        raise AssertionError("I do not like it")

    assert "1e-9" in failures("W2.6", test_accumulation=strict)


def test_ranks() -> None:
    own = lambda sums, counts, world: [g / n for g, n in zip(sums, counts, strict=True)]  # noqa: E731
    assert "own count" in failures("W2.7", rank_gradients=own)
    no_world = lambda sums, counts, world: [g / sum(counts) for g in sums]  # noqa: E731
    assert "divides by world" in failures("W2.7", rank_gradients=no_world)


def test_names_of_the_experiment() -> None:
    assert "Missing: sgd_right" in failures(
        "W2.8", forgot={k: v for k, v in LOSSES.items() if k != "sgd_right"}
    )
    assert failures("W2.8", shows_it="none of them")
