import pytest
import torch
from rank_cases import all_cases
from two_processes import run_two

from lmcourse.distributed import from_environment, single
from lmcourse.errors import CourseError


@pytest.fixture(scope="module")
def two(tmp_path_factory) -> list[dict]:
    """The results of all cases on each of two ranks: one pair of processes for the whole file."""
    return run_two("rank_cases.py", tmp_path_factory.mktemp("ranks"))


@pytest.fixture(scope="module")
def one() -> dict:
    return all_cases(single())


@pytest.mark.parametrize("case", ["even", "odd", "empty rank"])
@pytest.mark.parametrize("what", ["gradients", "clipped"])
def test_gradients_are_those_of_one_process(one, two, case, what):
    for mine, first, second in zip(one[case][what], two[0][case][what], two[1][case][what], strict=True):
        assert torch.equal(first, second)
        torch.testing.assert_close(first, mine, rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("case", ["even", "odd", "empty rank"])
def test_loss_and_global_norm_are_those_of_one_process(one, two, case):
    for rank in two:
        assert rank[case]["loss"] == pytest.approx(one[case]["loss"], rel=1e-12)
        torch.testing.assert_close(rank[case]["norm"], one[case]["norm"], rtol=1e-10, atol=0)
    assert one[case]["norm"] > 0.01  # else clipping is not tested


def test_a_step_sends_its_gradients_once_however_many_micro_batches(two):
    parameters = sum(g.numel() for g in two[0]["odd"]["gradients"])
    count, gradients = two[1]["odd"]["calls"]  # three micro-batches on this rank
    assert count == 1 and gradients == pytest.approx(parameters, abs=40)


def test_parameters_without_gradient_stay_so_everywhere(one, two):
    for result in (one, *two):
        unused, used, frozen = result["frozen"]["grads"]
        assert unused is None and frozen is None
        assert used.dtype == torch.bfloat16 and used.tolist() == [3, 3]


def test_the_smallest_drift_is_named_on_every_rank(one, two):
    for rank in two:
        assert rank["drift"]["error"].startswith("after step 2: the copies of the model differ")
        assert "blocks.0.mlp.up.weight on rank 1" in rank["drift"]["error"]
    assert one["drift"]["error"] == ""


def test_exchange(one, two):
    for number, rank in enumerate(two):
        assert rank["exchange"] == {
            "big": 2**54 + 1,
            "float": pytest.approx(1.2),
            "any": [False, True, True],
            "gather": [{"rank": 0}, {"rank": 1}],
            "main": ["a", 0],
            "rows": [[(0, 0), (0, 0), (0, 1), (0, 2)], [(0, 0), (0, 1), (1, 2), (2, 5)]][number],
            "is_main": number == 0,
        }
    assert one["exchange"]["rows"] == [(0, 0), (0, 1), (0, 2), (0, 5)]
    assert one["exchange"]["gather"] == [{"rank": 0}]


def test_without_a_launcher_there_is_one_process():
    assert from_environment({}).world == 1
    assert from_environment({"RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0"}).is_main


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"RANK": ""}, "RANK: expected a whole number"),
        ({"RANK": "2"}, "RANK: expected 0 to 1"),
        ({"WORLD_SIZE": "two"}, "WORLD_SIZE: expected a whole number"),
        ({"LOCAL_RANK": "-1"}, "LOCAL_RANK: expected a whole number"),
        ({}, "the other processes do not come"),  # no MASTER_ADDR
    ],
)
def test_a_broken_environment_is_one_line(change, message, monkeypatch):
    monkeypatch.delenv("MASTER_ADDR", raising=False)
    with pytest.raises(CourseError, match=message) as caught:
        from_environment({"RANK": "0", "WORLD_SIZE": "2", "LOCAL_RANK": "0"} | change)
    assert "\n" not in str(caught.value)
