import pytest
import torch

from lmcourse.errors import CourseError
from lmcourse.optimizers import newton_schulz
from lmcourse.optimizers.rules.muon import FLOOR, orthogonalize, split_rows, update_scale

SHAPES = [(64, 64), (192, 64), (48, 160), (1, 40)]


def gaussian(shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def low_rank(shape, seed=0):
    """A few strong directions above noise, as gradients have them."""
    rank = min(3, min(shape))
    strong = gaussian((shape[0], rank), seed + 1) @ gaussian((rank, shape[1]), seed + 2)
    return strong + 0.02 * gaussian(shape, seed + 3)


def spectrum(before, after):
    """Share of the Frobenius norm in each direction before, and what became of it, in float64."""
    u, s, v = torch.linalg.svd(before.double(), full_matrices=False)
    return s / before.double().norm(), (u.mT @ after.double() @ v.mT).diagonal()


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", [gaussian, low_rank])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_strong_directions_end_near_one_and_none_far_above(shape, kind, dtype):
    matrix = kind(shape)
    result = newton_schulz(matrix, dtype=dtype)
    share, ended = spectrum(matrix, result)
    assert torch.linalg.svdvals(result.double())[0] <= 1.21
    strong = ended[share > 0.01]
    assert strong.min() >= 0.6 and strong.max() <= 1.25
    assert (ended > -1e-2).all()


@pytest.mark.parametrize("shape", SHAPES[:3])
def test_directions_above_a_five_hundredth_of_the_norm_end_in_the_measured_band(shape):
    short = min(shape)
    u, _, v = torch.linalg.svd(gaussian(shape), full_matrices=False)
    s = torch.logspace(0, -3, short)
    matrix = (u * s) @ v
    share, ended = spectrum(matrix, newton_schulz(matrix))
    assert share.min() < 0.002 < share[short // 2]
    kept = ended[share >= 0.002]
    assert kept.min() >= 0.66 and kept.max() <= 1.22


@pytest.mark.parametrize("shape", SHAPES[:3])
def test_singular_vectors_are_kept(shape):
    matrix = gaussian(shape)
    u, _, v = torch.linalg.svd(matrix.double(), full_matrices=False)
    inner = u.mT @ newton_schulz(matrix).double() @ v.mT
    assert (inner - inner.diagonal().diag()).abs().max() < 1e-3


def test_a_published_example():
    columns = torch.tensor([10.0, 3.0, 1.0, 0.3, 0.1, 0.03])
    matrix = gaussian((4, 6), seed=5) * columns
    values = torch.linalg.svdvals(newton_schulz(matrix))
    assert values[-1] > 0.3 and values[0] < 1.21
    assert torch.linalg.svdvals(matrix)[0] / torch.linalg.svdvals(matrix)[-1] > 30


def test_more_steps_never_settle_at_one():
    values = [torch.linalg.svdvals(newton_schulz(gaussian((30, 30)), steps=n)) for n in (5, 10, 20)]
    assert all((v - 1).abs().max() > 0.1 for v in values)


@pytest.mark.parametrize("scale", [1e-12, 1e-6, 1e6, 1e15])
def test_the_size_of_the_matrix_does_not_matter(scale):
    matrix = gaussian((8, 20))
    assert torch.allclose(newton_schulz(matrix * scale), newton_schulz(matrix), atol=1e-5)


def test_zero_stays_zero():
    assert torch.equal(newton_schulz(torch.zeros(3, 5)), torch.zeros(3, 5))


@pytest.mark.parametrize("shape", [(4, 3, 7), (2, 2, 7, 3), (1, 5, 5)])
def test_each_matrix_of_a_batch_is_its_own(shape):
    batch = gaussian(shape)
    batch[0] *= 1000.0
    flat = batch.reshape(-1, *shape[-2:])
    alone = torch.stack([newton_schulz(m) for m in flat]).reshape(shape)
    assert torch.allclose(newton_schulz(batch), alone, atol=1e-5)


def test_the_type_comes_back_and_the_input_is_left_alone():
    matrix = gaussian((6, 4))
    before = matrix.clone()
    assert newton_schulz(matrix, dtype=torch.bfloat16).dtype == torch.float32
    assert newton_schulz(matrix.bfloat16()).dtype == torch.bfloat16
    assert newton_schulz(matrix.double()).dtype == torch.float64
    assert torch.equal(matrix, before)


def test_one_stack_for_a_shape_and_its_transpose_gives_each_its_own_result():
    matrices = [gaussian((6, 4), 1), gaussian((4, 6), 2), gaussian((5, 5), 3), gaussian((6, 4), 4)]
    for matrix, result in zip(matrices, orthogonalize(matrices), strict=True):
        assert result.shape == matrix.shape
        assert torch.allclose(result, newton_schulz(matrix), atol=1e-5)


def test_below_the_floor_nothing_moves_and_above_it_moves_fully():
    still, moving, zero = gaussian((16, 16)) * FLOOR / 2, gaussian((16, 16)) * FLOOR * 3, torch.zeros(16, 16)
    results = orthogonalize([still, moving, zero])
    assert torch.equal(results[0], zero) and torch.equal(results[2], zero)
    assert torch.allclose(results[1], newton_schulz(moving), atol=1e-6)


def test_a_matrix_that_is_not_finite_is_not_hidden_as_zero():
    broken = gaussian((4, 4))
    broken[1, 2] = float("nan")
    results = orthogonalize([broken, gaussian((4, 4), 1)])
    assert results[0].isnan().any() and results[1].isfinite().all()


@pytest.mark.parametrize(("rows", "columns"), [(384, 384), (1536, 384), (384, 1536), (16, 300)])
def test_scaled_to_match_adamw_updates_have_the_same_size_whatever_the_shape(rows, columns):
    update = newton_schulz(gaussian((rows, columns))) * update_scale("match_adamw", rows, columns)
    assert 0.2 * 0.68 < update.square().mean().sqrt() < 0.2 * 1.21


def test_rows_that_cannot_be_split_are_named():
    with pytest.raises(CourseError, match="split: 10 rows cannot be divided into 3 matrices"):
        split_rows(torch.zeros(10, 4), 3)
