"""Bad batches in a real run: passed over without a trace, seen in the log, and the same again in a replay."""

from __future__ import annotations

import io
import json
import math
from pathlib import Path

import pytest
import torch
from small_run import small_config

from lmcourse.errors import CourseError
from lmcourse.monitor.json_lines import read_json_lines
from lmcourse.trainer import resume_run, start_run
from lmcourse.trainer import step as step_module
from lmcourse.trainer.data import build_data
from lmcourse.trainer.log import read_log, updates
from lmcourse.trainer.planned import batches_of

STEPS = 60


def config(**changes):
    settings = {"steps": STEPS, "save_every": 10, "evaluate_every": 100, "corpus_tokens": 12_000}
    return small_config(**(settings | changes))


@pytest.fixture
def poison(monkeypatch):
    """`poison({41: nan})` multiplies the loss of batch 41, and so its gradient, in every run of the test."""

    def plant(factors: dict[int, float], settings=None) -> None:
        settings = settings or config()
        batch_at, _ = batches_of(settings, build_data(settings))
        of_targets = {}
        for number, factor in factors.items():
            first = next(batch_at(number - 1).split(settings.micro_batches))
            of_targets[first.targets.numpy().tobytes()] = factor
        healthy = step_module.masked_cross_entropy

        def poisoned(logits, targets, *rest):
            factor = of_targets.get(targets.numpy().tobytes())
            loss = healthy(logits, targets, *rest)
            return loss if factor is None else loss * factor

        monkeypatch.setattr(step_module, "masked_cross_entropy", poisoned)

    return plant


def train(folder: Path, settings=None, **options):
    return start_run(settings or config(), folder, stream=io.StringIO(), **options)


def assert_equal_states(one, two) -> None:
    for (name, a), b in zip(one.model.state_dict().items(), two.model.state_dict().values(), strict=True):
        assert torch.equal(a, b), name
    of_one, of_two = (list(s.optimizer.state.values()) for s in (one, two))
    assert of_one
    for a, b in zip(of_one, of_two, strict=True):
        assert a.keys() == b.keys()
        for key in a:
            assert torch.equal(torch.as_tensor(a[key]), torch.as_tensor(b[key])), key
    assert one.rule.state_dict() == two.rule.state_dict()


@pytest.mark.parametrize("factor", [math.nan, math.inf, 100.0])
def test_a_bad_batch_changes_nothing_and_the_next_step_is_normal(tmp_path, poison, factor) -> None:
    """Weights, moments and counters after the skip are those of a run whose data never held the batch."""
    poison({41: factor})
    hit = train(tmp_path / "hit", stop_at=41)
    told = train(tmp_path / "told", config(skip_batches="41"), stop_at=41)
    assert_equal_states(hit.state, told.state)
    assert str(hit.state.skips) == str(told.state.skips) == "41"
    assert hit.state.batch == told.state.batch == 42
    assert all(p.isfinite().all() for p in hit.state.model.parameters())

    before = train(tmp_path / "before", stop_at=40)
    counts = {int(state["step"]) for state in hit.state.optimizer.state.values()}
    assert counts == {41} and before.state.step == 40  # of updates, not of batches

    records = read_log(tmp_path / "hit")
    assert [(r.step, r.batch, r.outcome) for r in records[39:]] == [
        *((40, 40, "stepped"), (41, 41, "skip"), (41, 42, "stepped")),
    ]
    bad, good = records[40:]
    assert not bad.loss < 50
    assert math.isnan(bad.loss) == math.isnan(factor)
    assert good.loss == pytest.approx(records[39].loss, rel=0.3)
    (event,) = read_json_lines(tmp_path / "hit" / "events.jsonl")
    assert (event["outcome"], event["batch"], event["step"]) == ("skip", 41, 41)
    assert event["reason"] and event["data_hash"]
    for name in ("log.jsonl", "events.jsonl", "monitor.jsonl"):
        for line in (tmp_path / "hit" / name).read_text().splitlines():
            json.loads(line, parse_constant=lambda constant: pytest.fail(f"{constant} is not JSON"))


def test_a_run_through_a_bad_batch_resumes_to_the_bit(tmp_path, poison) -> None:
    poison({24: math.nan, 41: 100.0, 45: math.nan})
    whole = train(tmp_path / "whole")
    for stop in (20, 41, 50):
        folder = tmp_path / f"stop-{stop}"
        train(folder, stop_at=stop)
        again = resume_run(folder, stream=io.StringIO())
        assert_equal_states(whole.state, again.state)
        assert str(again.state.skips) == "24,41,45"
        assert [r.batch for r in read_log(folder)] == [r.batch for r in read_log(tmp_path / "whole")]
        assert sorted(updates(read_log(folder))) == list(range(1, STEPS + 1))
        for name in ("events.jsonl", "monitor.jsonl"):
            mine, theirs = (read_json_lines(f / name) for f in (folder, tmp_path / "whole"))
            assert [line["batch"] for line in mine] == [line["batch"] for line in theirs]


def test_a_roll_back_is_the_run_that_never_saw_the_range(tmp_path, poison) -> None:
    poison({43: 200.0, 44: math.nan, 45: 300.0})
    hit = train(tmp_path / "hit")
    assert str(hit.state.skips) == "41-45"  # what was taken since the checkpoint of step 40
    assert hit.state.rule.roll_backs == 1
    told = train(tmp_path / "told", config(skip_batches="41-45"))
    told.state.rule.roll_backs = 1
    assert_equal_states(hit.state, told.state)
    events = read_json_lines(tmp_path / "hit" / "events.jsonl")
    assert [(e["outcome"], e["batch"]) for e in events] == [("skip", 43), ("skip", 44), ("roll_back", 45)]
    assert events[-1]["back_to_step"] == 40
    records = updates(read_log(tmp_path / "hit"))
    assert sorted(records) == list(range(1, STEPS + 1))
    assert records[41].batch == 46 and records[60].batch == 65


def test_a_killed_run_comes_to_the_same_roll_back(tmp_path, poison) -> None:
    poison({43: 200.0, 44: math.nan, 45: 300.0})
    whole = train(tmp_path / "whole")
    train(
        tmp_path / "stopped", stop_at=42
    )  # with a checkpoint at 42, so the range that is passed over is shorter
    for line in (tmp_path / "stopped" / "checkpoints").glob("step_000042"):
        line.rename(tmp_path / "lost")
    again = resume_run(tmp_path / "stopped", stream=io.StringIO())
    assert_equal_states(whole.state, again.state)


def test_roll_backs_are_bounded_and_the_end_is_one_line(tmp_path, poison) -> None:
    poison(dict.fromkeys(range(25, 80), math.nan))
    with pytest.raises(CourseError, match="the loss is nan") as caught:
        train(tmp_path / "run")
    message = str(caught.value)
    assert "\n" not in message and "smaller learning rate" in message and "lmcourse trace" in message
    events = read_json_lines(tmp_path / "run" / "events.jsonl")
    assert [e["outcome"] for e in events].count("roll_back") == 2
    assert len(list((tmp_path / "run" / "traces").glob("batch_*.json"))) == 5


def test_without_a_checkpoint_there_is_nothing_to_go_back_to(tmp_path, poison) -> None:
    poison(dict.fromkeys(range(3, 9), math.nan))
    with pytest.raises(CourseError, match="not possible"):
        train(tmp_path / "run")


def test_data_that_changed_for_good_is_trained_on_in_the_end(tmp_path, poison) -> None:
    settings = config(steps=70)
    poison(dict.fromkeys(range(45, 140), 8.0), settings)
    done = train(tmp_path / "run", settings)
    assert done.state.step == 70
    assert done.state.rule.roll_backs == 2


def test_switched_off_only_what_is_not_finite_is_passed_over(tmp_path, poison) -> None:
    settings = config(spikes=False)
    poison({41: 100.0, 45: math.nan}, settings)
    done = train(tmp_path / "run", settings, stop_at=50)
    assert str(done.state.skips) == "45"


def test_the_batch_and_the_place_of_a_nan_are_kept(tmp_path, poison) -> None:
    poison({41: math.nan})
    train(tmp_path / "run", stop_at=41)
    traces = tmp_path / "run" / "traces"
    report = json.loads((traces / "batch_000041.json").read_text())
    assert report["loss"] == "NaN"
    assert report["module"] == ""  # the loss itself was multiplied, behind the model
    assert report["gradient"]
    columns = torch.load(traces / "batch_000041.pt", weights_only=True)
    assert sum(len(c["inputs"]) for c in columns) == config().batch


@pytest.mark.parametrize("every", [1, 7, 10_000])
def test_watching_changes_no_bit(tmp_path, every) -> None:
    usual = train(tmp_path / "usual", stop_at=25)
    watched = train(tmp_path / "watched", config(monitor_every=every), stop_at=25)
    assert_equal_states(usual.state, watched.state)
    losses = [[r.loss for r in read_log(tmp_path / name)] for name in ("usual", "watched")]
    assert losses[0] == losses[1]
    tables = read_json_lines(tmp_path / "watched" / "monitor.jsonl")
    assert [t["step"] for t in tables] == [1, *(s for s in range(2, 26) if s % every == 0)]
    assert tables[0]["layers"]["blocks.0.mlp"]["update_ratio"] > 0
    assert tables[0]["tokens_per_second"] > 0
