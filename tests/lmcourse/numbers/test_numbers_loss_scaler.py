import math

import pytest
import torch
from torch import nn

from lmcourse.errors import CourseError
from lmcourse.numbers import LossScaler


def parameter(*gradient):
    p = nn.Parameter(torch.zeros(len(gradient)))
    p.grad = torch.tensor(gradient)
    return p


def test_it_does_what_the_librarys_scaler_does_on_a_scripted_run():
    """Overflows, clean stretches that end in growth, and an overflow just before one."""
    script = [
        "ok",
        "ok",
        "ok",
        "inf",
        "ok",
        "ok",
        "nan",
        "inf",
        "ok",
        "ok",
        "ok",
        "ok",
        "ok",
        "ok",
        "ok",
        "ok",
        "inf",
        "ok",
        "ok",
        "ok",
        "ok",
    ]
    ours, theirs = LossScaler(2.0**10, interval=4), torch.amp.GradScaler("cpu", 2.0**10, growth_interval=4)
    mine, other = (nn.Parameter(torch.tensor([1.0, -2.0])) for _ in range(2))
    optimizers = [torch.optim.SGD([p], lr=0.1, momentum=0.9) for p in (mine, other)]
    for step, what in enumerate(script):
        for p, scaler in ((mine, ours), (other, theirs)):
            p.grad = None
            scaler.scale((p * (step + 1.0)).square().sum()).backward()
            if what != "ok":
                p.grad[1] = float(what)
        if not ours.unscale(optimizers[0]):
            optimizers[0].step()
        ours.update()
        theirs.unscale_(optimizers[1])
        theirs.step(optimizers[1])
        theirs.update()
        assert (ours.value, ours.clean) == (theirs.get_scale(), theirs._get_growth_tracker())
        assert torch.equal(mine, other)
    assert ours.overflows == 4


def test_the_defaults_are_the_usual_ones():
    scaler, theirs = LossScaler(), torch.amp.GradScaler("cpu")
    assert scaler.value == 65_536 == theirs.get_scale()
    for _ in range(1999):
        scaler.update(overflow=False)
    assert scaler.value == 65_536
    scaler.update(overflow=False)
    assert scaler.value == 131_072


def test_a_norm_below_the_clip_is_seen_at_its_true_size_only_after_unscaling():
    p = parameter(0.3, 0.4)
    p.grad.mul_(2.0**16)
    scaler = LossScaler()
    assert scaler.unscale(torch.optim.SGD([p])) is False
    norm = nn.utils.clip_grad_norm_([p], 1.0)
    assert norm.item() == pytest.approx(0.5) and torch.allclose(p.grad, torch.tensor([0.3, 0.4]))


def test_small_gradients_survive_float16_only_when_scaled():
    x = torch.tensor([1.0], dtype=torch.float16, requires_grad=True)
    (x.float() * 1e-9).sum().backward()
    assert x.grad.item() == 0.0
    x.grad = None
    LossScaler().scale((x.float() * 1e-9).sum()).backward()
    assert x.grad.item() / 65_536 == pytest.approx(1e-9, rel=1e-2)


@pytest.mark.parametrize("bad", [math.inf, -math.inf, math.nan])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_bad_number_is_found_in_every_parameter_and_group(bad, place):
    parameters = [parameter(1.0, 2.0), parameter(3.0), parameter(4.0, 5.0, 6.0)]
    parameters[place].grad[-1] = bad
    groups = [{"params": parameters[:2]}, {"params": parameters[2:]}]
    assert LossScaler().unscale(torch.optim.SGD(groups)) is True


def test_parameters_without_gradient_and_none_at_all_are_no_overflow():
    scaler = LossScaler()
    assert scaler.unscale(torch.optim.SGD([nn.Parameter(torch.ones(2))])) is False


def test_unscaling_twice_is_refused_until_the_next_step():
    scaler, optimizer = LossScaler(), torch.optim.SGD([parameter(1.0)])
    scaler.unscale(optimizer)
    with pytest.raises(CourseError, match="unscale was called twice"):
        scaler.unscale(optimizer)
    scaler.update()
    scaler.unscale(optimizer)


def test_update_without_looking_is_refused():
    with pytest.raises(CourseError, match="update without unscale"):
        LossScaler().update()


def test_the_scale_never_falls_below_one_and_then_says_why():
    scaler = LossScaler(initial=3.0)
    scaler.update(overflow=True)
    scaler.update(overflow=True)
    assert scaler.value == 1.0
    with pytest.raises(CourseError, match="not finite even at scale 1"):
        scaler.update(overflow=True)


def test_a_restored_scaler_grows_at_the_same_step():
    scaler = LossScaler(interval=5)
    for overflow in (True, False, False, False):
        scaler.update(overflow=overflow)
    again = LossScaler(interval=5)
    again.load_state_dict(scaler.state_dict())
    for _ in range(4):
        scaler.update(overflow=False)
        again.update(overflow=False)
        assert again.state_dict() == scaler.state_dict()
    assert again.value == 65_536 and again.overflows == 1


@pytest.mark.parametrize("values", [{"initial": 0.5}, {"growth": 1.0}, {"backoff": 1.0}, {"interval": 0}])
def test_impossible_constants_are_refused(values):
    with pytest.raises(CourseError, match="loss scaler: expected initial"):
        LossScaler(**values)
