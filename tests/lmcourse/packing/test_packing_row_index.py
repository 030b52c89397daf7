import numpy as np
import pytest
import torch

from lmcourse.errors import CourseError
from lmcourse.packing import PADDING, best_fit_pack, consecutive_rows, document_rows, ffd_pack

EOS = 0


def random_stream(seed: int, n: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.where(rng.random(n) < 0.15, EOS, rng.integers(1, 30, n))


@pytest.mark.parametrize("packer", [ffd_pack, best_fit_pack])
@pytest.mark.parametrize("T", [1, 3, 8, 40])
def test_every_target_of_every_document_stands_once(T, packer):
    tokens = random_stream(seed=T, n=300)
    rows = document_rows(tokens, EOS, T, packer)
    inputs, targets = rows[:, :-1], rows[:, 1:]
    counted = (inputs != PADDING) & (targets != PADDING)
    counted &= torch.from_numpy(tokens[inputs] != EOS)
    places = targets[counted]
    assert torch.equal(inputs[counted] + 1, places)
    first_of_document = np.concatenate(([True], tokens[:-1] == EOS))
    assert sorted(places.tolist()) == np.flatnonzero(~first_of_document).tolist()


def test_long_documents_go_on_from_the_last_token_of_the_piece_before():
    tokens = np.array([1, 2, 3, 4, 5, 6, 7, EOS, 8, 9, EOS])
    rows = document_rows(tokens, EOS, 3)
    assert sorted(rows.tolist()) == [
        [0, 1, 2, 3],
        [3, 4, 5, 6],
        [6, 7, PADDING, PADDING],
        [8, 9, 10, PADDING],
    ]


def test_documents_share_a_row_where_they_fit():
    tokens = np.array([1, 2, EOS, 3, EOS, 4, 5, 6, EOS])
    assert document_rows(tokens, EOS, 5).tolist() == [[5, 6, 7, 8, 3, 4], [0, 1, 2, -1, -1, -1]]


def test_a_stretch_that_no_eos_closes_has_a_row_of_its_own():
    tokens = np.array([1, 2, EOS, 3, 4])
    assert document_rows(tokens, EOS, 7).tolist() == [[3, 4, *[PADDING] * 6], [0, 1, 2, *[PADDING] * 5]]


@pytest.mark.parametrize(("N", "T"), [(2, 1), (10, 4), (9, 4), (5, 4), (100, 7)])
def test_consecutive_windows_count_every_token_but_the_first_once(N, T):
    rows, counted = consecutive_rows(N, T)
    assert rows.shape[1] == T + 1 and torch.equal(rows.diff(dim=1), torch.ones_like(rows[:, 1:]))
    assert rows[:, 1:][counted].tolist() == list(range(1, N))


def test_a_stream_shorter_than_a_window_is_named():
    with pytest.raises(CourseError, match="at least 5, got 4"):
        consecutive_rows(4, 4)
