import json

import numpy as np
import pytest
import torch

from lmcourse.corpora import RegimeDocs
from lmcourse.errors import CourseError
from lmcourse.experiments import leak, leak_record
from lmcourse.experiments.leak import leak_experiment, load_recorded_leak


@pytest.fixture(scope="module")
def short():
    return leak_experiment(seed=1, steps=30, run=12)


def test_the_same_seed_gives_the_same_gaps_whatever_the_threads(short):
    before = torch.get_num_threads()
    again = leak_experiment(seed=1, steps=30, run=12)
    assert again.gaps == short.gaps and tuple(short.gaps) == leak.GAPS
    assert torch.get_num_threads() == before


def test_the_order_of_documents_means_nothing_to_a_masked_model(short):
    assert abs(short.gaps["in_order_masked"] - short.gaps["shuffled_masked"]) < 0.02
    assert short.floor == RegimeDocs(run=12).target_floor


def test_the_exact_nats_stand_at_their_tokens():
    """The mean of the oracle over the counted targets is the closed form, within noise."""
    corpus = RegimeDocs(run=1)

    documents = corpus.sample_documents(20_000, np.random.default_rng(3))
    batches, floor = leak._validation(corpus, documents)
    counted = sum(batch.count for batch in batches)
    assert abs(floor - corpus.target_floor) < 5 * 1.2 / counted**0.5
    eos_share = sum((b.targets[b.keep] == corpus.eos_id).sum().item() for b in batches) / counted
    assert abs(eos_share - 1 / corpus.mean_length) < 0.01


@pytest.mark.parametrize("run", [12, 1])
def test_what_is_recorded_shows_what_the_notebook_says(run):
    recorded = load_recorded_leak(run)
    assert recorded.seeds >= 5 and recorded.steps == leak.STEPS
    assert recorded.floor == pytest.approx(RegimeDocs(run=run).target_floor, abs=1e-9)
    low, high = ({k: band[i] for k, band in recorded.bands.items()} for i in (0, 1))
    assert all(low[k] <= recorded.gaps[k] <= high[k] for k in leak.GAPS)
    masked = max(high["in_order_masked"], high["shuffled_masked"])
    assert min(low["in_order_masked"], low["shuffled_masked"]) > 0
    if run == 12:
        assert high["in_order_unmasked"] < 0 < masked < low["shuffled_unmasked"]
    else:
        assert low["in_order_unmasked"] > 0 and high["shuffled_unmasked"] < 2 * masked


def test_the_record_comes_from_these_settings():
    record = json.loads((leak_record._find_record()).read_text())
    assert (record["T"], record["B"], record["learning_rate"]) == (leak.T, leak.B, leak.LEARNING_RATE)


def test_an_unknown_run_and_a_missing_record_are_one_line(tmp_path, monkeypatch):
    with pytest.raises(CourseError, match=r"run: 3 is not recorded .* \[1, 12\]"):
        load_recorded_leak(3)
    monkeypatch.setattr(leak_record, "NAME", tmp_path / "none.json")
    with pytest.raises(CourseError, match="not found"):
        load_recorded_leak()
    (tmp_path / "none.json").write_text('{"results": [{"run": 12}]}')
    with pytest.raises(CourseError, match="cannot be read"):
        load_recorded_leak()


def test_a_record_can_be_read_back(short, tmp_path, monkeypatch):
    path = tmp_path / "runs" / "leak.json"
    leak_record.write_record([short], {"torch": "x"}, path)
    monkeypatch.setattr(leak_record, "NAME", path)
    assert load_recorded_leak(12).gaps == short.gaps
