import math

import numpy as np
import pytest

from lmcourse.corpora import StoryGrammar
from lmcourse.errors import CourseError
from lmcourse.packing import TokenStream
from lmcourse.trainer import configure
from lmcourse.trainer.data import build_data
from lmcourse.trainer.data_files import load_data, save_data
from lmcourse.trainer.planned import batches_of


def story_data():
    config = configure("stories", corpus_tokens=20_000, context=256)
    return config, build_data(config)


def test_stories_come_whole_and_as_text():
    _, data = story_data()
    assert data.validation[-1] == data.train[-1] == data.eos
    assert len(data.validation) == len(data.oracle)
    grammar = StoryGrammar()
    first = data.validation[: int(np.flatnonzero(data.validation == data.eos)[0])]
    _, nll = grammar.word_nll(data.tokenizer.decode(first.tolist()))
    assert len(nll) == len(first) + 1  # and the end of the story
    assert np.allclose(data.oracle[: len(nll)], nll)


@pytest.mark.parametrize("corpus", ["markov", "regimes", "stories"])
def test_the_oracle_is_the_floor_of_what_is_counted(corpus):
    """Mean nats of the truth over the counted validation targets, below what frequencies alone can give."""
    config = configure(corpus, corpus_tokens=20_000, context=256)
    data = build_data(config)
    _, validation = batches_of(config, data)
    floor = validation.mean_over_targets(data.oracle)
    assert 0 < floor < data.unigram_entropy() < math.log(data.vocab_size)


def test_data_are_the_same_for_every_seed_of_a_run():
    one, two = (build_data(configure("regimes", seed=seed, corpus_tokens=3000)) for seed in (0, 1))
    assert one.fingerprint == two.fingerprint


def test_save_and_load(tmp_path):
    _, data = story_data()
    save_data(data, tmp_path)
    loaded = load_data(tmp_path)
    assert loaded.fingerprint == data.fingerprint and loaded.eos == data.eos
    assert loaded.tokenizer.fingerprint == data.tokenizer.fingerprint
    assert np.array_equal(loaded.oracle, data.oracle)
    assert isinstance(loaded.train, TokenStream) and loaded.train.dtype == np.uint16
    assert loaded.unigram_entropy() == data.unigram_entropy() and loaded.opening() == data.opening()


@pytest.mark.parametrize("tokenizer", ["char", "word", "bpe"])
def test_the_vocabulary_comes_from_the_text(tmp_path, tokenizer):
    path = tmp_path / "text.txt"
    path.write_text("a rose is a rose, is a röse. " * 200, encoding="utf-8")
    data = build_data(configure("text", text=str(path), tokenizer=tokenizer, context=16, vocabulary=300))
    assert data.vocab_size == data.tokenizer.vocab_size > data.train.max()
    text = data.tokenizer.decode([*data.train.tolist(), *data.validation.tolist()])
    assert text == path.read_text(encoding="utf-8")
    assert data.eos is None and data.oracle is None


def test_several_files_are_several_documents(tmp_path):
    for name in "abc":
        (tmp_path / f"{name}.txt").write_text(name * 50, encoding="utf-8")
    data = build_data(configure("text", text=str(tmp_path), context=8))
    assert (np.concatenate([data.train, data.validation]) == data.eos).sum() == 3


def test_text_too_short_for_the_context_is_named(tmp_path):
    path = tmp_path / "short.txt"
    path.write_text("To be, or not to be." * 20, encoding="utf-8")
    with pytest.raises(
        CourseError, match="context: a window of 64 tokens does not fit in 360 training and 40"
    ):
        build_data(configure("text", text=str(path)))
    with pytest.raises(CourseError, match="one endless text"):
        build_data(configure("text", text=str(path), batches="documents", context=8))


def test_missing_and_damaged_data_are_one_line(tmp_path):
    with pytest.raises(CourseError, match="cannot be read"):
        load_data(tmp_path)
    _, data = story_data()
    save_data(data, tmp_path)
    (tmp_path / "data" / "oracle.npy").write_bytes(b"\x93NUMPY")
    with pytest.raises(CourseError, match="cannot be read") as caught:
        load_data(tmp_path)
    assert "\n" not in str(caught.value)
