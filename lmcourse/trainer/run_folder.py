"""The folder of a run: runs/NAME with config.json, data, logs and checkpoints."""

from __future__ import annotations

import shutil
from pathlib import Path

from lmcourse.errors import CourseError
from lmcourse.trainer.config import TrainConfig

CONFIG = "config.json"
OWN = (
    CONFIG,
    "data",
    "tokenizer.json",
    "log.jsonl",
    "log.csv",
    "events.jsonl",
    "monitor.jsonl",
    "traces",
    "checkpoints",
    "latest",
)


def free_name(parent: Path, name: str) -> Path:
    """`parent/name`, or with the first free number behind it: runs/stories, runs/stories-2, ..."""
    candidates = (parent / (name if n == 1 else f"{name}-{n}") for n in range(1, 1_000_000))
    return next(c for c in candidates if not c.exists())


def create_run(folder: Path, config: TrainConfig) -> Path:
    """Make the folder of a new run.

    Raises:
        CourseError: the folder holds something already, or cannot be made.
    """
    try:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise CourseError(f"{folder}: exists already; resume that run, or name another folder")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / CONFIG).write_text(config.to_json(), encoding="utf-8")
    except OSError as error:
        raise CourseError(f"{folder}: cannot make the run's folder ({error.strerror or error})") from None
    return folder


def remove_run(folder: Path) -> None:
    """Remove a run, if one is there, and nothing but a run.

    Raises:
        CourseError: the folder is no run, holds something that no run makes, or cannot be removed.
    """
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return
    try:
        open_run(folder)
        foreign = sorted(p.name for p in folder.iterdir() if p.name not in OWN and ".tmp-" not in p.name)
    except CourseError as error:
        raise CourseError(f"{error}; so it is not removed") from None
    if foreign:
        raise CourseError(f"{folder}: holds {foreign[0]!r}, which no run makes, so it is not removed")
    try:
        shutil.rmtree(folder)
    except OSError as error:
        raise CourseError(f"{folder}: cannot be removed ({error.strerror or error})") from None


def open_run(folder: Path) -> TrainConfig:
    """The configuration of a run that exists.

    Raises:
        CourseError: no run there, or a damaged configuration.
    """
    path = folder / CONFIG
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise CourseError(f"{folder}: not the folder of a run (no readable {CONFIG} in it)") from None
    return TrainConfig.from_json(text, str(path))
