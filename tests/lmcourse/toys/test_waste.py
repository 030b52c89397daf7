"""The waste slider's counts against brute force, and the shape of what it draws."""

import numpy as np
import pytest

from lmcourse.toys.hashing import hashed, normal
from lmcourse.toys.waste import BIN_EDGES, ROW_LENGTHS, draw_lengths, histogram, measure, sweep


def brute_force(lengths, row_length, batch):
    """The same counts, token by token."""
    stream = np.repeat(np.arange(len(lengths)), lengths)
    rows = [stream[i : i + row_length] for i in range(0, len(stream), row_length)]
    pairs = sum(len(row) * (len(row) + 1) // 2 for row in rows)
    same = sum(int(((row[:, None] == row[None, :]) & np.tri(len(row), dtype=bool)).sum()) for row in rows)
    homes = np.zeros(len(lengths), dtype=int)
    for row in rows:
        homes[np.unique(row)] += 1
    pieces = sorted((min(row_length, n - i) for n in lengths for i in range(0, n, row_length)), reverse=True)
    batches = [pieces[i : i + batch] for i in range(0, len(pieces), batch)]
    return (
        len(pieces) * row_length,
        sum(len(b) * b[0] for b in batches),
        pairs,
        pairs - same,
        int((homes > 1).sum()),
    )


@pytest.mark.parametrize(("row_length", "batch"), [(1, 1), (7, 3), (16, 1), (23, 16), (64, 5), (1000, 64)])
def test_counts_are_those_of_brute_force(row_length, batch):
    lengths = np.random.default_rng(row_length).integers(1, 60, size=41)
    waste = measure(lengths, row_length, batch)
    counted = (waste.padded_slots, waste.bucketed_slots, waste.pairs, waste.crossing, waste.cut)
    assert counted == brute_force(lengths.tolist(), row_length, batch)
    assert waste.tokens == lengths.sum() and waste.documents == 41


def test_one_document_wastes_and_leaks_nothing():
    waste = measure(np.array([12]), 12, 8)
    assert waste.shares() == (0, 0, 0, 0)


def test_buckets_of_one_and_equal_lengths_need_no_padding():
    lengths = draw_lengths(200, 0.8, 0)
    assert measure(lengths, 4096, 1).shares()[1] == 0
    assert measure(draw_lengths(200, 0.0, 0), 512, 16).shares()[1] == 0


def test_lengths_have_the_mean_and_the_spread_asked_for():
    means = [draw_lengths(300, 0.6, seed).mean() for seed in range(40)]
    logs = np.log(np.concatenate([draw_lengths(300, 0.6, seed) for seed in range(40)]))
    assert np.mean(means) == pytest.approx(300, rel=0.02)
    assert logs.std() == pytest.approx(0.6, rel=0.02)
    assert set(draw_lengths(64, 0.0, 5)) == {64}
    wide = draw_lengths(8, 1.5, 1)
    assert wide.min() == 1 and wide.dtype == np.int64


def test_shares_move_the_way_the_widget_says():
    shares = sweep(draw_lengths(200, 0.8, 0), 16)
    assert shares.shape == (4, len(ROW_LENGTHS)) and (shares >= 0).all() and (shares <= 1).all()
    padded, bucketed, crossing, cut = shares
    assert padded[-1] > 0.9 and crossing[-1] > 0.9 and cut[0] > 0.99 and cut[-1] < 0.1
    assert (bucketed < padded)[8:].all()


def test_histogram_counts_every_document_once():
    lengths = draw_lengths(500, 1.5, 3)
    counts = histogram(lengths)
    assert counts.sum() == len(lengths) and len(counts) == len(BIN_EDGES) - 1


def test_random_words_are_well_mixed():
    words = hashed(0, np.arange(20_000)).astype(np.uint64)
    bits = (words[:, None] >> np.arange(32, dtype=np.uint64)) & np.uint64(1)
    assert np.abs(bits.mean(axis=0) - 0.5).max() < 5 * 0.5 / np.sqrt(20_000)
    assert len(np.unique(words)) > 19_990
    z = normal(1, 20_000)
    assert abs(z.mean()) < 0.03 and z.std() == pytest.approx(1, abs=0.03)
    assert np.abs(np.corrcoef(z[:-1], z[1:])[0, 1]) < 0.03
