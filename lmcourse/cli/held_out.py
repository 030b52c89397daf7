"""A run's model on held-out text, target by target: what `eval` and `compare` are made of."""

from __future__ import annotations

import hashlib
import sys
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from lmcourse.errors import CourseError
from lmcourse.evaluation import target_nats
from lmcourse.evaluation.compression import stream_bytes
from lmcourse.evaluation.noise import standard_error
from lmcourse.evaluation.text_units import TextUnits
from lmcourse.model import Transformer
from lmcourse.trainer.batches import ValidationSet
from lmcourse.trainer.config import TrainConfig
from lmcourse.trainer.data import TrainingData
from lmcourse.trainer.loop import load_model
from lmcourse.trainer.run_folder import open_run

TOKENS_AT_ONCE = 4096


@dataclass(frozen=True)
class HeldOut:
    """
    Attributes:
        data: of the run; its validation stream is the text that is measured.
        validation: its rows.
    """

    run: Path
    config: TrainConfig
    model: Transformer
    data: TrainingData
    validation: ValidationSet

    @cached_property
    def places(self) -> np.ndarray:
        """(M,) where each counted target stands in the stream."""
        return self.validation.places[:, 1:][self.validation.counted].numpy()

    @cached_property
    def targets(self) -> np.ndarray:
        """(M,) ids of the counted targets."""
        return np.asarray(self.data.validation[self.places]).astype(np.int64)

    @cached_property
    def nats(self) -> np.ndarray:
        """(M,) the model's loss of each."""
        return target_nats(self.model, self.validation)

    @cached_property
    def units(self) -> TextUnits | None:
        """None where the tokens stand for no text."""
        return TextUnits.of(self.data.tokenizer) if self.data.tokenizer else None

    def standard_error(self, nats: np.ndarray) -> float:
        """Of a mean over the targets, in nats per token, from rows drawn anew."""
        row = np.nonzero(self.validation.counted.numpy())[0]
        R = len(self.validation.counted)
        return standard_error(np.bincount(row, weights=nats, minlength=R), np.bincount(row, minlength=R))

    @cached_property
    def text_hash(self) -> str:
        """Equal for equal held-out text, whatever the tokenizer."""
        content = stream_bytes(np.asarray(self.data.validation[:]), self.data.vocab_size, self.data.tokenizer)
        return hashlib.sha256(content).hexdigest()


def held_out(run: Path, text: str | None) -> HeldOut:
    """Load a run's latest model and cut its validation stream, or another text, as the run was cut.

    Raises:
        CourseError: no sound run there, or a text that it cannot spell or that is too short.
    """
    config = open_run(run)
    model, data = load_model(run, lambda line: print(line, file=sys.stderr))
    if text is not None:
        data = replace(data, validation=_encoded(text, data), oracle=None)
    validation = ValidationSet(
        data.validation,
        max(1, TOKENS_AT_ONCE // config.context),
        config.context,
        data.eos if config.mask else None,
        config.batches == "documents",
    )
    if not validation.counted.any():
        raise CourseError(f"{text or run}: too short, no token of it counts as a target")
    return HeldOut(run, config, model, data, validation)


def _encoded(path: str, data: TrainingData) -> np.ndarray:
    from lmcourse.corpora.text_files import read_documents

    if data.tokenizer is None:
        raise CourseError(f"--text: the run's tokens are bare numbers, so it cannot read {path}")
    ids: list[int] = []
    for document in read_documents(path):
        try:
            ids += data.tokenizer.encode(document)
        except CourseError as error:
            raise CourseError(f"--text {path}: {error}") from None
        ids += [] if data.eos is None else [data.eos]
    return np.array(ids, dtype=np.int64)
