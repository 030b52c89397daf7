"""MarkovCorpus: closed forms against brute force, and the oracle on a sample."""

import itertools

import numpy as np
import pytest

from lmcourse.corpora import MarkovCorpus
from lmcourse.errors import CourseError


@pytest.mark.parametrize(
    ("vocab_size", "order", "temperature"), [(2, 1, 0.5), (3, 2, 1.0), (5, 1, 0.2), (2, 3, 2.0)]
)
def test_oracle_gives_every_sequence_its_probability(vocab_size, order, temperature):
    corpus = MarkovCorpus(vocab_size, order, temperature, seed=3)
    for length in (1, order, order + 2):
        sequences = list(itertools.product(range(vocab_size), repeat=length))
        total = sum(np.exp(-corpus.oracle_nll(np.array(s)).sum()) for s in sequences)
        assert total == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize(("vocab_size", "order"), [(4, 1), (3, 2)])
def test_entropy_rate_is_the_difference_of_block_entropies(vocab_size, order):
    corpus = MarkovCorpus(vocab_size, order, seed=11)

    def block_entropy(length):
        nll = [
            corpus.oracle_nll(np.array(s)).sum() for s in itertools.product(range(vocab_size), repeat=length)
        ]
        return sum(np.exp(-n) * n for n in nll)

    rate = block_entropy(order + 2) - block_entropy(order + 1)
    assert corpus.entropy_rate == pytest.approx(rate, abs=1e-12)
    assert corpus.unigram_entropy == pytest.approx(block_entropy(1), abs=1e-12)
    assert corpus.entropy_rate < corpus.unigram_entropy < np.log(vocab_size)


def test_stationary_law_is_a_left_eigenvector():
    corpus = MarkovCorpus(6, 1, 0.3, seed=5)
    np.testing.assert_allclose(corpus.stationary @ corpus.transitions, corpus.stationary, atol=1e-14)


@pytest.mark.parametrize(("order", "temperature"), [(1, 1.0), (1, 0.2), (2, 1.0)])
def test_oracle_mean_on_a_sample_equals_the_closed_form(order, temperature):
    corpus = MarkovCorpus(16, order, temperature)
    rng = np.random.default_rng(2)
    means = np.array([corpus.oracle_nll(corpus.sample(2000, rng))[order:].mean() for _ in range(60)])
    standard_error = means.std(ddof=1) / np.sqrt(len(means))
    assert abs(means.mean() - corpus.entropy_rate) < 3 * standard_error


def test_sample_starts_in_the_stationary_law_and_is_reproducible():
    corpus = MarkovCorpus(4, 2, 0.5, seed=1)
    rng = np.random.default_rng(0)
    starts = [tuple(corpus.sample(2, rng)) for _ in range(4000)]
    observed = np.array([starts.count(pair) for pair in itertools.product(range(4), repeat=2)])
    expected = corpus.stationary * len(starts)
    assert ((observed - expected) ** 2 / expected).sum() < 44.3  # chi-square, 15 degrees, p = 1e-4
    first, second = (corpus.sample(50, np.random.default_rng(9)) for _ in range(2))
    assert first.dtype == np.int64
    np.testing.assert_array_equal(first, second)
    assert [len(corpus.sample(n, rng)) for n in (0, 1, 2, 3)] == [0, 1, 2, 3]


def test_a_corpus_depends_on_its_seed_alone():
    np.random.seed(0)
    state = np.random.get_state()[1].copy()
    a, b, c = MarkovCorpus(seed=4), MarkovCorpus(seed=4), MarkovCorpus(seed=5)
    np.testing.assert_array_equal(a.transitions, b.transitions)
    assert not np.array_equal(a.transitions, c.transitions)
    np.testing.assert_array_equal(state, np.random.get_state()[1])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"vocab_size": 1}, "vocab_size must be a whole number of at least 2; got 1"),
        ({"vocab_size": 16.0}, "vocab_size"),
        ({"vocab_size": True}, "vocab_size"),
        ({"order": 0}, "order"),
        ({"order": 4}, "65536"),
        ({"temperature": 0.0}, "temperature"),
        ({"temperature": float("nan")}, "temperature"),
        ({"temperature": "hot"}, "temperature"),
        ({"temperature": 1e-4}, "temperature is too low"),
        ({"seed": -1}, "seed"),
    ],
)
def test_wrong_arguments_are_named(arguments, words):
    with pytest.raises(CourseError) as caught:
        MarkovCorpus(**arguments)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("tokens", [[0, 1, 16], [-1], [0.5, 1.0], [[0, 1]]])
def test_foreign_tokens_are_refused(tokens):
    with pytest.raises(CourseError, match="tokens"):
        MarkovCorpus().oracle_nll(np.array(tokens))


def test_empty_stream_has_no_loss():
    assert MarkovCorpus().oracle_nll([]).shape == (0,)
