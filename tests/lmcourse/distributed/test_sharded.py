from pathlib import Path

import pytest
import torch
from rank_cases import gradients, new_model, uneven_rows
from sharded_cases import ROWS, adamw
from two_processes import run_two

from lmcourse.distributed import single
from lmcourse.distributed.sharded import load_sharded, shard
from lmcourse.errors import CourseError
from lmcourse.model import Transformer, TransformerConfig

pytestmark = pytest.mark.filterwarnings("ignore:torch.distributed is disabled")


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("sharded")


@pytest.fixture(scope="module")
def two(folder) -> list[dict]:
    return run_two("sharded_cases.py", folder)


def one_process(steps: int):
    """Model, optimizer, and gradients and norm of the last step, all on one process."""
    model = new_model()
    optimizer = adamw(model)
    for seed in range(steps):
        optimizer.zero_grad()
        gradients(single(), model, uneven_rows(ROWS, seed))
        before = [p.grad.clone() for p in model.parameters()]
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 0.01)
        optimizer.step()
    return model, optimizer, before, norm


def test_each_rank_keeps_about_half(two):
    assert all(rank["share"] == pytest.approx(0.5, abs=0.05) for rank in two)


def test_gradients_and_global_norm_are_those_of_one_process(two):
    _, _, expected, norm = one_process(1)
    for rank in two:
        torch.testing.assert_close(rank["gradients"], expected, rtol=1e-10, atol=1e-14)
        torch.testing.assert_close(rank["norm"], norm, rtol=1e-10, atol=0)


def test_a_step_repeated_from_the_checkpoint_is_bit_equal(two):
    expected = [p.detach() for p in one_process(2)[0].parameters()]
    for rank in two:
        assert all(torch.equal(a, b) for a, b in zip(rank["twice"], rank["again"], strict=True))
        torch.testing.assert_close(rank["twice"], expected, rtol=1e-9, atol=1e-12)


def test_pieces_load_into_a_plain_model_on_one_process(folder, two):
    expected, expected_optimizer, _, _ = one_process(1)
    model = Transformer(new_model().config, seed=99).double()
    optimizer = adamw(model)
    load_sharded(folder / "pieces", model, optimizer)
    assert all(type(p) is torch.nn.Parameter for p in model.parameters())
    torch.testing.assert_close(model.state_dict(), expected.state_dict(), rtol=1e-10, atol=1e-14)
    torch.testing.assert_close(
        optimizer.state_dict()["state"], expected_optimizer.state_dict()["state"], rtol=1e-10, atol=1e-14
    )


def test_mistakes_are_one_line(folder, two, tmp_path):
    other = Transformer(TransformerConfig(5, context=7, layers=1, heads=2, width=8), seed=0).double()
    with pytest.raises(CourseError, match="does not fit this model") as caught:
        load_sharded(folder / "pieces", other, adamw(other))
    assert "\n" not in str(caught.value)
    with pytest.raises(CourseError, match="no complete checkpoint"):
        load_sharded(tmp_path, other, adamw(other))
    with pytest.raises(CourseError, match="at least 2 processes"):
        shard(other, other.blocks, single())
