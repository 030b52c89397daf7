import torch

from lmcourse.model.by_hand import turn
from lmcourse.model.rope import rope_table, rotation


def rotate(x, angles):
    return turn(x, rotation(angles, x.shape[2], x.dtype))


def test_table_is_exact_at_large_positions():
    table = rope_table(4096, 32, 10_000.0)
    frequency = 10_000.0 ** (-torch.arange(0, 32, 2, dtype=torch.float64) / 32)
    exact = (4095 * frequency).cos()
    assert table.dtype == torch.float32
    assert (table[0, 4095].double() - exact).abs().max() < 1e-6


def test_products_depend_on_the_distance_only():
    generator = torch.Generator().manual_seed(0)
    q, k = torch.randn(2, 1, 1, 1, 16, generator=generator, dtype=torch.float64)
    table = rope_table(64, 16, 10_000.0).double()

    def product(i: int, j: int) -> float:
        return float((rotate(q, table[:, i : i + 1]) * rotate(k, table[:, j : j + 1])).sum())

    assert abs(product(5, 2) - product(50, 47)) < 1e-6
    assert abs(product(5, 2) - product(5, 3)) > 1e-3


def test_turning_keeps_length_and_type():
    x = torch.randn(2, 5, 3, 8, generator=torch.Generator().manual_seed(1)).bfloat16()
    turned = rotate(x, rope_table(5, 8, 10_000.0))
    assert turned.dtype == torch.bfloat16
    assert torch.allclose(turned.float().norm(dim=-1), x.float().norm(dim=-1), rtol=0.02)
