import numpy as np
import pytest
import torch

from lmcourse.packing import PADDING, RowPages, TokenFile, document_rows, write_token_file

EOS = 0


def stream(lengths, seed=0):
    rng = np.random.default_rng(seed)
    parts = [np.append(rng.integers(1, 9, n), EOS) for n in lengths]
    return np.concatenate(parts).astype(np.uint16)


def all_rows(pages):
    return [pages.take(page, torch.arange(pages.count(page))) for page in range(len(pages))]


@pytest.mark.parametrize("page", [1, 7, 50, 64, 10_000])
@pytest.mark.parametrize("tail", [[], [5, 5, 5]])
def test_every_target_once_whatever_the_page(page, tail):
    """Documents as long as many pages, lone eos, and a stretch without eos at the end."""
    tokens = np.append(stream([3, 0, 0, 40, 1, 9, 200, 2, 0, 31] * 3), tail).astype(np.uint16)
    starts = np.append(0, np.flatnonzero(tokens == EOS) + 1)
    targets = sorted(set(range(len(tokens))) - set(starts.tolist()))
    rows = torch.cat(all_rows(RowPages(tokens, EOS, 8, page)))
    inputs, following = rows[:, :-1], rows[:, 1:]
    counts = (following != PADDING) & (torch.from_numpy(tokens.astype(int))[inputs] != EOS)
    assert sorted(following[counts].tolist()) == targets


def test_one_page_gives_the_rows_of_the_whole_stream():
    tokens = stream([3, 12, 5, 5, 30, 2, 17])
    pages = RowPages(tokens, EOS, 8)
    assert len(pages) == 1 and torch.equal(all_rows(pages)[0], document_rows(tokens, EOS, 8))


def test_a_file_gives_what_memory_gives_and_holds_two_pages(tmp_path):
    tokens = stream([7, 3, 8, 5] * 20)
    write_token_file(tmp_path / "t", tokens, 9, eos=EOS)
    memory, file = RowPages(tokens, EOS, 8, 64), RowPages(TokenFile(tmp_path / "t").stream, EOS, 8, 64)
    assert len(memory) > 5
    for one, two in zip(all_rows(memory), all_rows(file), strict=True):
        assert torch.equal(one, two)
    assert len(file._open) == 2


def test_an_empty_stream_has_no_page():
    assert len(RowPages(np.empty(0, np.uint16), EOS, 8)) == 0
