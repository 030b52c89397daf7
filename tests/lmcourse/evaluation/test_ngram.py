"""N-grams against a slow count in Python, and against what must hold of any distribution."""

from collections import Counter, defaultdict
from itertools import product

import numpy as np
import pytest

from lmcourse.errors import CourseError
from lmcourse.evaluation.ngram import NGram

V, EOS = 5, 4


def stream(n: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    tokens = rng.choice(V, size=n, p=[0.5, 0.25, 0.1, 0.05, 0.1])
    tokens[n // 2 :: 3] = 1  # some structure
    return tokens


def documents(tokens) -> list[list[int]]:
    docs = [[]]
    for token in tokens.tolist():
        docs[-1].append(token)
        if token == EOS:
            docs.append([])
    return [doc for doc in docs if doc]


def slow_model(docs: list[list[int]], n: int):
    """Interpolated Kneser-Ney as its formula says, with dictionaries; V stands for "nothing before"."""
    raw = Counter()
    for doc in docs:
        padded = [V] * (n - 1) + doc
        for i in range(len(doc)):
            raw[tuple(padded[i : i + n])] += 1
    levels = [raw]  # longest first
    for _ in range(n - 1):
        shorter = Counter()
        for gram in levels[-1]:
            shorter[gram[1:]] += 1
        levels.append(shorter)
    levels.reverse()
    tables = []
    for level in levels:
        ones, twos = (sum(c == k for c in level.values()) for k in (1, 2))
        by_context = defaultdict(dict)
        for gram, count in level.items():
            by_context[gram[:-1]][gram[-1]] = count
        tables.append((ones / (ones + 2 * twos) if ones and twos else 0.5, by_context))

    def probability(context: tuple[int, ...], token: int) -> float:
        p = 1 / V
        for k, (d, by_context) in enumerate(tables):
            behind = by_context.get(context[len(context) - k :])
            if behind is None:
                break
            total = sum(behind.values())
            p = (max(behind.get(token, 0) - d, 0) + d * len(behind) * p) / total
        return p

    return probability


@pytest.mark.parametrize("n", [1, 2, 3, 5])
@pytest.mark.parametrize("size", [7, 400])
def test_it_is_the_slow_model_on_seen_and_unseen_text(n, size):
    train, test = stream(size), stream(120, seed=9)
    model, slow = NGram(train, V, n, EOS), slow_model(documents(train), n)
    expected = []
    for doc in documents(test):
        padded = [V] * (n - 1) + doc
        expected += [-np.log(slow(tuple(padded[i : i + n - 1]), doc[i])) for i in range(len(doc))]
    np.testing.assert_allclose(model.nats(test), expected, rtol=1e-12)


@pytest.mark.parametrize("eos", [None, EOS])
def test_every_context_has_probabilities_that_sum_to_one(eos):
    model = NGram(stream(60), V, 4, eos)
    for length in range(5):  # seen or not, at the start of a document or within, longer than the model's
        for context in product(range(V), repeat=length):
            p = model.distribution(list(context))
            assert p.sum() == pytest.approx(1, abs=1e-12) and (p > 0).all()


def test_distribution_and_nats_agree():
    model = NGram(stream(300), V, 3, EOS)
    test = np.array([0, 1, 1, 2, EOS, 1, 0])
    nats = model.nats(test)
    assert nats[3] == pytest.approx(-np.log(model.distribution([0, 1, 1])[2]))
    assert nats[5] == pytest.approx(-np.log(model.distribution([0, 1, 1, 2, EOS])[1]))
    assert nats[5] == pytest.approx(-np.log(model.distribution([])[1]))  # a new document


def test_other_documents_are_not_seen():
    model = NGram(stream(300), V, 3, EOS)
    one = model.nats(np.array([0, 0, EOS, 1, 2, 1]))
    other = model.nats(np.array([3, 1, EOS, 1, 2, 1]))
    np.testing.assert_array_equal(one[3:], other[3:])


def test_a_markov_chain_is_found_by_two_tokens_and_three_add_little():
    rng = np.random.default_rng(1)
    matrix = rng.dirichlet(np.full(V, 0.5), size=V)
    tokens = [0]
    for _ in range(30_000):
        tokens.append(int(rng.choice(V, p=matrix[tokens[-1]])))
    train, test = np.array(tokens[:24_000]), np.array(tokens[24_000:])
    true = -np.log(matrix[test[:-1], test[1:]]).mean()
    losses = [NGram(train, V, n).nats(test)[1:].mean() for n in (1, 2, 3)]
    assert losses[1] == pytest.approx(true, abs=0.003)
    assert losses[0] > true + 0.1
    assert losses[2] == pytest.approx(true, abs=0.02)


def test_keys_do_not_overflow_with_a_large_vocabulary():
    V_large = 50_000
    tokens = np.random.default_rng(0).integers(V_large, size=2000)
    model = NGram(tokens, V_large, 5)
    assert model.distribution(tokens[:6].tolist()).sum() == pytest.approx(1)
    assert model.nats(tokens)[5:].max() < np.log(V_large)  # each context was seen once, with its successor


@pytest.mark.parametrize(
    ("tokens", "n", "message"), [([1, 2], 0, "n: expected"), ([], 2, "tokens: expected")]
)
def test_mistakes(tokens, n, message):
    with pytest.raises(CourseError, match=message):
        NGram(np.array(tokens, dtype=int), V, n)
