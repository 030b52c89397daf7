"""The batches that a run kept because a value was not finite, and what was found about them then."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import torch

from lmcourse.errors import CourseError
from lmcourse.monitor.json_lines import from_json, to_json
from lmcourse.monitor.nan_trace import NanReport
from lmcourse.packing import Batch
from lmcourse.trainer.checkpoint import write_file

FOLDER = "traces"  # in the folder of a run
MOST = 5  # of a run; a run that diverges could fill the disk


@dataclass(frozen=True)
class Trace:
    """
    Attributes:
        batch: its number.
        loss, norm: as the step saw them; one of them is not finite.
        batches: the micro-batches of this process.
    """

    batch: int
    loss: float
    norm: float
    report: NanReport
    batches: Sequence[Batch]


def may_keep(run: Path) -> bool:
    """Whether there is room for one more."""
    return len(list((run / FOLDER).glob("batch_*.json"))) < MOST


def keep_trace(run: Path, trace: Trace) -> None:
    """Write two files, the columns of the batch first; a disk that is full loses them, not the run."""
    path = run / FOLDER / f"batch_{trace.batch:06d}"
    values = {"batch": trace.batch, "loss": trace.loss, "norm": trace.norm, **asdict(trace.report)}
    columns = [
        {name: None if column is None else column.clone() for name, column in asdict(batch).items()}
        for batch in trace.batches
    ]
    buffer = io.BytesIO()
    torch.save(columns, buffer)
    try:
        path.parent.mkdir(exist_ok=True)
        write_file(path.with_suffix(".pt"), buffer.getvalue())
        write_file(path.with_suffix(".json"), f"{to_json(values)}\n".encode())
    except OSError:
        return


def read_traces(run: Path) -> list[Trace]:
    """What a run kept, in the order of the batches.

    Raises:
        CourseError: a file is damaged.
    """
    traces = []
    for path in sorted((run / FOLDER).glob("batch_*.json")):
        try:
            values = from_json(path.read_text(encoding="utf-8"))
            columns = torch.load(path.with_suffix(".pt"), weights_only=True)
            batch, loss, norm = (values.pop(name) for name in ("batch", "loss", "norm"))
            traces.append(Trace(batch, loss, norm, NanReport(**values), [Batch(**c) for c in columns]))
        except Exception as error:  # torch.load raises what it likes
            raise CourseError(f"{path}: damaged ({type(error).__name__}); remove it") from None
    return traces
