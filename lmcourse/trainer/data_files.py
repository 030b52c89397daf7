"""The data of a run on disk, so that a resumed run needs neither generator nor source text."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from lmcourse.data.prepared import open_prepared
from lmcourse.errors import CourseError
from lmcourse.packing import TokenFile, write_token_file
from lmcourse.tokenizers import load_tokenizer
from lmcourse.trainer.data import TrainingData, data_of


def save_data(data: TrainingData, run: Path) -> None:
    """Write tokenizer.json (where there is one) and the streams, in the folder data, into a run's folder.

    Of prepared data, which may be large, only the place is written.

    Raises:
        CourseError: an id outside the vocabulary.
        OSError: the disk's own errors.
    """
    folder = run / "data"
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = data.tokenizer.fingerprint if data.tokenizer else ""
    if data.prepared is None:
        write_token_file(folder / "train.tokens", data.train, data.vocab_size, tokenizer, data.eos)
        write_token_file(folder / "validation.tokens", data.validation, data.vocab_size, tokenizer, data.eos)
    if data.tokenizer:
        data.tokenizer.save(run / "tokenizer.json")
    if data.oracle is not None:
        np.save(folder / "oracle.npy", data.oracle)
    summary = {
        "tokenizer": tokenizer,
        "vocab_size": data.vocab_size,
        "eos": data.eos,
        "fingerprint": data.fingerprint,
        "prepared": str(data.prepared.resolve()) if data.prepared else None,
    }
    (folder / "data.json").write_text(json.dumps(summary, indent=2) + "\n", encoding="utf-8")


def load_data(run: Path) -> TrainingData:
    """The data of `save_data`; the streams stay on disk, mapped into memory.

    Raises:
        CourseError: a file is missing, damaged, or does not belong to the others.
    """
    folder = run / "data"
    try:
        summary = json.loads((folder / "data.json").read_text(encoding="utf-8"))
        oracle = np.load(folder / "oracle.npy") if (folder / "oracle.npy").exists() else None
        vocab_size, eos, fingerprint = (summary[key] for key in ("vocab_size", "eos", "fingerprint"))
    except (OSError, ValueError, KeyError, TypeError, EOFError) as error:
        raise CourseError(f"{folder}: the run's data cannot be read ({error}); start the run again") from None
    if summary.get("prepared"):
        data = data_of(open_prepared(summary["prepared"]))
        if data.fingerprint != fingerprint:
            raise CourseError(
                f"{summary['prepared']}: holds other data than those that {run} was begun with; prepare the "
                "same files again, or start the run again"
            )
        return data
    path = run / "tokenizer.json"
    if summary.get("tokenizer") and not path.exists():
        raise CourseError(f"{path}: the run's tokenizer is missing; restore the file, or start the run again")
    tokenizer = load_tokenizer(path) if path.exists() else None
    files = [
        TokenFile(folder / name, fingerprint=tokenizer.fingerprint if tokenizer else "")
        for name in ("train.tokens", "validation.tokens")
    ]
    for file in files:
        file.check()
    train, validation = (file.stream for file in files)
    data = TrainingData(train, validation, vocab_size, eos, tokenizer, oracle)
    if data.fingerprint != fingerprint or (oracle is not None and oracle.shape != validation.shape):
        raise CourseError(f"{folder}: the run's data have changed since it began; start the run again")
    return data
