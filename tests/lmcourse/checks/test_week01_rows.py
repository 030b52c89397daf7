"""The property rows of week 1 pass a right answer, and name what is wrong with typical wrong ones."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch
from torch import Tensor

from lmcourse import packing
from lmcourse.checks.rows import ERROR, FAILED, PASSED, picture_of, property_rows
from lmcourse.checks.week01 import _model_fn

RIGHT = {
    "W1.1": {"sample_windows": packing.sample_windows},
    "W1.2": {"split_tail": packing.split_tail, "overlap_share": 127 / 128},
    "W1.3": {"pack": packing.pack},
    "W1.4": {"document_mask": packing.document_mask},
    "W1.5": {"positions_and_loss_mask": packing.positions_and_loss_mask},
    "W1.6": {"ffd_pack": packing.ffd_pack},
}


def rows(exercise_id: str, names: dict) -> list:
    """All rows; an AssertionError of a row becomes a failed one, as the check makes it."""
    found = []
    for row in property_rows(exercise_id):
        try:
            found.append(row(names))
        except AssertionError as error:
            found.append(type("Failed", (), {"state": FAILED, "message": str(error), "case": row.case})())
    return found


def failures(exercise_id: str, names: dict) -> str:
    return " | ".join(row.message for row in rows(exercise_id, names) if row.state == FAILED)


@pytest.mark.parametrize("exercise_id", RIGHT)
def test_right_answers_pass_every_row(exercise_id: str) -> None:
    for row in rows(exercise_id, RIGHT[exercise_id]):
        assert row.state == PASSED, (row.case, row.message)


def windows(shift: int = 1, low: int = 0, high_less: int = 0, rows_alike: bool = False):
    """A sampler with a slip: targets moved by `shift`, starts from `low` to N - T - 1 - high_less."""

    def sample(tokens: Tensor, B: int, T: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        starts = torch.randint(low, len(tokens) - T - high_less, (B,), generator=generator)
        if rows_alike:
            starts = starts[:1].expand(B)
        index = starts[:, None] + torch.arange(T)
        return tokens[index], tokens[(index + shift).clamp(0, len(tokens) - 1)]

    return sample


def windows_from_the_global_state(tokens, B, T, generator):
    index = torch.randint(len(tokens) - T, (B, 1)) + torch.arange(T + 1)
    return tokens[index][:, :-1], tokens[index][:, 1:]


def windows_plus_one(tokens, B, T, generator):
    x, _y = packing.sample_windows(tokens, B, T, generator)
    return x, x + 1


@pytest.mark.parametrize(
    ("sample", "words"),
    [
        (windows(shift=0), "y equals x"),
        (windows_plus_one, "increased the token ids"),
        (windows(shift=2, high_less=1), "shifted by two"),
        (windows(shift=-1, low=1), "token before x"),
        (windows(high_less=1), "last start"),
        (windows(low=1), "Start 0 never"),
        (windows(rows_alike=True), "one start for each row"),
        (windows_from_the_global_state, "generator=generator"),
        (lambda *a: tuple(p.int() for p in packing.sample_windows(*a)), "int64"),
        (lambda *a: packing.sample_windows(*a)[0], "two tensors"),
    ],
)
def test_slips_of_windows_are_named(sample, words: str) -> None:
    with torch.random.fork_rng():
        assert words in failures("W1.1", {"sample_windows": sample})


@pytest.mark.parametrize(
    ("share", "words"),
    [
        (126 / 128, "one too few"),
        (127 / 129, "in either window"),
        (1 / 128, "do not have"),
        (0.5, "once more"),
    ],
)
def test_slips_of_the_overlap_are_named(share: float, words: str) -> None:
    assert words in failures("W1.2", {"overlap_share": share})


def test_the_overlap_may_be_any_kind_of_number() -> None:
    for share in (127 / 128, torch.tensor(127 / 128), torch.tensor(127 / 128, dtype=torch.float64)):
        assert not failures("W1.2", {"overlap_share": share})


def test_padding_instead_of_dropping_is_named() -> None:
    def padded(docs, T, eos):
        return torch.full((1, T + 1), eos), torch.zeros(1, T + 1, dtype=torch.int64)

    assert "dropped, not padded" in failures("W1.3", {"pack": padded})


def seams(change):
    def answer(doc_id: Tensor, eos_positions: Tensor) -> tuple[Tensor, Tensor]:
        return change(*packing.positions_and_loss_mask(doc_id, eos_positions), eos_positions)

    return {"positions_and_loss_mask": answer}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda pos, keep, eos: (torch.arange(pos.shape[1]).expand_as(pos), keep), "wherever the id changes"),
        (lambda pos, keep, eos: (pos, torch.ones_like(keep)), "belongs to another document"),
        (lambda pos, keep, eos: (pos, keep & ~eos.roll(-1, 1)), "just before it, counts"),
        (lambda pos, keep, eos: (pos, keep.roll(1, 1)), "shifted"),
    ],
)
def test_slips_of_positions_and_loss_mask_are_named(change, words: str) -> None:
    assert words in failures("W1.5", seams(change))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda bins: bins[:-1], "exactly once"),
        (lambda bins: [bins[0] + bins[-1], *bins[1:-1]], "its capacity is 32"),
        (lambda bins: [[i] for group in bins for i in group], "fewer bins"),
    ],
)
def test_slips_of_bins_are_named(change, words: str) -> None:
    assert words in failures("W1.6", {"ffd_pack": lambda lengths, T: change(packing.ffd_pack(lengths, T))})


def accepts_all(model_fn) -> None:
    return None


def rejects_all(model_fn) -> None:
    raise AssertionError("no")


def test_the_two_models_of_the_leak_check_differ_in_the_mask_only() -> None:
    tokens = torch.randint(1, 32, (2, 12), generator=torch.Generator().manual_seed(1))
    ids = torch.tensor([[0] * 5 + [1] * 7, [1] * 3 + [2] * 9])
    changed = tokens.clone()
    changed[0, 0] = 1 + tokens[0, 0] % 31
    for training in (True, False):
        masked, open_ = _model_fn(masked=True), _model_fn(masked=False)
        assert torch.equal(masked(tokens, ids, training)[:, :3], open_(tokens, ids, training)[:, :3])
        assert torch.equal(masked(tokens, ids)[0, 5:], masked(changed, ids)[0, 5:])
        assert not torch.equal(open_(tokens, ids)[0, 5:], open_(changed, ids)[0, 5:])


def test_a_test_that_accepts_or_rejects_everything_fails_one_row() -> None:
    assert "leaks from each document" in failures("W1.7", {"test_no_leak": accepts_all})
    assert "does not leak" in failures("W1.7", {"test_no_leak": rejects_all})


GAPS = dict(in_order_masked=0.09, in_order_unmasked=-0.14, shuffled_masked=0.09, shuffled_unmasked=0.29)


@pytest.fixture
def recorded(monkeypatch) -> None:
    bands = {key: (gap - 0.01, gap + 0.01) for key, gap in GAPS.items()}
    result = SimpleNamespace(gaps=dict(GAPS), bands=bands)
    monkeypatch.setattr("lmcourse.checks.week01.load_recorded_leak", lambda run=12: result)


@pytest.mark.parametrize("moved", [0.0, 0.05, -0.05])
def test_a_run_of_ones_own_is_near_enough_to_the_recorded_one(recorded, moved: float) -> None:
    leak = {key: gap + moved for key, gap in GAPS.items()}
    for row in rows("W1.8", {"leak": leak, "revealing_order": "in_order"}):
        assert row.state == PASSED, (row.case, row.message)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda gaps: {key: gap + 2.0 for key, gap in gaps.items()}, "loss minus floor"),
        (lambda gaps: {key: -gap for key, gap in gaps.items()}, "loss minus floor"),
        (
            lambda gaps: {key: gap for key, gap in gaps.items() if "shuffled" in key},
            "no entry 'in_order_masked'",
        ),
        (lambda gaps: list(gaps.values()), "expected a dictionary"),
        (lambda gaps: torch.tensor(0.5), "leak is a tensor"),
    ],
)
def test_numbers_that_are_no_gaps_are_refused(recorded, change, words: str) -> None:
    assert words in failures("W1.8", {"leak": change(GAPS), "revealing_order": "shuffled"})


def test_the_public_row_does_not_tell_which_order_reveals_the_leak(recorded) -> None:
    for word, state in {"in_order": PASSED, "shuffled": PASSED, "both": FAILED}.items():
        last = rows("W1.8", {"leak": dict(GAPS), "revealing_order": word})[-1]
        assert last.state == state, word


@pytest.mark.parametrize("exercise_id", ["W1.3", "W1.4", "W1.6"])
def test_pictures_show_the_definition_beside_a_wrong_answer(exercise_id: str) -> None:
    draw = picture_of(exercise_id)
    right_figure, right = draw(RIGHT[exercise_id])
    wrong = {
        "W1.3": {"pack": lambda docs, T, eos: packing.pack(docs[::-1], T, eos)},
        "W1.4": {"document_mask": lambda ids: packing.document_mask(ids) | True},
        "W1.6": {"ffd_pack": lambda lengths, T: [[i] for i in range(len(lengths)) if lengths[i] <= T]},
    }
    _figure, alt = draw(wrong[exercise_id])
    assert alt != right
    assert right_figure.axes
    assert ERROR not in alt
