"""What a run is made of at a step boundary, to and from a checkpoint."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from lmcourse.errors import CourseError
from lmcourse.model import Transformer
from lmcourse.monitor import Monitor, SkipList, SpikeRule, SpikeSettings
from lmcourse.numbers import LossScaler
from lmcourse.optimizers import make_optimizer
from lmcourse.precision import Precision
from lmcourse.trainer.checkpoint import Contents
from lmcourse.trainer.config import TrainConfig
from lmcourse.trainer.data import TrainingData
from lmcourse.trainer.randomness import restore_generators


@dataclass
class TrainingState:
    """Model, optimizer and counters after `step` optimizer steps.

    Rates, lengths, data and dropout are pure functions of the step or of the batch's number, so these are all
    there is.
    """

    model: Transformer
    optimizer: torch.optim.Optimizer
    scaler: LossScaler | None  # of float16
    rule: SpikeRule
    monitor: Monitor
    skips: SkipList
    step: int = 0
    batch: int = 0  # number of the last batch that was taken or passed over: the data cursor
    tokens_seen: int = 0  # counted in the loss so far
    save_is_due: bool = False  # since the last checkpoint, which waits for a calm moment
    best_loss: float | None = None  # lowest validation loss, in nats per token
    best_step: int | None = None


def new_state(config: TrainConfig, data: TrainingData) -> TrainingState:
    """A model with fresh weights and its optimizer."""
    model = Transformer(config.model(data.vocab_size), seed=config.seed)
    Precision(config.precision).apply(model)
    if config.compile == "on":
        model.compile_training()
    return TrainingState(
        model,
        make_optimizer(model, config.optimizer_settings()),
        LossScaler() if config.precision == "fp16" else None,
        SpikeRule(SpikeSettings(enabled=config.spikes)),
        Monitor(model, config.monitor_every),
        config.skips(),
    )


def pack_state(
    state: TrainingState, config: TrainConfig, data: TrainingData, generators: list[dict[str, Any]]
) -> Contents:
    """The files of a checkpoint: all that an exact continuation needs, and what it must be compared with.

    Args:
        generators: of each rank, as `generator_states` gives them.
    """
    return {
        "model.pt": state.model.state_dict(),
        "optimizer.pt": state.optimizer.state_dict(),
        "state.pt": {
            **{name: getattr(state, name) for name in _NUMBERS},
            "skips": str(state.skips),
            "scaler": state.scaler.state_dict() if state.scaler else None,
            "rule": state.rule.state_dict(),
            "monitor": state.monitor.state_dict(),
            "generators": generators,
            "config": config.to_json(),
            "data": data.fingerprint,
            "tokenizer": data.tokenizer.fingerprint if data.tokenizer else "",
        },
    }


_NUMBERS = ("step", "batch", "tokens_seen", "save_is_due", "best_loss", "best_step")


def unpack_state(contents: Contents, config: TrainConfig, data: TrainingData, rank: int = 0) -> TrainingState:
    """The state of a checkpoint; also puts the global generators back to where they were.

    Raises:
        CourseError: the checkpoint belongs to another configuration or to other data.
    """
    with says_where_it_does_not_fit():
        saved = contents["state.pt"]
        before = TrainConfig.from_json(saved["config"], "the checkpoint's configuration")
        if not config.continues(before, saved["step"]):
            raise CourseError(
                "config.json: differs from the configuration in the checkpoint; restore the file"
            )
        if saved["data"] != data.fingerprint:
            raise CourseError("the run's data differ from those that the checkpoint was trained on")
        state = new_state(config, data)
        restore(state, contents)
        if rank < len(saved["generators"]):
            restore_generators(saved["generators"][rank])
    return state


@contextmanager
def says_where_it_does_not_fit() -> Iterator[None]:
    """Turn the many errors of loading a foreign checkpoint into one line.

    Raises:
        CourseError: what the block loads does not have the shape of this run.
    """
    try:
        yield
    except (RuntimeError, TypeError, KeyError, ValueError, AttributeError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[-1].strip()
        raise CourseError(
            "the checkpoint does not fit the run's config.json; restore that file, or start the run again "
            f"({reason[:100]})"
        ) from None


def restore(state: TrainingState, contents: Contents) -> None:
    """Put a state back to where a checkpoint of the same run was."""
    saved = contents["state.pt"]
    state.model.load_state_dict(contents["model.pt"])
    state.optimizer.load_state_dict(contents["optimizer.pt"])
    for name in _NUMBERS:
        setattr(state, name, saved[name])
    state.skips = SkipList.parse(saved["skips"])
    if state.scaler:
        state.scaler.load_state_dict(saved["scaler"])
    state.rule.load_state_dict(saved["rule"])
    state.monitor.load_state_dict(saved["monitor"])


def roll_back(state: TrainingState, contents: Contents) -> None:
    """Everything as in the checkpoint, but the data cursor: what was taken since is passed over for good.

    So a run from the start with the final skip list ends with the same weights, bit for bit.
    """
    cursor, skips, rolled_back = state.batch, state.skips, state.rule.roll_backs
    restore(state, contents)
    skips.add(state.batch + 1, cursor)
    state.batch, state.skips, state.rule.roll_backs = cursor, skips, rolled_back + 1


def environment(world: int) -> dict[str, str | int]:
    """What the last bits of a run depend on beside its configuration.

    Args:
        world: number of ranks.
    """
    return {
        "torch": str(torch.__version__),
        "numpy": np.__version__,
        "threads": torch.get_num_threads(),
        "ranks": world,
        "commit": _commit(),
    }


def changes(before: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """A line for each difference between two environments."""
    return [
        f"{name} was {before.get(name) or 'unknown'} and is {now[name] or 'unknown'}: the run goes on, but "
        "perhaps not bit for bit"
        for name in now
        if before.get(name) != now[name]
    ]


def _commit() -> str:
    """Of the source tree that this package lies in; empty where it is installed without one."""
    root = Path(__file__).resolve().parents[2]
    if not (root / ".git").exists():
        return ""
    command = ["git", "-C", str(root), "rev-parse", "HEAD"]
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=10).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""
