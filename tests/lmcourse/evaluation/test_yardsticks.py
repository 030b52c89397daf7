"""Bits per byte, compression and noise: each against a direct account."""

import lzma
import math

import numpy as np
import pytest
import torch

from lmcourse.evaluation import evaluate, target_nats
from lmcourse.evaluation.compression import stream_bytes, xz_bits
from lmcourse.evaluation.noise import standard_error
from lmcourse.evaluation.text_units import TextUnits
from lmcourse.model import Transformer, TransformerConfig
from lmcourse.packing import Batch
from lmcourse.tokenizers import BPETokenizer, CharTokenizer

TEXT = "Grüße, 漢字 and 🙂! Grüße again; naïve café.\n" * 3


@pytest.fixture(params=["bpe", "char"])
def tokenizer(request):
    if request.param == "char":
        return CharTokenizer.train([TEXT])
    return BPETokenizer.train([TEXT], vocab_size=280)  # single bytes of rare characters stay tokens


def test_bytes_and_characters_of_the_tokens_are_those_of_the_text(tokenizer):
    ids = np.array([*tokenizer.encode(TEXT), tokenizer.eos_id])
    units = TextUnits.of(tokenizer)
    assert units.bytes[ids].sum() == len(TEXT.encode())
    assert units.characters[ids].sum() == len(TEXT)
    assert stream_bytes(ids, tokenizer.vocab_size, tokenizer) == TEXT.encode()


def test_ends_of_documents_count_in_neither_nats_nor_bytes(tokenizer):
    units = TextUnits.of(tokenizer)
    ids = np.array([*tokenizer.encode(TEXT), tokenizer.eos_id])
    nats = np.full(len(ids), 0.7)
    nats[-1] = 1e6
    expected = 0.7 * (len(ids) - 1) / math.log(2)
    assert units.bits_per_byte(nats, ids) == pytest.approx(expected / len(TEXT.encode()))
    assert units.bits_per_character(nats, ids) == pytest.approx(expected / len(TEXT))
    assert math.isnan(units.bits_per_byte(nats[-1:], ids[-1:]))


def test_a_uniform_guess_of_bytes_is_eight_bits_a_byte():
    tokenizer = BPETokenizer.train(["ab"], vocab_size=257)
    ids = np.array(tokenizer.encode(TEXT))
    assert TextUnits.of(tokenizer).bits_per_byte(np.full(len(ids), math.log(256)), ids) == pytest.approx(8)


def test_xz_knows_what_it_has_seen_and_cannot_guess_noise():
    noise = np.random.default_rng(0).bytes(20_000)
    assert xz_bits(noise, noise) < 0.03 * 8 * len(noise)
    assert xz_bits(b"", noise) == pytest.approx(8 * len(noise), rel=0.01)
    a, b = noise[:8000] * 2, TEXT.encode()
    sizes = [len(lzma.compress(x, preset=9 | lzma.PRESET_EXTREME)) for x in (a + b, a)]
    assert xz_bits(a, b) == 8 * (sizes[0] - sizes[1])


@pytest.mark.parametrize(("vocab_size", "width"), [(256, 1), (257, 2), (65_536, 2), (65_537, 4)])
def test_bare_ids_take_as_few_bytes_as_they_need(vocab_size, width):
    ids = np.array([0, 3, vocab_size - 1])
    content = stream_bytes(ids, vocab_size, None)
    assert np.frombuffer(content, dtype=f"<u{width}").tolist() == ids.tolist()


def test_target_nats_are_the_terms_of_the_loss():
    model = Transformer(TransformerConfig(9, context=6, layers=1, heads=2, width=8, dropout=0.4), seed=1)
    generator = torch.Generator().manual_seed(0)
    batches = []
    for rows in (3, 1):
        table = torch.randint(9, (rows, 7), generator=generator)
        keep = torch.rand(rows, 6, generator=generator) < 0.6
        batches.append(Batch(table[:, :-1], table[:, 1:].masked_fill(~keep, -100), keep))
    nats = target_nats(model, batches)
    whole = evaluate(model, batches)
    assert len(nats) == whole.tokens and model.training
    assert nats.mean() == pytest.approx(whole.loss, rel=1e-6)
    with torch.no_grad():
        logits = model.eval()(batches[1].inputs)[0]
    expected = [
        torch.nn.functional.cross_entropy(logits[i], batches[1].targets[0, i]).item()
        for i in range(6)
        if batches[1].keep[0, i]
    ]
    np.testing.assert_allclose(nats[-len(expected) :], expected, rtol=1e-5)


def test_the_standard_error_is_that_of_means_of_rows():
    rng = np.random.default_rng(4)
    row_means = rng.normal(2.0, 0.3, size=400)
    error = standard_error(row_means * 64, np.full(400, 64))
    assert error == pytest.approx(0.3 / math.sqrt(400), rel=0.15)
    assert standard_error(row_means * 64, np.full(400, 64)) == error
    assert math.isnan(standard_error(np.array([3.0, 0.0]), np.array([2, 0])))
