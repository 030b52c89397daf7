import pytest
import torch
from torch import nn

from lmcourse.errors import CourseError
from lmcourse.numbers import KEEPINGS, NarrowWeights


def narrow(keeping, *values, shape=(4,)):
    weights = [nn.Parameter(torch.full(shape, v, dtype=torch.bfloat16)) for v in values or (1.0,)]
    generator = torch.Generator().manual_seed(0) if keeping == "stochastic" else None
    return weights, NarrowWeights(weights, keeping, generator)


def push(weights, kept, lr, steps, gradient=-1.0):
    optimizer = torch.optim.SGD(kept.copies, lr=lr)
    for _ in range(steps):
        for w in weights:
            w.grad = torch.full_like(w, gradient)
        kept.step(optimizer)


def test_a_thousand_updates_of_a_thousandth():
    ends = {}
    for keeping in KEEPINGS:
        (w,), kept = narrow(keeping, shape=(2000,))
        push([w], kept, lr=1e-3, steps=1000)
        assert w.dtype == torch.bfloat16
        ends[keeping] = w.double().mean().item()
    assert ends["nearest"] == 1.0
    assert ends["master"] == 2.0 and ends["kahan"] == pytest.approx(2.0, abs=2**-6)
    assert ends["stochastic"] == pytest.approx(2.0, abs=0.01)


@pytest.mark.parametrize(("lr", "least", "most"), [(1e-3, 0.7, 0.95), (1e-4, 0.05, 0.25), (1e-5, 0.0, 0.05)])
def test_the_drift_of_small_weights_is_lost_by_rounding_to_nearest_and_kept_otherwise(lr, least, most):
    """200 equal steps of a tenth of the learning rate on weights N(0, 0.02)."""
    start = torch.normal(0, 0.02, (100_000,), generator=torch.Generator().manual_seed(1)).bfloat16()
    drift = {}
    for keeping in KEEPINGS:
        weight = nn.Parameter(start.clone())
        generator = torch.Generator().manual_seed(2) if keeping == "stochastic" else None
        push([weight], NarrowWeights([weight], keeping, generator), lr=0.1 * lr, steps=200)
        drift[keeping] = ((weight.double() - start.double()).mean() / (200 * 0.1 * lr)).item()
    assert least <= drift["nearest"] <= most
    for keeping in ("stochastic", "kahan", "master"):
        assert drift[keeping] == pytest.approx(1.0, abs=0.1)


def test_the_weight_is_always_the_rounded_master():
    (w,), kept = narrow("master", 0.3)
    for _ in range(20):
        push([w], kept, lr=3e-4, steps=1, gradient=0.7)
        assert torch.equal(w, kept.copies[0].to(torch.bfloat16)) and kept.copies[0].dtype == torch.float32
        assert w.data_ptr() != kept.copies[0].data_ptr()


def test_a_weight_without_gradient_stays():
    (a, b), kept = narrow("master", 1.0, 2.0)
    a.grad = torch.ones_like(a)
    kept.step(torch.optim.SGD(kept.copies, lr=0.5))
    assert a[0].item() == 0.5 and b[0].item() == 2.0


@pytest.mark.parametrize("keeping", KEEPINGS)
def test_a_restored_state_goes_on_bit_for_bit(keeping):
    (w,), kept = narrow(keeping, 0.9, shape=(300,))
    push([w], kept, lr=1e-3, steps=7)
    state = {k: v if isinstance(v, str) else torch_copy(v) for k, v in kept.state_dict().items()}
    saved = w.detach().clone()
    push([w], kept, lr=1e-3, steps=9)

    (again,), other = narrow(keeping, 0.9, shape=(300,))
    with torch.no_grad():
        again.copy_(saved)
    other.load_state_dict(state)
    push([again], other, lr=1e-3, steps=9)
    assert torch.equal(w, again)


def torch_copy(value):
    if isinstance(value, list):
        return [v.clone() for v in value]
    return None if value is None else value.clone()


def test_a_foreign_state_and_impossible_arguments_are_one_line():
    (w,), kept = narrow("master")
    with pytest.raises(CourseError, match="it is of 'kahan' weights"):
        kept.load_state_dict(narrow("kahan")[1].state_dict())
    with pytest.raises(CourseError, match="expected one of nearest"):
        NarrowWeights([w], "none")
    with pytest.raises(CourseError, match="generator"):
        NarrowWeights([w], "stochastic")
    with pytest.raises(CourseError, match=r"expected bfloat16, got torch\.float32"):
        NarrowWeights([nn.Parameter(torch.ones(2))], "master")
