import pytest
import torch

from lmcourse.errors import CourseError
from lmcourse.packing import join_documents, pack

EOS = 99


def irregular_documents(seed: int, n: int) -> list[list[int]]:
    generator = torch.Generator().manual_seed(seed)
    lengths = torch.randint(0, 9, (n,), generator=generator).tolist()
    return [torch.randint(0, 50, (length,), generator=generator).tolist() for length in lengths]


def test_stream_is_every_document_and_its_eos_in_order():
    docs = [[7, 3], [], [5], [1, 1, 4]]
    tokens, doc_id = join_documents(docs, EOS)
    assert tokens.tolist() == [7, 3, EOS, EOS, 5, EOS, 1, 1, 4, EOS]
    assert doc_id.tolist() == [0, 0, 0, 1, 2, 2, 3, 3, 3, 3]
    assert tokens.dtype == doc_id.dtype == torch.int64


@pytest.mark.parametrize("T", [1, 2, 5, 13])
def test_rows_are_the_stream_cut_without_overlap(T):
    docs = irregular_documents(seed=T, n=37)
    stream, ids = join_documents(docs, EOS)
    tokens, doc_id = pack(docs, T, EOS)
    R = len(stream) // (T + 1)
    assert tokens.shape == doc_id.shape == (R, T + 1)
    assert torch.equal(tokens.flatten(), stream[: R * (T + 1)])
    assert torch.equal(doc_id.flatten(), ids[: R * (T + 1)])


def test_ids_change_exactly_after_eos_and_are_never_used_twice():
    tokens, doc_id = pack(irregular_documents(seed=3, n=200), 7, EOS)
    changes = doc_id.flatten().diff()
    assert torch.equal(changes, (tokens.flatten()[:-1] == EOS).long())


def test_remainder_is_dropped_and_a_short_stream_gives_no_row():
    assert pack([[1, 2, 3]], 4, EOS)[0].shape == (0, 5)
    assert pack([], 4, EOS)[1].shape == (0, 5)
    assert pack([[1, 2, 3, 4]], 4, EOS)[0].tolist() == [[1, 2, 3, 4, EOS]]
    with pytest.raises(CourseError, match=r"T: .* got 0"):
        pack([[1]], 0, EOS)
