import torch

from lmcourse.packing import document_batch, document_ids, document_mask, pack, positions_and_loss_mask

EOS = 9


def test_mask_is_the_definition_for_ids_in_any_order():
    generator = torch.Generator().manual_seed(0)
    for B, T in ((1, 1), (3, 7), (2, 12)):
        doc_id = torch.randint(0, 4, (B, T), generator=generator)
        mask = document_mask(doc_id)
        for b in range(B):
            for i in range(T):
                for j in range(T):
                    assert mask[b, i, j] == (j <= i and doc_id[b, i] == doc_id[b, j])
        assert mask.dtype == torch.bool and mask.diagonal(dim1=1, dim2=2).all()


def test_positions_count_within_each_document():  # no modulo can give this
    doc_id = torch.tensor([[0, 0, 0, 1, 1, 1, 1, 1], [4, 5, 5, 5, 6, 7, 7, 7]])
    pos, _ = positions_and_loss_mask(doc_id, torch.zeros_like(doc_id, dtype=torch.bool))
    assert pos.tolist() == [[0, 1, 2, 0, 1, 2, 3, 4], [0, 0, 1, 2, 0, 0, 1, 2]]


def test_eos_is_predicted_but_predicts_nothing():  # [a b eos][c d eos]
    rows, doc_id = pack([[1, 2], [3, 4], [5]], 6, EOS)
    x, y = rows[:, :-1], rows[:, 1:]
    _, keep = positions_and_loss_mask(doc_id[:, :-1], x == EOS)
    pairs = [(int(a), int(b)) for a, b, k in zip(x[0], y[0], keep[0], strict=True) if k]
    assert pairs == [(1, 2), (2, EOS), (3, 4), (4, EOS)]


def test_eos_in_the_last_column_is_not_kept_either():
    doc_id = torch.tensor([[0, 0, 0]])
    _, keep = positions_and_loss_mask(doc_id, torch.tensor([[False, False, True]]))
    assert keep.tolist() == [[True, True, False]]


def test_a_change_of_document_without_eos_is_not_kept():
    doc_id = torch.tensor([[0, 0, 1, 1]])
    pos, keep = positions_and_loss_mask(doc_id, torch.zeros(1, 4, dtype=torch.bool))
    assert keep.tolist() == [[True, False, True, True]]
    assert pos.tolist() == [[0, 1, 0, 1]]


def test_ids_from_eos_split_a_row_as_the_packer_does():
    docs = [[1, 2, 3], [], [4], [5, 6, 7, 8, 1, 2], [3, 3]]
    rows, packed = pack(docs, 4, EOS)
    ids = document_ids(rows, EOS)
    assert (ids[:, 0] == 0).all()
    assert torch.equal(ids.diff(dim=1) != 0, packed.diff(dim=1) != 0)


def test_padding_sees_itself_only_and_counts_nowhere():
    batch = document_batch(torch.tensor([[1, 2, EOS, EOS, EOS, EOS]]), EOS)
    assert batch.count == 2
    assert torch.equal(document_mask(batch.doc_id)[0, 3], torch.tensor([False, False, False, True, False]))
    assert batch.positions.tolist() == [[0, 1, 2, 0, 0]]
