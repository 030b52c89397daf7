import math

import pytest
import torch

from lmcourse.errors import CourseError
from lmcourse.objective import masked_cross_entropy


def random_case(seed: int, B: int = 3, T: int = 5, V: int = 11):
    generator = torch.Generator().manual_seed(seed)
    logits = 3 * torch.randn(B, T, V, generator=generator, dtype=torch.float64)
    targets = torch.randint(V, (B, T), generator=generator)
    keep = torch.rand(B, T, generator=generator) < 0.6
    keep[0, 0] = True
    return logits, targets, keep


def oracle(logits, targets, keep) -> float:
    """By hand in float64: mean over kept tokens of log(sum(exp)) - logit of the target."""
    total = 0.0
    for b, t in keep.nonzero().tolist():
        row = logits[b, t].tolist()
        top = max(row)
        total += top + math.log(sum(math.exp(x - top) for x in row)) - row[int(targets[b, t])]
    return total / int(keep.sum())


@pytest.mark.parametrize("seed", range(4))
def test_equals_the_oracle_in_float64(seed):
    logits, targets, keep = random_case(seed)
    assert masked_cross_entropy(logits, targets, keep).item() == pytest.approx(
        oracle(logits, targets, keep), rel=1e-12
    )


def test_masked_cross_entropy_ignores_masked_positions():
    logits, targets, keep = random_case(1)
    logits.requires_grad_()
    loss = masked_cross_entropy(logits, targets, keep)
    loss.backward()
    assert (logits.grad[~keep] == 0).all() and (logits.grad[keep].abs().sum(-1) > 0).all()
    for junk in (-100, -1, 10**9):
        spoiled = targets.masked_fill(~keep, junk)
        assert masked_cross_entropy(logits, spoiled, keep).item() == loss.item()


def test_a_token_weighs_the_same_in_a_short_and_a_long_row():
    """Two tokens at 4 nats and eight at 1 are 1.6 nats per token; the mean of the row means would be 2.5."""
    V = 100
    logits = torch.zeros(2, 8, V)
    for row, nats in ((0, 4.0), (1, 1.0)):
        p = math.exp(-nats)
        logits[row, :, 0] = math.log(p / (1 - p) * (V - 1))
    keep = torch.ones(2, 8, dtype=torch.bool)
    keep[0, 2:] = False
    loss = masked_cross_entropy(logits, torch.zeros(2, 8, dtype=torch.long), keep)
    assert loss.item() == pytest.approx(1.6, rel=1e-5)


def test_nothing_kept_gives_zero_with_zero_gradient():
    logits, targets, _ = random_case(2)
    logits.requires_grad_()
    loss = masked_cross_entropy(logits, targets, torch.zeros_like(targets, dtype=torch.bool))
    loss.backward()
    assert loss.item() == 0.0 and (logits.grad == 0).all()


def test_the_given_count_is_the_denominator():
    logits, targets, keep = random_case(3)
    n = int(keep.sum())
    mean = masked_cross_entropy(logits, targets, keep)
    assert masked_cross_entropy(logits, targets, keep, count=4 * n).item() == pytest.approx(mean.item() / 4)
    with pytest.raises(CourseError, match="count"):
        masked_cross_entropy(logits, targets, keep, count=0)


def test_low_precision_logits_give_a_float32_loss_and_large_ones_stay_finite():
    logits, targets, keep = random_case(4)
    loss = masked_cross_entropy(logits.bfloat16(), targets, keep)
    assert loss.dtype == torch.float32
    assert loss.item() == pytest.approx(oracle(logits.bfloat16().double(), targets, keep), rel=1e-5)
    assert masked_cross_entropy(1e4 * logits.float(), targets, keep).isfinite()


@pytest.mark.parametrize("bad", [-100, -1, 11])
def test_a_kept_target_outside_the_vocabulary_is_named(bad):
    logits, targets, keep = random_case(5)
    targets[0, 0] = bad
    with pytest.raises(CourseError, match=f"id {bad} is outside the vocabulary 0..10"):
        masked_cross_entropy(logits, targets, keep)
