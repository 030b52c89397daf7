"""What week 3 says of additions, gradients and sick logs holds over several seeds and in the records."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from lmcourse.experiments.additions import thousand_additions
from lmcourse.experiments.gradient_sizes import GradientSizes, gradient_sizes
from lmcourse.experiments.precision_logs import load_recorded_logs, precision_logs


def test_a_thousand_additions_in_four_ways() -> None:
    chance = []
    for seed in range(12):
        ends = {way: float(path[-1]) for way, path in thousand_additions(seed).items()}
        assert ends["bfloat16"] == 1.0
        assert 1.95 < ends["float16"] < 2.0  # close, and not there
        assert abs(ends["float32"] - 2.0) < 1e-3
        chance.append(ends["bfloat16, stochastic"])
    # The text's standard deviation is 0.08, a little more above 2, where the spacing doubles.
    assert abs(np.mean(chance) - 2.0) < 4 * 0.09 / np.sqrt(len(chance))
    assert 0.03 < np.std(chance) < 0.18


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_gradients_of_a_small_model_mostly_fit(seed: int) -> None:
    sizes = gradient_sizes(seed)
    assert sizes.lost() < 0.005 and 0.005 < sizes.coarse() < 0.15
    assert sizes.lost(2.0**16) == 0 and sizes.overflow(2.0**16) == 0
    assert sizes.lost(2.0**-12) > 0.03 and sizes.coarse(2.0**-12) > 0.3 and sizes.overflow(2.0**30) > 0.5


def test_shares_are_those_of_torchs_cast() -> None:
    sizes = GradientSizes(np.array([-30.0, -25.0, -24.0, -16.0, -10.0, 3.0]), 0.0)
    values = torch.from_numpy(np.exp2(sizes.exponents)).half()
    assert sizes.lost() == pytest.approx(float((values == 0).float().mean()))
    assert sizes.coarse() == pytest.approx(
        3 / 6
    )  # 2^-25 rounds to zero, a tie; it counts as held with few digits
    assert sizes.overflow(2.0**14) == pytest.approx(1 / 6)


def _check(logs) -> None:
    last = {name: lines[-1] for name, lines in logs.items()}
    assert last["healthy"].unmoved_weights < 0.05 and last["healthy"].zero_gradients < 0.05
    assert (
        last["A"].unmoved_weights > 0.5 and last["A"].zero_gradients < 0.05 and last["A"].skipped_steps == 0
    )
    assert last["B"].zero_gradients > 0.5 and last["B"].skipped_steps == 0
    assert (
        last["C"].skipped_steps == 1 and last["C"].gradient_norm is None and last["C"].zero_gradients < 0.05
    )
    assert last["healthy"].loss < min(last["A"].loss, last["C"].loss) - 0.1


def test_recorded_logs_show_what_proves_their_cause() -> None:
    _check(load_recorded_logs())


@pytest.mark.slow
def test_so_do_those_of_another_seed() -> None:
    _check(precision_logs(seed=5))
