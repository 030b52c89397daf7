"""A model that remembers keys and values gives what it would give for the whole text."""

import pytest
import torch

from lmcourse.errors import CourseError
from lmcourse.model import KeyValueCache, Transformer, TransformerConfig


@pytest.fixture(params=["rotary", "both"])
def model(request) -> Transformer:
    config = TransformerConfig(40, context=24, layers=3, heads=2, width=32, positions=request.param)
    return Transformer(config, seed=2).eval()


def some_tokens(B: int, T: int) -> torch.Tensor:
    return torch.randint(40, (B, T), generator=torch.Generator().manual_seed(T))


@pytest.mark.parametrize(
    "pieces", [[1] * 12, [5, 1, 1, 5], [12], [1, 11]]
)  # prompts in chunks too (P10, P16)
def test_pieces_equal_the_whole(model, pieces):
    tokens = some_tokens(2, 12)
    cache = KeyValueCache()
    with torch.no_grad():
        logits = torch.cat([model(piece, cache=cache) for piece in tokens.split(pieces, dim=1)], dim=1)
        assert len(cache) == 12
        assert (logits - model(tokens)).abs().max() <= 1e-5


def test_rows_of_unequal_length_are_padded_on_the_left(model):
    lengths, T = (3, 7), 7
    texts = [some_tokens(1, n + 2)[0] for n in lengths]
    rows, positions, doc_id = torch.zeros(3, 2, T, dtype=torch.int64)
    for b, (text, n) in enumerate(zip(texts, lengths, strict=True)):
        rows[b, T - n :], positions[b, T - n :], doc_id[b, T - n :] = text[:n], torch.arange(n), 1
    cache = KeyValueCache()
    with torch.no_grad():
        parts = [model(rows, positions, doc_id, cache)]
        for step in range(2):
            new = torch.stack([text[n + step] for text, n in zip(texts, lengths, strict=True)])[:, None]
            at = torch.tensor([[n + step] for n in lengths])
            parts.append(model(new, at, torch.ones_like(new), cache))
        logits = torch.cat(parts, dim=1)
        for b, (text, n) in enumerate(zip(texts, lengths, strict=True)):
            assert (logits[b, T - n :] - model(text[None])[0]).abs().max() <= 1e-5


def test_a_full_cache_is_named(model):
    cache = KeyValueCache()
    model(some_tokens(1, 24), cache=cache)
    with pytest.raises(CourseError, match="25 a row, but the model's context is 24"):
        model(some_tokens(1, 1), cache=cache)
