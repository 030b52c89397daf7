import numpy as np
import pytest
import torch

from lmcourse.errors import CourseError
from lmcourse.packing import sample_windows, split_tail


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_targets_are_the_inputs_one_token_later():
    tokens = torch.randint(1000, (200,), generator=generator(5))
    x, y = sample_windows(tokens, 50, 17, generator())
    assert x.shape == y.shape == (50, 17) and x.dtype == y.dtype == torch.int64
    unfolded = tokens.unfold(0, 18, 1)
    for row, target in zip(x, y, strict=True):
        full = torch.cat([row, target[-1:]])
        assert (unfolded == full).all(1).any()
        assert torch.equal(row[1:], target[:-1])


def test_every_start_is_drawn_equally_often_both_ends_included():
    N, T, draws = 12, 4, 16_000
    x, _ = sample_windows(torch.arange(N), draws, T, generator(1))
    counts = torch.bincount(x[:, 0], minlength=N)
    assert (counts[N - T :] == 0).all()
    expected = draws / (N - T)
    chi_square = ((counts[: N - T] - expected) ** 2 / expected).sum()
    assert chi_square < 40  # 7 degrees of freedom: p < 1e-6 above 40


def test_only_the_given_generator_moves():
    torch.manual_seed(123)
    before = torch.get_rng_state()
    one = sample_windows(torch.arange(99), 5, 8, generator(3))
    two = sample_windows(torch.arange(99), 5, 8, generator(3))
    assert torch.equal(one[0], two[0]) and torch.equal(one[1], two[1])
    assert torch.equal(before, torch.get_rng_state())


def test_any_integer_array_is_a_stream():
    tokens = np.array([60_000, 3, 65_535, 7, 1], dtype=np.uint16)
    x, y = sample_windows(tokens, 3, 4, generator())
    assert x.tolist() == [[60_000, 3, 65_535, 7]] * 3
    assert y.tolist() == [[3, 65_535, 7, 1]] * 3


def test_a_stream_without_a_window_is_named():
    with pytest.raises(CourseError, match=r"T=4 .* at least 5, got 4"):
        sample_windows(torch.arange(4), 1, 4, generator())


@pytest.mark.parametrize(("N", "fraction"), [(100, 0.1), (101, 0.1), (7, 0.5), (3, 0.0), (0, 0.3)])
def test_the_tail_is_contiguous_disjoint_and_not_copied(N, fraction):
    tokens = torch.randint(50, (N,), generator=generator(2))
    train, validation = split_tail(tokens, fraction)
    assert len(validation) == int(N * fraction)
    assert torch.equal(torch.cat([train, validation]), tokens)
    if N:
        assert train.data_ptr() == tokens.data_ptr()


@pytest.mark.parametrize("fraction", [-0.1, 1.0, 1.5, float("nan")])
def test_a_fraction_that_is_no_share_is_refused(fraction):
    with pytest.raises(CourseError, match="fraction"):
        split_tail(torch.arange(5), fraction)
