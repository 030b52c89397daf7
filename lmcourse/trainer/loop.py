"""A run from its configuration to its last checkpoint, and the same run continued."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TextIO

import torch

from lmcourse.errors import CourseError
from lmcourse.evaluation import Evaluation, evaluate
from lmcourse.model import Transformer
from lmcourse.monitor.json_lines import JsonLines
from lmcourse.schedules import warmup_cosine
from lmcourse.trainer.batches import (
    BatchAt,
    ValidationSet,
    document_batches,
    generator_for,
    window_batches,
)
from lmcourse.trainer.checkpoint import (
    list_checkpoints,
    load_checkpoint,
    remove_partial_checkpoints,
    save_checkpoint,
)
from lmcourse.trainer.config import TrainConfig
from lmcourse.trainer.data import TrainingData, build_data
from lmcourse.trainer.data_files import load_data, save_data
from lmcourse.trainer.interrupt import Interruption
from lmcourse.trainer.log import LogRecord, RunLog
from lmcourse.trainer.progress import RunProgress
from lmcourse.trainer.run_folder import create_run, open_run, remove_run
from lmcourse.trainer.state import (
    TrainingState,
    new_state,
    pack_state,
    roll_back,
    says_where_it_does_not_fit,
    unpack_state,
)
from lmcourse.trainer.step import ROLL_BACK, STEPPED, training_step
from lmcourse.trainer.watch import EVENTS, FIGURES, Watch, described, give_up

DROPOUT = 0x64726F70  # keeps its generator apart from those of the data


@dataclass(frozen=True)
class RunResult:
    """
    Attributes:
        validation: over the whole validation set; None where the run was stopped before its end.
        floor: nats per token of the true distribution on the same targets; None where it is not known.
        tokens, seconds: counted tokens and training time of this session, without evaluation and saving.
    """

    run: Path
    state: TrainingState
    config: TrainConfig
    data: TrainingData
    validation: Evaluation | None
    floor: float | None
    tokens: int
    seconds: float


def start_run(
    config: TrainConfig,
    folder: Path,
    stop_at: int | None = None,
    stream: TextIO | None = None,
    overwrite: bool = False,
) -> RunResult:
    """Train a new model.

    Args:
        config: the run.
        folder: to be made; it must be new or empty.
        stop_at: save and stop after this step; the run can be resumed.
        stream: for the progress; None is standard output.
        overwrite: remove a run that is there, once the data of the new one stand.

    Raises:
        CourseError: a mistake in the configuration, the text or the folder, a full disk, a loss that is not
            finite. Checkpoints saved before that stay.
    """
    data = build_data(config)
    if overwrite:
        remove_run(folder)
    create_run(folder, config)
    try:
        save_data(data, folder)
    except OSError as error:
        raise CourseError(f"{folder}: cannot write the run's data ({error.strerror or error})") from None
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(config.seed)  # of dropout, which takes no generator of its own
        return _train(folder, config, data, new_state(config, data), stop_at, stream or sys.stdout)


def resume_run(folder: Path, stop_at: int | None = None, stream: TextIO | None = None) -> RunResult:
    """Continue a run from its latest sound checkpoint, bit for bit as if it had never stopped.

    Args:
        folder: of the run.
        stop_at, stream: as in `start_run`.

    Raises:
        CourseError: no run there, no sound checkpoint, damaged data, or nothing left to do.
    """
    stream = stream or sys.stdout
    config = open_run(folder)
    remove_partial_checkpoints(folder)
    contents = load_checkpoint(folder, lambda line: print(line, file=stream))
    data = load_data(folder)
    with torch.random.fork_rng(devices=[]):
        state, warnings = unpack_state(contents, config, data)
        if state.step >= config.steps:
            raise CourseError(f"{folder}: the run is complete ({state.step} of {config.steps} steps)")
        if stop_at is not None and stop_at <= state.step:
            raise CourseError(f"--stop-at: {folder} is at step {state.step} already; give a later one")
        for line in warnings:
            print(line, file=stream)
        return _train(folder, config, data, state, stop_at, stream)


def load_model(folder: Path, say: Callable[[str], None]) -> tuple[Transformer, TrainingData]:
    """The model of a run's latest sound checkpoint, in evaluation mode, and the data of the run.

    Args:
        folder: of the run.
        say: takes one line for each damaged checkpoint that is passed over.

    Raises:
        CourseError: as in `resume_run`, but a complete run is welcome.
    """
    config = open_run(folder)
    contents = load_checkpoint(folder, say)
    data = load_data(folder)
    model = new_state(config, data).model
    with says_where_it_does_not_fit():
        model.load_state_dict(contents["model.pt"])
    return model.eval(), data


def batches_of(config: TrainConfig, data: TrainingData) -> tuple[BatchAt, ValidationSet]:
    """The training batches by step, and the validation set, cut the same way."""
    eos = data.eos if config.mask else None
    whole = config.batches == "documents"
    make = document_batches if whole else window_batches
    return (
        make(data.train, config.batch, config.context, config.seed, eos),
        ValidationSet(data.validation, config.batch, config.context, eos, whole),
    )


def _train(
    folder: Path,
    config: TrainConfig,
    data: TrainingData,
    state: TrainingState,
    stop_at: int | None,
    stream: TextIO,
) -> RunResult:
    batch_at, validation = batches_of(config, data)
    floor = None if data.oracle is None else validation.mean_over_targets(data.oracle)
    last = config.steps if stop_at is None else min(stop_at, config.steps)
    saved_at = state.step
    save_due = False
    tokens, seconds = 0, 0.0
    watch = Watch(state.model, state.optimizer, state.rule, state.monitor, folder, config.clip)
    measured: Evaluation | None = None

    def save() -> None:
        nonlocal saved_at
        if saved_at != state.step:
            save_checkpoint(folder, state.step, pack_state(state, config, data))
            saved_at = state.step

    with (
        RunLog(folder, state.step, state.batch) as log,
        JsonLines(folder / EVENTS, state.batch) as events,
        JsonLines(folder / FIGURES, state.batch) as figures,
        RunProgress(config.steps, state.step, floor, stream) as progress,
        Interruption() as interruption,
    ):
        state.model.train()
        while state.step < last and not interruption.requested:
            began = time.perf_counter()
            step, factor = state.step + 1, rate_factor(config, state.step)
            state.batch = state.skips.next_after(state.batch)
            micro_batches = list(batch_at(state.batch - 1).split(config.micro_batches))
            watch.begin(step, state.batch, micro_batches)
            if config.dropout:  # a function of the batch, so that a batch passed over leaves no trace
                torch.manual_seed(generator_for(config.seed, state.batch, DROPOUT).initial_seed())
            result = training_step(
                state.model, state.optimizer, micro_batches, factor, config.clip, watch=watch
            )
            elapsed = time.perf_counter() - began
            if result.outcome == STEPPED:
                state.step = step
                state.tokens_seen += result.tokens
                tokens, seconds = tokens + result.tokens, seconds + elapsed

            measured = None
            if result.outcome == STEPPED and (step % config.evaluate_every == 0 or step == config.steps):
                measured = evaluate(state.model, validation)
            record = LogRecord(
                step=step,
                batch=state.batch,
                outcome=result.outcome,
                loss=result.loss,
                learning_rate=config.lr * factor,
                gradient_norm=result.gradient_norm,
                tokens=result.tokens,
                tokens_seen=state.tokens_seen,
                validation_loss=measured.loss if measured else None,
                floor=floor,
                seconds=elapsed,
                tokens_per_second=result.tokens / elapsed,
            )
            log.append(record)
            if result.figures:
                figures.append({"step": step, "batch": state.batch, **asdict(record), **result.figures})
            if result.outcome == STEPPED:
                progress.step(record)
                save_due = save_due or step % config.save_every == 0
                if save_due and state.rule.calm:  # a checkpoint is a place to come back to
                    save()
                    save_due = False
                continue
            event = watch.event(result.outcome, step, result.loss, result.gradient_norm)
            state.skips.add(state.batch)
            if result.outcome == ROLL_BACK:
                event["back_to_step"] = saved_at = go_back(state, folder, event["reason"])
            events.append(event)
            progress.say(described(event))
        save()
    return RunResult(folder, state, config, data, measured, floor, tokens, seconds)


def go_back(state: TrainingState, folder: Path, reason: str) -> int:
    """Roll back to the last checkpoint, and pass over what was taken since.

    Returns:
        The step of the checkpoint.

    Raises:
        CourseError: no roll-back is left, or there is no checkpoint.
    """
    if state.rule.exhausted or not list_checkpoints(folder):
        raise give_up(state.step + 1, reason, folder)
    roll_back(state, load_checkpoint(folder, lambda line: None))
    return state.step


def rate_factor(config: TrainConfig, step: int) -> float:
    """Share of the peak rate in a step, from 0: a pure function, so that a resume has nothing to restore."""
    return warmup_cosine(step, peak=1.0, floor=config.lr_floor, warmup=config.warmup, total=config.steps)
