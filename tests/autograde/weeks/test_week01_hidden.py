"""Week 1's own machinery: random properties that never refuse a right answer, models that leak or do not."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from autograde.exercise import Draw
from autograde.judge.local import LocalAnswer
from autograde.judge.score import score
from autograde.weeks import hidden
from autograde.weeks.chance import looks_uniform, pair_counts
from autograde.weeks.week01 import leak_models
from autograde.weeks.week01.documents import rows_of_ids
from lmcourse.packing import pack

W17 = hidden("W1.7")
RECORD = Path(__file__).parents[3] / "data" / "runs" / "leak.json"


def test_uniform_counts_pass_and_biased_ones_do_not():
    rng = np.random.default_rng(0)
    for K in (3, 7, 25):
        for _ in range(50):
            assert looks_uniform(torch.from_numpy(np.bincount(rng.integers(0, K, 100 * K), minlength=K)))
        half = np.ones(K)
        half[0] = 0.5
        drawn = rng.choice(K, size=2000 * K, p=half / half.sum())
        assert not looks_uniform(torch.from_numpy(np.bincount(drawn, minlength=K)))
        assert not looks_uniform(torch.full((K,), 100))  # too even to be chance


def test_pairs_see_an_order_that_counts_do_not():
    rng = np.random.default_rng(1)
    values = torch.from_numpy(rng.integers(0, 5, 4000))
    assert looks_uniform(pair_counts(values, 5))
    ordered = values.sort().values
    assert looks_uniform(torch.bincount(ordered))
    assert not looks_uniform(pair_counts(ordered, 5))


def test_right_windows_pass_under_many_seeds():
    exercise = hidden("W1.1")
    for seed in range(150):
        answer = LocalAnswer(exercise, exercise.reference.names)
        for prop in exercise.properties[2:5]:  # those that depend on luck
            prop.check(answer, Draw(seed))


def test_rows_of_ids_have_one_run_for_each_id():
    rng = np.random.default_rng(3)
    for B, T in ((1, 1), (4, 2), (3, 30)):
        for consecutive in (True, False):
            ids = rows_of_ids(rng, B, T, mean_length=3, consecutive=consecutive)
            assert ids.shape == (B, T) and ids.dtype == torch.int64
            for row in ids:
                runs = torch.unique_consecutive(row)
                assert len(runs) == len(row.unique()) and (T == 1 or len(runs) > 1)
                assert not consecutive or (runs.diff() == 1).all()


@pytest.fixture(params=[(0, 4, 64), (1, 3, 17)], ids=["long rows", "short rows"])
def packed(request):
    seed, B, T = request.param
    rng = np.random.default_rng(seed)
    docs = [rng.integers(1, 32, size=n).tolist() for n in rng.integers(0, 9, size=B * T // 3)]
    tokens, doc_id = pack(docs, T - 1, eos=0)
    return tokens[:B], doc_id[:B]


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("name", [s.name for s in W17.accept])
def test_right_models_are_exact(name, training, packed):
    model_fn = _model(name)
    tokens, doc_id = packed
    logits = model_fn(tokens, doc_id, training)
    assert logits.shape == (*tokens.shape, 32) and logits.isfinite().all()
    for row in range(len(tokens)):
        for document in doc_id[row].unique():
            inside = doc_id[row] == document
            alone = model_fn(tokens[row, inside][None], doc_id[row, inside][None], training)[0]
            torch.testing.assert_close(logits[row, inside], alone, rtol=0, atol=1e-5)
            prefix = (
                model_fn(tokens[row, inside][None, :-1], doc_id[row, inside][None, :-1])
                if inside.sum() > 1
                else None
            )
            if prefix is not None:
                torch.testing.assert_close(logits[row, inside][:-1], prefix[0], rtol=0, atol=1e-5)


@pytest.mark.parametrize("name", [s.name for s in W17.reject])
def test_leaks_are_far_larger_than_rounding(name, packed):
    model_fn = _model(name)
    tokens, doc_id = packed
    worst = 0.0
    for training in (True, False):
        before = model_fn(tokens, doc_id, training)
        for row in range(len(tokens)):
            for place in range(row % 2, tokens.shape[1], 2):
                changed = tokens.clone()
                changed[row, place] = 1 + tokens[row, place] % 31
                moved = (model_fn(changed, doc_id, training) - before).abs().amax(-1)
                own = doc_id[row] == doc_id[row, place]
                own[:place] = False
                moved[row, own] = 0
                worst = max(worst, moved.max().item())
    assert worst > 5e-4


def test_models_refuse_what_the_contract_does_not_allow():
    ids = torch.zeros(1, 4, dtype=torch.int64)
    for tokens, doc_id, words in (
        (ids + 32, ids, "0 to 31"),
        (ids - 1, ids, "0 to 31"),
        (ids[0], ids[0], r"\(B, T\)"),
        (ids, ids[:, :3], "same shape"),
        (ids.float(), ids, "whole numbers"),
        (torch.zeros(1, 65, dtype=torch.int64),) * 2 + ("1 to 64",),
        (ids[:, :0], ids[:, :0], "1 to 64"),
    ):
        for solution in (W17.accept[0], W17.reject[0]):
            with pytest.raises(ValueError, match=words):
                solution.names["test_no_leak"](tokens, doc_id)


def test_weights_are_the_same_at_every_start_and_for_both_precisions():
    single, double = leak_models._weights(torch.float32), leak_models._weights(torch.float64)
    for name, value in single.items():
        assert torch.equal(value, double[name].float())


@pytest.mark.parametrize(("run", "points"), [(12, 6.0), (1, 2.0)])
def test_every_recorded_run_is_right_for_its_corpus_only(run, points):
    exercise = hidden("W1.8")
    results = [r for r in json.loads(RECORD.read_text("utf-8"))["results"] if r["run"] == run]
    assert len(results) >= 5
    for result in results:
        names = {"leak": result["gaps"], "revealing_order": "shuffled"}
        verdict = score(exercise, LocalAnswer(exercise, names), result["seed"])
        assert verdict.points == points, verdict.message


def _model(name: str):
    return next(s for s in (*W17.accept, *W17.reject) if s.name == name).names["test_no_leak"]
