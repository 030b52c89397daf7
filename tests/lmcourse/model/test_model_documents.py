"""Packed documents must not see each other: the test that the seeds of this course say is missing."""

import pytest
import torch

from lmcourse.model import Transformer, TransformerConfig
from lmcourse.objective import masked_cross_entropy
from lmcourse.packing import Batch, document_batch

EOS, V = 0, 40
LENGTHS = {
    "unequal": (9, 1, 14, 5),  # with a document of one token
    "ends with the row": (12, 20),  # the eos of the last is the last token of the row
    "cut by the row": (10, 30),
    "empty ones": (6, 0, 0, 8),  # a lone eos each
}


@pytest.fixture(
    scope="module",
    params=[("rotary", "mask"), ("both", "mask"), ("both", "documents"), ("both", "plain")],
    ids=str,
)
def model(request) -> Transformer:
    positions, attention = request.param
    config = TransformerConfig(V, context=64, layers=3, heads=2, width=32, positions=positions)
    return Transformer(config, seed=5, attention=attention).eval()


def row_of(lengths, T: int = 34) -> torch.Tensor:
    generator = torch.Generator().manual_seed(sum(lengths))
    row = []
    for length in lengths:
        row += [*torch.randint(1, V, (length,), generator=generator).tolist(), EOS]
    return torch.tensor([(row + [EOS] * T)[:T]])


def logits_of(model: Transformer, batch: Batch) -> torch.Tensor:
    return model(batch.inputs, batch.positions, batch.doc_id)


@pytest.mark.parametrize("lengths", LENGTHS.values(), ids=LENGTHS)
def test_documents_do_not_leak(model, lengths):
    """Change each token in turn: nothing may move but later places of its own document, to the last bit."""
    batch = document_batch(row_of(lengths), EOS)
    doc_id = (batch.inputs[0] == EOS).cumsum(0) - (batch.inputs[0] == EOS).long()
    before = logits_of(model, batch)[0]
    for place in range(batch.inputs.shape[1]):
        if batch.inputs[0, place] == EOS:
            continue
        inputs = batch.inputs.clone()
        inputs[0, place] = inputs[0, place] % (V - 1) + 1
        after = model(inputs, batch.positions, batch.doc_id)[0]
        may_move = (doc_id == doc_id[place]) & (torch.arange(len(doc_id)) >= place)
        assert torch.equal(after[~may_move], before[~may_move])
        assert not torch.equal(after[place], before[place])  # the probe works


@pytest.mark.parametrize("lengths", LENGTHS.values(), ids=LENGTHS)
def test_a_packed_document_is_as_good_as_alone(model, lengths):
    """Finds wrong positions too, where they matter; tolerance for other orders of summation."""
    row = row_of(lengths)
    packed = logits_of(model, document_batch(row, EOS))[0]
    start = 0
    for length in lengths:
        end = min(start + length + 1, packed.shape[0])
        alone = model(row[:, start:end])[0]
        assert (alone - packed[start:end]).abs().max() <= 1e-5
        start = end


def test_the_gradient_does_not_leak(model):
    batch = document_batch(row_of((9, 11, 7)), EOS)
    embedded = model.embedding(batch.inputs).detach().requires_grad_()
    handle = model.embedding.register_forward_hook(lambda *_: embedded)
    try:
        logits = logits_of(model, batch)
    finally:
        handle.remove()
    second = torch.zeros_like(batch.keep)
    second[:, 10:21] = True
    masked_cross_entropy(logits, batch.targets, batch.keep & second).backward()
    gradient = embedded.grad[0].abs().sum(-1)
    assert (gradient[:10] == 0).all() and (gradient[22:] == 0).all()
    assert (gradient[10:21] > 0).all()


def test_positions_alone_do_not_isolate(model):
    """Catalogue P2: starting positions again without the mask leaks, and is wrong."""
    row = row_of((9, 11, 7))
    batch = document_batch(row, EOS)
    changed = batch.inputs.clone()
    changed[0, 3] = changed[0, 3] % (V - 1) + 1
    before = model(batch.inputs, batch.positions)[0, 10:]
    after = model(changed, batch.positions)[0, 10:]
    assert (after - before).abs().max() > 1e-4


def test_positions_that_do_not_start_again_show_only_where_they_are_learned(model):
    """With the right mask, rotary positions give the same logits with and without the restart."""
    batch = document_batch(row_of((9, 11, 7)), EOS)
    with torch.no_grad():
        moved = (model(batch.inputs, None, batch.doc_id) - logits_of(model, batch)).abs().max()
    assert (moved <= 1e-5) == (model.config.positions == "rotary")


def test_the_mask_of_one_batch_does_not_serve_the_next(model):
    """Catalogue P5: other seams, other length; the second result equals that of a fresh model."""
    first, second = document_batch(row_of((9, 11, 7)), EOS), document_batch(row_of((4, 4, 4), T=20), EOS)
    logits_of(model, first)
    again = Transformer(model.config, seed=5, attention=model.attention).eval()
    assert torch.equal(logits_of(model, second), logits_of(again, second))


def test_padding_gives_finite_values_and_gradients(model):
    """Catalogue P8: a query that may attend to nothing would give NaN in some back-ends."""
    batch = document_batch(row_of((3,)), EOS)
    loss = masked_cross_entropy(logits_of(model, batch), batch.targets, batch.keep)
    gradients = torch.autograd.grad(loss, list(model.parameters()))
    assert loss.isfinite() and all(g.isfinite().all() for g in gradients)
