"""What a picture of a run is drawn from: curves, tables, events, and the lines to read them by."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from lmcourse.errors import CourseError
from lmcourse.monitor.json_lines import read_json_lines
from lmcourse.trainer.config import TrainConfig
from lmcourse.trainer.data_files import load_data
from lmcourse.trainer.log import LogRecord, read_log, updates
from lmcourse.trainer.run_folder import open_run
from lmcourse.trainer.watch import EVENTS, FIGURES

SMOOTHED = 20  # steps


@dataclass(frozen=True)
class RunData:
    """
    Attributes:
        records: of the steps that the weights carry, in order.
        tables: of the monitor, for such steps.
        events: batches that were passed over and roll-backs, in order.
        lines: what a loss is read against, nats per token: "ln V", "unigram entropy"; "floor" where known.
    """

    folder: Path
    config: TrainConfig
    records: list[LogRecord]
    tables: list[dict[str, Any]]
    events: list[dict[str, Any]]
    lines: dict[str, float]

    def column(self, name: str) -> np.ndarray:
        """(steps,) float64 of a field of the log; NaN where it was not measured."""
        return np.array([math.nan if (v := getattr(r, name)) is None else v for r in self.records], float)

    def smoothed_loss(self) -> np.ndarray:
        """(steps,) the mean of the last 20 losses, or of as many as there are."""
        sums = np.cumsum(np.insert(self.column("loss"), 0, 0.0))
        last = np.arange(1, len(sums))
        first = np.maximum(0, last - SMOOTHED)
        return (sums[last] - sums[first]) / (last - first)

    def validation(self) -> tuple[np.ndarray, np.ndarray]:
        """Steps and losses of the evaluations."""
        losses = self.column("validation_loss")
        measured = ~np.isnan(losses)
        return self.column("step")[measured], losses[measured]


def read_run(folder: Path) -> RunData:
    """
    Raises:
        CourseError: no run there, a damaged file, or none of its steps is done.
    """
    config = open_run(folder)
    valid = updates(read_log(folder)) if (folder / "log.jsonl").exists() else {}
    records = [valid[step] for step in sorted(valid)]
    if not records:
        raise CourseError(f"{folder}: no step of this run is done, so there is nothing to show yet")
    batches = {record.batch for record in records}
    return RunData(
        folder,
        config,
        records,
        [table for table in read_json_lines(folder / FIGURES) if table["batch"] in batches],
        read_json_lines(folder / EVENTS),
        reference_lines(folder, records),
    )


def reference_lines(folder: Path, records: list[LogRecord]) -> dict[str, float]:
    """ln V, the unigram entropy of the training stream, and the validation set's floor where it is known."""
    data = load_data(folder)
    lines = {"ln V": math.log(data.vocab_size), "unigram entropy": data.unigram_entropy()}
    floors = [record.floor for record in records if record.floor is not None]
    return lines | ({"floor": floors[-1]} if floors else {})
