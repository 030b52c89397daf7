import pytest
import torch

from lmcourse.errors import CourseError
from lmcourse.numbers import FORMATS, stochastic_round_bf16


def source(seed=0):
    return torch.Generator().manual_seed(seed)


def test_each_result_is_one_of_the_two_neighbors():
    x = torch.randn(500, generator=source(3)) * 10.0 ** torch.randint(-20, 20, (500,), generator=source(4))
    for value, rounded in zip(x.tolist(), stochastic_round_bf16(x, source()).tolist(), strict=True):
        assert rounded in FORMATS["bf16"].neighbors(value)


@pytest.mark.parametrize("value", [1.001, -1.001, 1.0039, -0.3337, 2.0**-130 + 2.0**-140, 1e30])
def test_the_mean_is_the_number_itself(value):
    n = 200_000
    x = torch.full((n,), value)
    low, high = FORMATS["bf16"].neighbors(x[0].item())
    up = (stochastic_round_bf16(x, source()).double() == high).sum().item() / n
    wanted = (x[0].item() - low) / (high - low)
    assert abs(up - wanted) < 5 * (wanted * (1 - wanted) / n) ** 0.5


def test_numbers_that_bfloat16_holds_never_change():
    bits = torch.arange(-(2**15), 2**15, dtype=torch.int16)
    exact = bits.view(torch.bfloat16)
    rounded = stochastic_round_bf16(exact.float(), source())
    finite = exact.isfinite()
    assert torch.equal(rounded[finite].view(torch.int16), bits[finite])  # zero keeps its sign
    assert torch.equal(rounded[exact.isinf()], exact[exact.isinf()])
    assert rounded[exact.isnan()].isnan().all()


def test_a_nan_stays_one_whatever_its_bits():
    patterns = torch.tensor([0x7FFFFFFF, 0x7F800001, -1, -8388607], dtype=torch.int32)
    assert stochastic_round_bf16(patterns.view(torch.float32), source()).isnan().all()


def test_the_generator_decides_and_the_global_one_is_left_alone():
    x = torch.randn(100, generator=source(5))
    before = torch.get_rng_state()
    first, again, other = (stochastic_round_bf16(x, source(seed)) for seed in (1, 1, 2))
    assert torch.equal(first, again) and not torch.equal(first, other)
    assert torch.equal(torch.get_rng_state(), before)
    assert not torch.equal(first, x.to(torch.bfloat16)) and torch.equal(
        x, torch.randn(100, generator=source(5))
    )


def test_another_type_is_refused():
    with pytest.raises(CourseError, match=r"expected float32 to round to bfloat16, got torch\.float64"):
        stochastic_round_bf16(torch.ones(3, dtype=torch.float64), source())
