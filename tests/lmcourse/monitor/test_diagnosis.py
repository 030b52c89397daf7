"""A healthy run is called healthy; each planted fault is named, and only by its own check."""

from __future__ import annotations

import math

import numpy as np
import pytest

from lmcourse.monitor.diagnosis import Curves, examine

S = 400
LINES = {"ln V": 4.0, "unigram entropy": 3.0, "floor": 1.5}


def table(step: int = S, **changes) -> dict:
    layers = {
        name: {"gradient_norm": 0.3, "update_ratio": 2e-3} for name in ("embedding", "blocks.0.mlp", "head")
    }
    values = {
        "step": step,
        "clip_share": 0.3,
        "layers": layers,
        "attention_logit_max": 7.0,
        "dead_units": {"blocks.0": 0.0},
    }
    return values | changes


def healthy(**changes) -> Curves:
    steps = np.arange(1.0, S + 1)
    losses = 1.6 + 2.4 * np.exp(-(steps - 1) / 40)
    values = {
        "steps": steps,
        "losses": losses,
        "smoothed": losses,
        "norms": 0.5 + np.exp(-steps / 50),
        "validation": np.array([2.0, 1.8, 1.62]),
        "lines": LINES,
        "warmup": 20,
        "clip": 1.0,
        "tables": [table(1), table()],
        "events": [],
    }
    return Curves(**(values | changes))


def event(batch: int, outcome: str = "skip", loss: float = 9.0, norm: float = 1.0) -> dict:
    return {"batch": batch, "step": batch, "outcome": outcome, "loss": loss, "gradient_norm": norm}


def alarms(curves: Curves) -> dict[str, str]:
    found = {f.name: f.words for f in examine(curves) if not f.fine}
    assert all(f.next for f in examine(curves) if not f.fine)
    return found


def test_a_healthy_run_raises_no_alarm_and_every_check_speaks() -> None:
    found = examine(healthy())
    assert all(finding.fine for finding in found)
    assert len(found) == 11  # all but that of batches passed over, of which there were none
    assert all("\n" not in finding.words for finding in found)


def test_a_run_of_a_few_steps_is_not_judged_by_what_needs_many() -> None:
    short = healthy()
    few = {name: getattr(short, name)[:5] for name in ("steps", "losses", "smoothed", "norms")}
    assert alarms(healthy(**few, validation=np.array([]), tables=[])) == {}


@pytest.mark.parametrize("first, alarm", [(4.1, False), (3.9, False), (4.3, True), (3.2, True)])
def test_the_first_loss_is_judged_on_both_sides(first: float, alarm: bool) -> None:
    losses = healthy().losses.copy()
    losses[0] = first
    assert ("first loss" in alarms(healthy(losses=losses))) is alarm


FAULTS = {
    "floor": {"validation": np.array([2.0, 1.6, 1.44])},
    "finite values": {"events": [event(30, loss=math.nan)]},
    "spikes": {"events": [event(30), event(31), event(32, "roll_back")]},
    "clipping": {"tables": [table(clip_share=0.99)]},
    "gradient norm": {"norms": np.where(np.arange(S) < S - 50, 0.5, 8.0)},
    "learning": {"losses": np.full(S, 3.9), "smoothed": np.full(S, 3.9)},
    "no divergence": {"smoothed": np.append(healthy().smoothed[:-1], 2.4)},
    "validation": {"validation": np.array([1.9, 1.7, 1.9])},
    "layers": {"tables": [table(layers={"embedding": {"gradient_norm": 0.0, "update_ratio": 0.0}})]},
    "attention logits": {"tables": [table(attention_logit_max=80.0)]},
    "dead units": {"tables": [table(dead_units={"blocks.0": 0.1, "blocks.1": 0.7})]},
}


@pytest.mark.parametrize("name", FAULTS)
def test_each_fault_is_named_by_its_own_check_alone(name: str) -> None:
    assert list(alarms(healthy(**FAULTS[name]))) == [name]


@pytest.mark.parametrize(
    "row, words",
    [
        ({"gradient_norm": 0.0, "update_ratio": 0.0}, "no gradient reaches head"),
        ({"gradient_norm": 0.2, "update_ratio": 0.0}, "head did not move"),
        ({"gradient_norm": 0.2, "update_ratio": 0.4}, "4.0e-01"),
    ],
)
def test_what_is_wrong_with_a_layer_is_told_apart(row: dict, words: str) -> None:
    rows = {"embedding": {"gradient_norm": 0.3, "update_ratio": 1e-3}, "head": row}
    assert words in alarms(healthy(tables=[table(layers=rows)]))["layers"]


def test_one_batch_passed_over_is_no_alarm() -> None:
    found = {f.name: f for f in examine(healthy(events=[event(30)]))}
    assert found["spikes"].fine


def test_without_validation_the_training_loss_is_held_against_the_floor_with_more_room() -> None:
    low = np.minimum(healthy().smoothed, 1.45)
    assert alarms(healthy(validation=np.array([]), smoothed=low)) == {}
    low = np.minimum(healthy().smoothed, 1.2)
    assert list(alarms(healthy(validation=np.array([]), smoothed=low))) == ["floor"]
