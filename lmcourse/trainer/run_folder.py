"""The folder of a run: runs/NAME with config.json, data, logs and checkpoints."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
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
    "run.png",
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
        if never_began(folder):
            remove_run(folder)
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise CourseError(f"{folder}: exists already; resume that run, or name another folder")
        folder.mkdir(parents=True, exist_ok=True)
        write_config(folder, config)
    except OSError as error:
        raise CourseError(f"{folder}: cannot make the run's folder ({error.strerror or error})") from None
    return folder


def remove_run(folder: Path) -> None:
    """Remove a run, if one is there, and nothing but a run.

    Raises:
        CourseError: the folder is no run, holds something that no run makes, is being written to, or cannot
            be removed.
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
        with claimed(folder):
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


def write_config(folder: Path, config: TrainConfig) -> None:
    """Write config.json, whole or not at all.

    Raises:
        OSError: the disk's own errors.
    """
    partial = folder / f"{CONFIG}.tmp-{os.getpid()}"
    partial.write_text(config.to_json(), encoding="utf-8")
    os.replace(partial, folder / CONFIG)


def never_began(folder: Path) -> bool:
    """Whether this is the folder of a run that came to no step: nothing is lost with it."""
    try:
        open_run(folder)
        log = folder / "log.jsonl"
        return not (folder / "checkpoints").exists() and (not log.exists() or log.stat().st_size == 0)
    except (CourseError, OSError):
        return False


def copy_run(parent: Path, folder: Path) -> None:
    """The data and the logs of a run into the folder of another; data are linked where the disk can.

    Raises:
        CourseError: the disk is full, or refuses otherwise.
    """
    try:
        for source in sorted(parent.rglob("*")):
            name = source.relative_to(parent)
            if name.parts[0] in ("data", "tokenizer.json") and source.is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                try:
                    os.link(source, folder / name)
                except OSError:  # another disk, or one without links
                    shutil.copyfile(source, folder / name)
            elif name.suffix in (".jsonl", ".csv"):
                shutil.copyfile(source, folder / name)
    except OSError as error:
        raise CourseError(f"{folder}: cannot copy {parent} ({error.strerror or error})") from None


@contextmanager
def claimed(folder: Path, claim: bool = True) -> Iterator[None]:
    """Nobody else writes into this run meanwhile; the claim ends with the process, however it ends.

    Args:
        folder: of a run.
        claim: False does nothing.

    Raises:
        CourseError: another process has the run.
    """
    try:
        import fcntl
    except ImportError:  # Windows cannot lock a folder
        claim = False
    if not claim:
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise CourseError(f"{folder}: another process trains this run; wait for it, or stop it") from None
        yield
    finally:
        os.close(handle)
