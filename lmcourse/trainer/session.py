"""The loop: one process's stretch of a run, from a state to the last step or an interruption."""

from __future__ import annotations

import time
from dataclasses import asdict
from pathlib import Path
from typing import TextIO

from lmcourse.distributed import Ranks
from lmcourse.evaluation import Evaluation, evaluate
from lmcourse.packing import Batch
from lmcourse.schedules import factor
from lmcourse.trainer.checkpoint import list_checkpoints, load_checkpoint, save_checkpoint
from lmcourse.trainer.config import TrainConfig
from lmcourse.trainer.data import TrainingData
from lmcourse.trainer.interrupt import Interruption
from lmcourse.trainer.loader import Loader
from lmcourse.trainer.log import LogRecord
from lmcourse.trainer.planned import batches_of
from lmcourse.trainer.randomness import generator_states, seed_for_batch
from lmcourse.trainer.records import NoRecords, Records
from lmcourse.trainer.state import TrainingState, environment, pack_state, roll_back
from lmcourse.trainer.step import OVERFLOW, ROLL_BACK, STEPPED, StepResult, training_step
from lmcourse.trainer.watch import Watch, described, give_up


class Session:
    """Takes steps, measures, writes down, saves.

    Attributes:
        state: of the run, moving.
        measured: over the whole validation set after the last step; None where it was not measured there.
        floor: nats per validation token of the true distribution; None where it is not known.
        tokens, seconds: counted tokens and training time so far, without evaluation and saving.
    """

    def __init__(
        self,
        folder: Path,
        config: TrainConfig,
        data: TrainingData,
        state: TrainingState,
        ranks: Ranks,
        stream: TextIO,
    ) -> None:
        self.state = state
        self.tokens, self.seconds = 0, 0.0
        self.measured: Evaluation | None = None
        self._folder, self._config, self._data, self._ranks = folder, config, data, ranks
        batch_at, self._validation = batches_of(config, data)
        self._loader = Loader(batch_at, config.loader_workers)
        self._schedule = config.lr_schedule()
        self._end_of_plateau = self._schedule.decay_start if self._schedule.kind == "wsd" else None
        self.floor = None if data.oracle is None else self._validation.mean_over_targets(data.oracle)
        self._watch = Watch(state.model, state.optimizer, state.rule, state.monitor, folder, config.clip)
        self._saved_at = state.batch  # the state after this batch is on the disk, or is the beginning
        self._loaded = state.step  # may be needed again
        self._records: Records = NoRecords()
        if ranks.is_main:
            self._records = Records(folder, config.steps, state.step, state.batch, self.floor, stream)

    def run(self, last: int) -> None:
        """Go on to step `last`, or to the step in which SIGINT or SIGTERM comes, and save there.

        Raises:
            CourseError: a full disk, or a run that diverges beyond what the watch can mend.
        """
        self.state.model.train()
        with self._records, self._loader, Interruption() as interruption:
            while self.state.step < last and not self._ranks.any(interruption.requested):
                self._take_batch()
            self._save()

    def _take_batch(self) -> None:
        """Train on the next batch, or pass over it; either way it is behind us then."""
        state = self.state
        number = state.skips.next_after(state.batch)
        result = self._attempt(number)
        while result.outcome == OVERFLOW:  # the same batch at a smaller scale: nothing else has moved
            result = self._attempt(number)
        state.batch = number
        if result.outcome == STEPPED:
            self._save_if_due()
        else:
            self._pass_over(result)

    def _attempt(self, number: int) -> StepResult:
        """One step on one batch, and its record."""
        state, config = self.state, self._config
        began = time.perf_counter()
        rate = factor(self._schedule, state.step)
        batch = self._loader.take(number - 1)
        micro_batches = share(batch, self._ranks, config.micro_batches)
        seed_for_batch(config.seed, number, self._ranks.rank)
        self._watch.begin(state.step + 1, number, micro_batches)
        result = training_step(
            state.model,
            state.optimizer,
            micro_batches,
            rate,
            config.clip,
            ranks=self._ranks,
            scaler=state.scaler,
            watch=self._watch,
            z_weight=config.z_loss,
            average=config.loss_average,
        )
        elapsed = time.perf_counter() - began
        if result.outcome == STEPPED:
            state.step += 1
            state.tokens_seen += result.tokens
            self.tokens, self.seconds = self.tokens + result.tokens, self.seconds + elapsed
            self._measure()
        self._write_down(number, batch, rate, result, elapsed)
        return result

    def _measure(self) -> None:
        """The loss over the whole validation set, where this step has one."""
        state, config = self.state, self._config
        self.measured = None
        if state.step % config.evaluate_every != 0 and state.step != config.steps:
            return
        self._ranks.check_same(state.model, f"before measuring step {state.step}")
        measured = evaluate(state.model, self._validation) if self._ranks.is_main else None
        self.measured = self._ranks.from_main(measured)
        if state.best_loss is None or self.measured.loss < state.best_loss:
            state.best_loss, state.best_step = self.measured.loss, state.step

    def _write_down(self, number: int, batch: Batch, rate: float, result: StepResult, elapsed: float) -> None:
        stepped = result.outcome == STEPPED
        record = LogRecord(
            step=self.state.step if stepped else self.state.step + 1,
            batch=number,
            outcome=result.outcome,
            loss=result.loss,
            learning_rate=self._config.lr * rate,
            gradient_norm=result.gradient_norm,
            z_loss=result.z_loss,
            loss_scale=result.loss_scale,
            rows=len(batch.inputs),
            row_tokens=batch.inputs.shape[1],
            tokens=result.tokens,
            tokens_seen=self.state.tokens_seen,
            validation_loss=self.measured.loss if stepped and self.measured else None,
            floor=self.floor,
            seconds=elapsed,
            tokens_per_second=result.tokens / elapsed,
        )
        self._records.log(record)
        if result.figures:
            self._records.figures({**asdict(record), **result.figures})

    def _pass_over(self, result: StepResult) -> None:
        """The batch goes on the skip list; after a roll-back, all since the last checkpoint."""
        state = self.state
        event = self._watch.event(result.outcome, state.step + 1, result.loss, result.gradient_norm)
        state.skips.add(state.batch)
        if result.outcome == ROLL_BACK:
            if state.rule.exhausted or not list_checkpoints(self._folder):
                raise give_up(state.step + 1, event["reason"], self._folder)
            roll_back(state, load_checkpoint(self._folder, self._records.say, lambda facts: facts["calm"]))
            self._loaded = state.step
            event["back_to_step"] = state.step
        self._records.event(event)
        self._records.say(described(event))

    def _save_if_due(self) -> None:
        """Checkpoints come every few steps, but only calm ones: they are places to come back to."""
        state = self.state
        if state.step % self._config.save_every == 0 or state.step == self._end_of_plateau:
            state.save_is_due = True
        if state.save_is_due and state.rule.calm:
            state.save_is_due = False
            self._save(calm=True)

    def _save(self, calm: bool = False) -> None:
        """A checkpoint, unless the last one holds all there is.

        Args:
            calm: whether to come back to it in a roll-back. One that an interruption asks for is not, so that
                a run that was interrupted goes back where one that was not would.
        """
        state = self.state
        if self._saved_at == state.batch:
            return
        self._ranks.check_same(state.model, f"after step {state.step}")
        generators = self._ranks.gather(generator_states())
        if self._ranks.is_main:
            self._records.sync()
            facts = {
                "calm": calm,
                "validation_loss": self.measured.loss if self.measured else None,
                "environment": environment(self._ranks.world),
            }
            contents = pack_state(state, self._config, self._data, generators)
            keep = {self._loaded, self._end_of_plateau}  # the latter to branch from
            save_checkpoint(self._folder, state.step, contents, facts, keep)
        self._ranks.barrier()
        self._saved_at = state.batch


def share(batch: Batch, ranks: Ranks, micro_batches: int) -> list[Batch]:
    """A rank's rows of a step, in micro-batches; none where there are fewer rows than ranks."""
    rows = ranks.rows(len(batch.inputs))
    columns = (batch.inputs, batch.targets, batch.keep, batch.positions, batch.doc_id)
    own = Batch(*(None if column is None else column[rows] for column in columns))
    B = len(own.inputs)
    return list(own.split(min(micro_batches, B))) if B else []
