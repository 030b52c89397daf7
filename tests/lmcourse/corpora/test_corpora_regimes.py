"""RegimeDocs: the Bayes filter and the floors against enumeration, and the oracle on a sample."""

import itertools
from functools import cache

import numpy as np
import pytest

from lmcourse.corpora import RegimeDocs
from lmcourse.errors import CourseError

LONGEST = {"unigram": 7, "markov": 6}  # the exact sum over markov documents takes seconds at 7


@cache
def corpus_of(kind):
    return RegimeDocs(kind=kind, max_len=LONGEST[kind])


def all_documents(corpus):
    """Every document of a small corpus with its probability from the definition."""
    lengths = range(corpus.min_len, corpus.max_len + 1)
    for length in lengths:
        for document in itertools.product(range(corpus.vocab_size), repeat=length):
            probability = 0.0
            for regime in range(corpus.regimes):
                given = corpus.first[regime, document[0]]
                for last, token in itertools.pairwise(document):
                    given *= corpus.following[regime, last, token]
                probability += given / corpus.regimes
            yield np.array(document), probability / len(lengths)


@pytest.mark.parametrize("kind", ["unigram", "markov"])
@pytest.mark.parametrize(
    ("vocab_size", "regimes", "min_len", "max_len"), [(3, 4, 1, 4), (2, 3, 2, 5), (4, 1, 3, 3)]
)
def test_filter_and_floors_equal_enumeration(kind, vocab_size, regimes, min_len, max_len):
    corpus = RegimeDocs(vocab_size, regimes, 1, min_len, max_len, kind, seed=7)
    total = tokens = targets = unseen_first = 0.0
    for document, probability in all_documents(corpus):
        nll = corpus.oracle_nll(document)
        with_length = nll.sum() + np.log(max_len - min_len + 1)
        assert np.exp(-with_length) == pytest.approx(probability, rel=1e-12)
        counted = corpus.oracle_nll_targets(document)
        assert counted.shape == document.shape
        assert counted.sum() + nll[0] == pytest.approx(with_length, abs=1e-12)
        total += probability
        tokens += probability * nll.sum()
        targets += probability * counted.sum()
        unseen_first += probability * len(document)
    assert total == pytest.approx(1.0, abs=1e-12)
    assert unseen_first == pytest.approx(corpus.mean_length, abs=1e-12)
    assert corpus.floor == pytest.approx(tokens / corpus.mean_length, abs=1e-12)
    assert corpus.target_floor == pytest.approx(targets / corpus.mean_length, abs=1e-12)


@pytest.mark.parametrize("kind", ["unigram", "markov"])
@pytest.mark.parametrize("run", [1, 12])
def test_oracle_mean_on_a_sample_equals_the_exact_floor(kind, run):
    reference = corpus_of(kind)
    corpus = RegimeDocs(kind=kind, run=run, max_len=LONGEST[kind])
    documents = corpus.sample_documents(12 * 400, np.random.default_rng(1))
    for oracle, floor in (
        (corpus.oracle_nll, reference.floor),
        (corpus.oracle_nll_targets, reference.target_floor),
    ):
        excess = np.array([oracle(d).sum() - floor * len(d) for d in documents])
        groups = excess.reshape(-1, 12).sum(axis=1)  # neighbors are not independent when run = 12
        assert abs(groups.mean()) < 3 * groups.std(ddof=1) / np.sqrt(len(groups))


@pytest.mark.parametrize("kind", ["unigram", "markov"])
def test_a_longer_past_never_hurts(kind):
    by_position = corpus_of(kind).floor_by_position
    assert by_position.shape == (LONGEST[kind],)
    assert np.all(np.diff(by_position) < 0)
    corpus = corpus_of(kind)
    assert corpus.floor < corpus.unigram_entropy < np.log(corpus.vocab_size)
    assert corpus.target_floor < corpus.target_unigram_entropy


@pytest.mark.parametrize("kind", ["unigram", "markov"])
def test_unigram_entropies_equal_frequencies_of_a_sample(kind):
    corpus = RegimeDocs(vocab_size=5, regimes=3, kind=kind, seed=2)
    documents = corpus.sample_documents(20000, np.random.default_rng(5))
    targets = np.concatenate([np.append(d[1:], corpus.eos_id) for d in documents])
    for stream, value in (
        (np.concatenate(documents), corpus.unigram_entropy),
        (targets, corpus.target_unigram_entropy),
    ):
        share = np.bincount(stream) / len(stream)
        assert -(share * np.log(share)).sum() == pytest.approx(value, abs=0.01)


def test_neighbors_share_a_regime_as_run_says():
    for run in (1, 4, 12):
        documents, regime = RegimeDocs(run=run).sample_with_regimes(50, np.random.default_rng(0))
        assert len(documents) == len(regime) == 50
        assert all(len(set(regime[start : start + run])) == 1 for start in range(0, 50, run))
        assert len(set(regime)) > 2


def test_documents_have_the_stated_form():
    corpus = RegimeDocs(min_len=2, max_len=4, vocab_size=3)
    documents = corpus.sample_documents(3000, np.random.default_rng(3))
    assert all(d.dtype == np.int64 for d in documents)
    lengths = np.bincount([len(d) for d in documents])
    assert lengths[:2].tolist() == [0, 0]
    assert lengths[2:].min() > 900
    assert {int(t) for d in documents for t in d} == {0, 1, 2}
    again = corpus.sample_documents(3000, np.random.default_rng(3))
    assert all(np.array_equal(a, b) for a, b in zip(documents, again, strict=True))
    assert corpus.sample_documents(0, np.random.default_rng(3)) == []


def test_impossible_lengths_have_infinite_loss():
    corpus = RegimeDocs(min_len=3, max_len=5)
    assert np.isinf(corpus.oracle_nll_targets([1, 2])[-1])
    assert np.isinf(corpus.oracle_nll_targets([1] * 6).sum())
    assert np.isfinite(corpus.oracle_nll_targets([1] * 5)).all()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"kind": "trigram"}, "'unigram' or 'markov'; got 'trigram'"),
        ({"min_len": 5, "max_len": 4}, "max_len must be a whole number of at least 5; got 4"),
        ({"run": 0}, "run"),
        ({"regimes": 2.5}, "regimes"),
        ({"sharpness": -1.0}, "sharpness"),
        ({"sharpness": 1000.0}, "sharpness"),
    ],
)
def test_wrong_arguments_are_named(arguments, words):
    with pytest.raises(CourseError) as caught:
        RegimeDocs(**arguments)
    assert words in str(caught.value)


def test_a_floor_too_large_to_sum_says_so_at_once():
    with pytest.raises(CourseError, match="max_len 12 is a sum of"):
        _ = RegimeDocs(kind="markov", max_len=12).floor


@pytest.mark.parametrize("document", [[16], [-1, 2], [0.0]])
def test_foreign_documents_are_refused(document):
    with pytest.raises(CourseError, match="document"):
        RegimeDocs().oracle_nll(document)


def test_an_empty_document_has_no_targets():
    with pytest.raises(CourseError, match="at least one token"):
        RegimeDocs().oracle_nll_targets([])
