from functools import partial

import numpy as np
import pytest
import torch

from lmcourse.errors import CourseError
from lmcourse.packing import RowPages
from lmcourse.trainer import batches
from lmcourse.trainer.batches import ValidationSet, document_batches, same_rows, window_batches

EOS = 0


def documents(seed: int, n: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    parts = [np.append(rng.integers(1, 90, rng.integers(1, 9)), EOS) for _ in range(n)]
    return np.concatenate(parts)


def makers(tokens: np.ndarray):
    return {
        "windows": window_batches(tokens, same_rows(4), 6, seed=3, eos=None),
        "masked windows": window_batches(tokens, same_rows(4), 6, seed=3, eos=EOS),
        "documents": document_batches(tokens, same_rows(4), 12, seed=3, eos=EOS),
    }


@pytest.mark.parametrize("kind", ["windows", "masked windows", "documents"])
def test_a_batch_depends_on_seed_and_step_only(kind):
    tokens = documents(0, 60)
    torch.manual_seed(1)
    before = torch.get_rng_state()
    straight = [makers(tokens)[kind](step) for step in range(8)]
    resumed = makers(tokens)[kind]
    for step in (7, 2, 5):  # in any order, from a new object
        assert torch.equal(resumed(step).inputs, straight[step].inputs)
        assert torch.equal(resumed(step).targets, straight[step].targets)
    assert not torch.equal(straight[0].inputs, straight[1].inputs)
    assert torch.equal(before, torch.get_rng_state())


def test_an_epoch_has_every_document_once_and_the_next_another_order():
    tokens = documents(1, 23)
    batch_at = document_batches(tokens, same_rows(3), 12, seed=0, eos=EOS)
    R = len(ValidationSet(tokens, 3, 12, EOS, whole_documents=True).places)
    rows = torch.cat([batch_at(step).targets[i : i + 1] for step in range(2 * R) for i in range(3)])[: 2 * R]
    first, second = rows[:R], rows[R:]
    assert sorted(first.tolist()) == sorted(second.tolist())
    assert first.tolist() != second.tolist()


def test_a_set_smaller_than_a_batch_goes_round_several_epochs():
    batch = document_batches(np.array([5, 6, EOS]), same_rows(4), 6, seed=0, eos=EOS)(0)
    assert batch.inputs.shape == (4, 6) and batch.count == 4 * 2


@pytest.mark.parametrize("B", [1, 3, 100])
@pytest.mark.parametrize("whole", [False, True])
def test_validation_counts_every_target_once_in_batches_of_any_size(B, whole):
    tokens = documents(2, 31)
    batches = list(ValidationSet(tokens, B, 11, EOS, whole_documents=whole))
    counted = torch.cat([b.targets[b.keep] for b in batches])
    first_of_document = np.concatenate(([True], tokens[:-1] == EOS))
    assert sorted(counted.tolist()) == sorted(tokens[~first_of_document].tolist())


def test_validation_without_mask_counts_all_but_the_first_token():
    tokens = documents(3, 12)
    batches = list(ValidationSet(tokens, 4, 7, None, whole_documents=False))
    assert torch.cat([b.targets[b.keep] for b in batches]).tolist() == tokens[1:].tolist()
    assert all(b.doc_id is None for b in batches)


def test_mean_over_targets_takes_the_same_targets():
    tokens = documents(4, 20)
    validation = ValidationSet(tokens, 4, 12, EOS, whole_documents=True)
    expected = torch.cat([b.targets[b.keep] for b in validation]).double().mean().item()
    assert validation.mean_over_targets(tokens.astype(float)) == pytest.approx(expected)


def test_many_pages_give_each_row_once_an_epoch_in_an_order_of_their_own(monkeypatch):
    monkeypatch.setattr(batches, "RowPages", partial(RowPages, page=40))
    rng = np.random.default_rng(0)
    lengths = rng.integers(0, 14, 60)
    tokens = np.concatenate([np.append(np.full(n, 1 + i), 0) for i, n in enumerate(lengths)]).astype(
        np.uint16
    )
    batch_at = document_batches(tokens, same_rows(1), 8, seed=5, eos=0)
    pages = RowPages(tokens, 0, 8, 40)
    R = sum(pages.count(page) for page in range(len(pages)))
    assert len(pages) > 8

    def rows(steps):
        return [tuple(batch_at(step).inputs[0].tolist()) for step in steps]

    first, second = rows(range(R)), rows(range(R, 2 * R))
    assert sorted(first) == sorted(second) and first != second
    fresh = document_batches(
        tokens, same_rows(3), 8, seed=5, eos=0
    )  # another way there: by threes, from the middle
    step = R // 3 + 2
    assert [tuple(row) for row in fresh(step).inputs.tolist()] == rows(range(3 * step, 3 * step + 3))


def test_documents_without_a_target_are_one_line():
    with pytest.raises(CourseError, match="no document has two tokens"):
        document_batches(np.zeros(9, np.uint16), same_rows(2), 8, seed=0, eos=0)(0)
