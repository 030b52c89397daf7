import math

import numpy as np
import pytest
import torch

from lmcourse.numbers import FORMATS, NumberFormat

TORCH = {
    "fp32": torch.float32,
    "bf16": torch.bfloat16,
    "fp16": torch.float16,
    "fp8_e4m3": torch.float8_e4m3fn,
    "fp8_e5m2": torch.float8_e5m2,
}
WIDTHS = {"fp32": torch.int32, "bf16": torch.int16, "fp16": torch.int16}


@pytest.mark.parametrize("name", FORMATS)
def test_the_derived_figures_are_those_of_the_library(name):
    mine, theirs = FORMATS[name], torch.finfo(TORCH[name])
    assert (mine.bits, mine.max, mine.min_normal) == (theirs.bits, theirs.max, theirs.smallest_normal)
    assert mine.spacing(1.0) == theirs.eps


def test_figures_that_everybody_should_know():
    assert FORMATS["fp16"].max == 65_504 and FORMATS["fp16"].min_subnormal == pytest.approx(5.96e-8, rel=1e-3)
    assert FORMATS["bf16"].spacing(1.0) == 2**-7 and FORMATS["bf16"].spacing(256.0) == 2.0
    assert FORMATS["fp8_e4m3"].max == 448 and FORMATS["fp8_e5m2"].max == 57_344
    assert 2 < FORMATS["bf16"].digits < 3


def every_number(name):
    """All numbers of a small format, finite ones, in order."""
    bits = FORMATS[name].bits
    if bits == 8:
        x = torch.arange(256, dtype=torch.uint8).view(TORCH[name])
    else:
        x = torch.arange(-(2**15), 2**15, dtype=torch.int16).view(TORCH[name])
    x = x.to(torch.float64).numpy()
    return np.unique(x[np.isfinite(x)])


@pytest.mark.parametrize("name", ["bf16", "fp16", "fp8_e4m3", "fp8_e5m2"])
def test_spacing_and_neighbors_agree_with_a_list_of_all_numbers(name):
    numbers = every_number(name)
    rng = np.random.default_rng(0)
    middles = rng.choice(len(numbers) - 1, 400)
    for i in middles:
        low, high = numbers[i], numbers[i + 1]
        x = low + (high - low) * rng.choice([0.25, 0.5, 0.9])
        assert FORMATS[name].neighbors(x) == (low, high)
        assert FORMATS[name].neighbors(low) == (low, low)
        inner = low if low >= 0 else high
        assert FORMATS[name].spacing(inner) == high - low


@pytest.mark.parametrize("name", ["bf16", "fp16", "fp8_e4m3", "fp8_e5m2"])
def test_nearest_is_the_librarys_cast_ties_included(name):
    numbers = every_number(name)
    rng = np.random.default_rng(1)
    ties = (numbers[:-1] + numbers[1:])[rng.choice(len(numbers) - 1, 200)] / 2
    others = rng.standard_normal(300) * 10.0 ** rng.integers(-9, 5, 300)
    for x in [*ties, *others, 0.0, -0.0, 1.00390625, 1.01171875]:
        x = float(np.float32(x))
        expected = float(torch.tensor(x).to(TORCH[name]).double())
        mine = FORMATS[name].nearest(x)
        assert mine == expected or (math.isnan(mine) and math.isnan(expected)), x
        if expected == 0:
            assert math.copysign(1, mine) == math.copysign(1, expected)


def test_fp32_rounds_as_numpy_does():
    rng = np.random.default_rng(2)
    for x in rng.standard_normal(300) * 10.0 ** rng.integers(-44, 38, 300):
        assert FORMATS["fp32"].nearest(x) == float(np.float32(x))


def test_overflow_infinities_and_nan():
    assert FORMATS["fp16"].nearest(65_519.0) == 65_504 and FORMATS["fp16"].nearest(65_520.0) == math.inf
    assert FORMATS["fp16"].nearest(-1e6) == -math.inf and math.isnan(FORMATS["fp16"].nearest(math.nan))
    assert FORMATS["fp8_e4m3"].nearest(1000.0) == 448 and FORMATS["fp8_e4m3"].nearest(-math.inf) == -448
    assert FORMATS["fp8_e5m2"].nearest(-math.inf) == -math.inf
    assert FORMATS["fp16"].neighbors(1e6) == (65_504, math.inf)


def test_a_format_of_ones_own_follows_from_its_bits():
    tiny = NumberFormat("fp6_e3m2", 3, 2)
    assert (tiny.bits, tiny.bias, tiny.max, tiny.min_normal, tiny.min_subnormal) == (6, 3, 14.0, 0.25, 0.0625)
