"""What a run is made of at a step boundary, to and from a checkpoint."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from lmcourse.errors import CourseError
from lmcourse.model import Transformer
from lmcourse.monitor import Monitor, SkipList, SpikeRule, SpikeSettings
from lmcourse.optimizers import adamw
from lmcourse.trainer.config import TrainConfig
from lmcourse.trainer.data import TrainingData


@dataclass
class TrainingState:
    """Model, optimizer and counters after `step` optimizer steps.

    The schedule is a pure function of the step, and the data and dropout are of the batch's number, so these
    are all there is.
    """

    model: Transformer
    optimizer: torch.optim.Optimizer
    rule: SpikeRule
    monitor: Monitor
    skips: SkipList
    step: int = 0
    batch: int = 0  # number of the last batch that was taken or passed over: the data cursor
    tokens_seen: int = 0  # counted in the loss so far


def new_state(config: TrainConfig, data: TrainingData) -> TrainingState:
    """A model with fresh weights and its optimizer."""
    model = Transformer(config.model(data.vocab_size), seed=config.seed)
    return TrainingState(
        model,
        _optimizer(config, model),
        SpikeRule(SpikeSettings(enabled=config.spikes)),
        Monitor(model, config.monitor_every),
        config.skips(),
    )


def pack_state(state: TrainingState, config: TrainConfig, data: TrainingData) -> dict[str, dict[str, Any]]:
    """The files of a checkpoint: all that an exact continuation needs, and what it must be compared with."""
    return {
        "model.pt": state.model.state_dict(),
        "optimizer.pt": state.optimizer.state_dict(),
        "state.pt": {
            "step": state.step,
            "batch": state.batch,
            "skips": str(state.skips),
            "rule": state.rule.state_dict(),
            "monitor": state.monitor.state_dict(),
            "tokens_seen": state.tokens_seen,
            "torch_rng": torch.get_rng_state(),
            "config": config.to_json(),
            "data": data.fingerprint,
            "tokenizer": data.tokenizer.fingerprint if data.tokenizer else "",
            **environment(),
        },
    }


def unpack_state(
    contents: dict[str, dict[str, Any]], config: TrainConfig, data: TrainingData
) -> tuple[TrainingState, list[str]]:
    """The state of a checkpoint; also moves the global generator of torch to where it was.

    Returns:
        The state, and one line for each difference in the environment that may change the last bits.

    Raises:
        CourseError: the checkpoint belongs to another configuration or to other data.
    """
    with says_where_it_does_not_fit():
        return _unpacked(contents, config, data)


@contextmanager
def says_where_it_does_not_fit() -> Iterator[None]:
    """Turn the many errors of loading a foreign checkpoint into one line.

    Raises:
        CourseError: what the block loads does not have the shape of this run.
    """
    try:
        yield
    except (RuntimeError, TypeError, KeyError, ValueError, AttributeError):
        raise CourseError(
            "the checkpoint does not fit the run's config.json; restore that file, or start the run again"
        ) from None


def _unpacked(
    contents: dict[str, dict[str, Any]], config: TrainConfig, data: TrainingData
) -> tuple[TrainingState, list[str]]:
    saved = contents["state.pt"]
    if TrainConfig.from_json(saved["config"], "the checkpoint's configuration") != config:
        raise CourseError("config.json: differs from the configuration in the checkpoint; restore the file")
    if saved["data"] != data.fingerprint:
        raise CourseError("the run's data differ from those that the checkpoint was trained on")
    state = new_state(config, data)
    restore(state, contents)
    now = environment()
    warnings = [
        f"{name} was {saved[name]} and is {now[name]}: the run goes on, but not bit for bit"
        for name in now
        if saved[name] != now[name]
    ]
    return state, warnings


def restore(state: TrainingState, contents: dict[str, dict[str, Any]]) -> None:
    """Put a state back to where a checkpoint of the same run was, generator of torch included."""
    saved = contents["state.pt"]
    state.model.load_state_dict(contents["model.pt"])
    _load_optimizer(state.optimizer, contents["optimizer.pt"])
    state.step, state.batch, state.tokens_seen = saved["step"], saved["batch"], saved["tokens_seen"]
    state.skips = SkipList.parse(saved["skips"])
    state.rule.load_state_dict(saved["rule"])
    state.monitor.load_state_dict(saved["monitor"])
    torch.set_rng_state(saved["torch_rng"])


def roll_back(state: TrainingState, contents: dict[str, dict[str, Any]]) -> None:
    """Everything as in the checkpoint, but the data cursor: what was taken since is passed over for good.

    So a run from the start with the final skip list ends with the same weights, bit for bit.
    """
    cursor, skips, rolled_back = state.batch, state.skips, state.rule.roll_backs
    restore(state, contents)
    skips.add(state.batch + 1, cursor)
    state.batch, state.skips, state.rule.roll_backs = cursor, skips, rolled_back + 1


def environment() -> dict[str, str | int]:
    """What the last bits of a run depend on beside its configuration."""
    return {"torch": str(torch.__version__), "numpy": np.__version__, "threads": torch.get_num_threads()}


def _optimizer(config: TrainConfig, model: Transformer) -> torch.optim.Optimizer:
    return adamw(model, config.lr, config.weight_decay, (config.beta1, config.beta2))


def _load_optimizer(optimizer: torch.optim.Optimizer, saved: dict[str, Any]) -> None:
    """Load by position, as torch does, but compare the names first: a wrong order loads without complaint."""
    names = [group["param_names"] for group in optimizer.state_dict()["param_groups"]]
    if [group["param_names"] for group in saved["param_groups"]] != names:
        raise CourseError("optimizer.pt: its parameters are not those of this model, in this order")
    optimizer.load_state_dict(saved)
