"""A run from its configuration to its last checkpoint, and the same run continued, extended or branched."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TextIO

from lmcourse.distributed import Ranks, single
from lmcourse.errors import CourseError
from lmcourse.evaluation import Evaluation
from lmcourse.model import Transformer
from lmcourse.schedules import branched, extended
from lmcourse.trainer.checkpoint import (
    list_checkpoints,
    load_checkpoint,
    read_manifest,
    remove_partial_checkpoints,
    save_checkpoint,
)
from lmcourse.trainer.config import TrainConfig
from lmcourse.trainer.data import TrainingData, build_data
from lmcourse.trainer.data_files import load_data, save_data
from lmcourse.trainer.randomness import generator_states, guarded_generators
from lmcourse.trainer.run_folder import (
    claimed,
    copy_run,
    create_run,
    never_began,
    open_run,
    remove_run,
    write_config,
)
from lmcourse.trainer.session import Session
from lmcourse.trainer.settle import settled
from lmcourse.trainer.state import (
    TrainingState,
    changes,
    environment,
    new_state,
    pack_state,
    says_where_it_does_not_fit,
    unpack_state,
)

ALONE = single()


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
    ranks: Ranks = ALONE,
) -> RunResult:
    """Train a new model.

    A run that fails before its first step leaves no folder.

    Args:
        config: the run; what it leaves to be measured is settled first.
        folder: to be made; it must be new or empty, or hold a run that never began.
        stop_at: save and stop after this step; the run can be resumed.
        stream: for the progress; None is standard output.
        overwrite: remove a run that is there, once the data of the new one stand.
        ranks: the processes that train together; each calls this with the same arguments.

    Raises:
        CourseError: a mistake in the configuration, the text or the folder, a full disk, a loss that is not
            finite. Checkpoints saved before that stay.
    """
    config = ranks.from_main(settled(config, _speaker(stream, ranks)) if ranks.is_main else config)
    data = build_data(config)
    if ranks.is_main:
        if overwrite:
            remove_run(folder)
        create_run(folder, config)
    ranks.barrier()
    try:
        if ranks.is_main:
            _save_data(data, folder)
        with guarded_generators():
            return _train(folder, config, data, new_state(config, data), stop_at, stream, ranks)
    except BaseException:
        if ranks.is_main and never_began(folder):
            remove_run(folder)
        raise


def resume_run(
    folder: Path,
    stop_at: int | None = None,
    stream: TextIO | None = None,
    extend: int = 0,
    ranks: Ranks = ALONE,
) -> RunResult:
    """Continue a run from its latest sound checkpoint, bit for bit as if it had never stopped.

    Args:
        folder: of the run.
        stop_at, stream, ranks: as in `start_run`.
        extend: steps that are added to the run, where its schedule leaves the past as it was.

    Raises:
        CourseError: no run there, no sound checkpoint, damaged data, nothing left to do, or a schedule whose
            past depends on its end.
    """
    say = _speaker(stream, ranks)
    config = open_run(folder)
    contents = load_checkpoint(folder, say)
    data = load_data(folder)
    taken = contents["state.pt"]["step"]
    if extend:
        config = _longer(config, extend, taken)
    if taken >= config.steps:
        raise CourseError(
            f"{folder}: the run is complete ({taken} of {config.steps} steps); --extend adds more"
        )
    if stop_at is not None and stop_at <= taken:
        raise CourseError(f"--stop-at: {folder} is at step {taken} already; give a later one")
    with guarded_generators():
        state = unpack_state(contents, config, data, ranks.rank)
        del contents  # the state has copies
        if ranks.is_main:
            with claimed(folder):
                remove_partial_checkpoints(folder)
                write_config(folder, config)
        for line in changes(_environment_of(folder, taken), environment(ranks.world)):
            say(line)
        return _train(folder, config, data, state, stop_at, stream, ranks)


def branch_run(
    parent: Path,
    folder: Path,
    decay: int,
    stop_at: int | None = None,
    stream: TextIO | None = None,
    ranks: Ranks = ALONE,
) -> RunResult:
    """Decay the learning rate of a run from its last checkpoint on the plateau, in a run of its own.

    The branch is bit for bit the run that would have been planned to end there; the parent is not touched.

    Args:
        parent: folder of a run on a "wsd" or "constant" schedule, running or finished.
        folder: of the branch.
        decay: steps of the decay; the branch ends behind them.
        stop_at, stream, ranks: as in `start_run`.

    Raises:
        CourseError: no checkpoint lies on the plateau, or as in `start_run`.
    """
    say = _speaker(stream, ranks)
    config = open_run(parent)
    schedule = config.lr_schedule()
    first, last = schedule.warmup, schedule.fixed_steps
    if not any(first <= _step_of(checkpoint) <= last for checkpoint in list_checkpoints(parent)):
        raise CourseError(
            f"--branch-from: {parent} has no checkpoint at its peak learning rate, where its {schedule.kind} "
            f"schedule is from step {first} to {last:g}; wsd and constant have a plateau that can be left"
        )
    contents = load_checkpoint(parent, say, lambda facts: first <= facts["step"] <= last)
    taken = contents["state.pt"]["step"]
    short = branched(schedule, taken, decay, config.lr_floor, config.decay_shape)
    config = replace(config, schedule=short.kind, steps=short.total, decay_share=short.decay)
    data = load_data(parent)
    with guarded_generators():
        state = unpack_state(contents, config, data, ranks.rank)
        generators = ranks.gather(generator_states())
        if ranks.is_main:
            create_run(folder, config)
            copy_run(parent, folder)
            facts = {"calm": True, "environment": _environment_of(parent, taken)}
            save_checkpoint(folder, taken, pack_state(state, config, data, generators), facts)
        ranks.barrier()
        say(f"{folder}: branches from {parent} after step {taken}, and decays over {decay} steps")
        return _train(folder, config, data, state, stop_at, stream, ranks)


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


def saved_threads(folder: Path) -> int | None:
    """Processor threads that the latest checkpoint was computed with; None where it does not say."""
    checkpoints = list_checkpoints(folder)
    return _environment_of(folder, _step_of(checkpoints[-1])).get("threads") if checkpoints else None


def _train(
    folder: Path,
    config: TrainConfig,
    data: TrainingData,
    state: TrainingState,
    stop_at: int | None,
    stream: TextIO | None,
    ranks: Ranks,
) -> RunResult:
    last = config.steps if stop_at is None else min(stop_at, config.steps)
    with claimed(folder, ranks.is_main):
        session = Session(folder, config, data, state, ranks, stream or sys.stdout)
        session.run(last)
    return RunResult(
        folder,
        state,
        config,
        data,
        session.measured if state.step == config.steps else None,
        session.floor,
        session.tokens,
        session.seconds,
    )


def _longer(config: TrainConfig, extend: int, taken: int) -> TrainConfig:
    try:
        total = extended(config.lr_schedule(), config.steps + extend, taken).total
    except CourseError as error:
        plateau = "; or leave the plateau: --branch-from" if config.schedule == "wsd" else ""
        raise CourseError(f"--extend: {error}{plateau}") from None
    return replace(config, steps=total)


def _save_data(data: TrainingData, folder: Path) -> None:
    try:
        save_data(data, folder)
    except OSError as error:
        raise CourseError(f"{folder}: cannot write the run's data ({error.strerror or error})") from None


def _speaker(stream: TextIO | None, ranks: Ranks) -> Callable[[str], None]:
    return lambda line: print(line, file=stream or sys.stdout) if ranks.is_main else None


def _step_of(checkpoint: Path) -> int:
    return int(checkpoint.name.removeprefix("step_"))


def _environment_of(folder: Path, step: int) -> dict[str, str | int]:
    try:
        facts = read_manifest(folder / "checkpoints" / f"step_{step:06d}")
    except (OSError, ValueError, KeyError, TypeError):
        return {}
    return facts.get("environment", {})
