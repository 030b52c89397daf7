"""Checkpoints that are complete or not there, and that say themselves whether they are sound.

A checkpoint is a folder step_000123 with model.pt, optimizer.pt, state.pt and manifest.json. It is written
under another name, each file flushed to the disk, the manifest with sizes and hashes last; then the folder
takes its name, and only after that the pointer `latest` moves and older checkpoints go. Whatever fails on the
way, the one before is still there. Files hold tensors and plain containers only, so that they load without
running any code that a file may bring along.
"""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import shutil
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import torch

from lmcourse.errors import CourseError

FILES = ("model.pt", "optimizer.pt", "state.pt")
MANIFEST = "manifest.json"
LATEST = "latest"
VERSION = 2
Contents = dict[str, dict[str, Any]]
Say = Callable[[str], None]
_DAMAGE = (OSError, EOFError, ValueError, KeyError, TypeError)
_CHUNK = 1 << 20  # bytes
_LISTINGS = 20  # a reader looks again so often when checkpoints go away under its hands


def save_checkpoint(
    run: Path,
    step: int,
    contents: Contents,
    facts: Mapping[str, Any] | None = None,
    keep: Collection[int | None] = (),
) -> Path:
    """Write a checkpoint, make it the latest and remove what is not needed any more.

    There stay: the one before it, the one with the lowest "validation_loss", the newest that is "calm", and
    those of the steps in `keep`.

    Args:
        run: the run's folder.
        step: optimizer steps done.
        contents: what `torch.save` writes, by file: "model.pt", "optimizer.pt", "state.pt".
        facts: for the manifest, where they can be read without loading a tensor: "validation_loss" (nats per
            token, or None), "calm" (whether to roll back to it), and others.
        keep: steps whose checkpoints are not removed.

    Raises:
        CourseError: the disk is full, or refuses otherwise; earlier checkpoints are untouched.
    """
    folder = run / "checkpoints"
    target = folder / f"step_{step:06d}"
    aside = f".tmp-{os.getpid()}"
    partial = folder / f"{target.name}{aside}"
    try:
        partial.mkdir(parents=True, exist_ok=True)
        files = {name: _write_tensors(partial / name, contents[name]) for name in FILES}
        manifest = {"version": VERSION, "step": step, **(facts or {}), "files": files}
        write_file(partial / MANIFEST, json.dumps(manifest, indent=2).encode())
        _sync_folder(partial)
        if target.exists():  # left damaged, or the run came this far before
            os.replace(target, folder / f"{target.name}.old{aside}")
        os.replace(partial, target)
        _sync_folder(folder)
        pointer = folder / f"{LATEST}{aside}"
        write_file(pointer, target.name.encode())
        os.replace(pointer, run / LATEST)
        _sync_folder(run)
        for old in _not_needed(run, target, set(keep)):
            os.replace(old, folder / f"{old.name}.old{aside}")  # at once: no reader finds half of it
    except OSError as error:
        rest = (
            "earlier ones are untouched, make room and resume the run"
            if list_checkpoints(run)
            else "it would have been the first, so make room and start the run again"
        )
        raise CourseError(
            f"{target}: the checkpoint cannot be written ({error.strerror or error}); {rest}"
        ) from None
    finally:
        _remove_partials(folder, f"*{aside}")
    return target


def load_checkpoint(run: Path, say: Say, wanted: Callable[[dict[str, Any]], bool] | None = None) -> Contents:
    """The contents of the latest sound checkpoint. Tensors may be mapped from the files; copy them.

    Args:
        run: the run's folder.
        say: takes one line for each checkpoint that is damaged and passed over.
        wanted: chooses by the manifest; None takes any.

    Raises:
        CourseError: there is no checkpoint, none that is wanted, or none that is sound.
    """
    for _ in range(_LISTINGS):
        candidates = _latest_first(run)
        if not candidates:
            raise CourseError(f"{run}: no checkpoint there to go on from; is this the folder of a run?")
        problems: list[str] = []
        for candidate in candidates:
            try:
                manifest = read_manifest(candidate)
                if wanted is not None and not wanted(manifest):
                    continue
                contents = _read(candidate, manifest)
            except _DAMAGE as error:
                if not candidate.exists():  # removed by the run that writes here: look again
                    break
                problems.append(f"{candidate.name} is damaged ({error})")
                continue
            for problem in problems:
                say(f"{problem}; going back to {candidate.name}")
            return contents
        else:
            fault = "; ".join(problems) or "none of those that are kept is the one asked for"
            raise CourseError(f"{run}: no sound checkpoint: {fault}")
    raise CourseError(f"{run}: checkpoints come and go faster than they can be read; try again")


def list_checkpoints(run: Path) -> list[Path]:
    """Folders of complete checkpoints, oldest first."""
    found = (run / "checkpoints").glob("step_*")
    return sorted((f for f in found if f.name.removeprefix("step_").isdigit() and f.is_dir()), key=_step)


def read_manifest(checkpoint: Path) -> dict[str, Any]:
    """What a checkpoint says of itself.

    Raises:
        OSError, ValueError, KeyError, TypeError: it is damaged.
    """
    manifest = json.loads((checkpoint / MANIFEST).read_text(encoding="utf-8"))
    if manifest["version"] != VERSION:
        raise ValueError(f"version {manifest['version']}, expected {VERSION}")
    return manifest


def remove_partial_checkpoints(run: Path) -> None:
    """Remove what a killed process was writing. Only for the process that goes on with the run."""
    _remove_partials(run / "checkpoints", "*.tmp-*")


def write_file(path: Path, content: bytes) -> None:
    """Write and wait until the disk has it."""
    with open(path, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _step(checkpoint: Path) -> int:
    return int(checkpoint.name.removeprefix("step_"))


def _latest_first(run: Path) -> list[Path]:
    """What `latest` names, then the others from the newest back."""
    try:
        latest = (run / LATEST).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        latest = ""  # without a pointer, the newest
    return sorted(list_checkpoints(run), key=lambda c: (c.name == latest, _step(c)), reverse=True)


def _not_needed(run: Path, newest: Path, keep: set[int | None]) -> list[Path]:
    checkpoints = list_checkpoints(run)
    before = [c for c in checkpoints if _step(c) < _step(newest)]
    manifests = {}
    for checkpoint in checkpoints:
        try:
            manifests[checkpoint] = read_manifest(checkpoint)
        except _DAMAGE:
            continue
    measured = [c for c, m in manifests.items() if isinstance(m.get("validation_loss"), float)]
    calm = [c for c, m in manifests.items() if m.get("calm", True)]
    kept = {newest, *before[-1:], *calm[-1:], *(c for c in checkpoints if _step(c) in keep)}
    if measured:
        kept.add(min(measured, key=lambda c: manifests[c]["validation_loss"]))
    return [c for c in checkpoints if c not in kept]


class _Sink:
    """A file that hashes what goes through it.

    A full disk is remembered and raised by `done`: an error in the middle of `torch.save` would be replaced
    by one that does not say what happened.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._hash, self._bytes = file, hashlib.sha256(), 0
        self._error: OSError | None = None

    def write(self, data: bytes) -> int:
        if self._error is None:
            try:
                self._file.write(data)
            except OSError as error:
                self._error = error
            self._hash.update(data)
            self._bytes += len(data)
        return len(data)

    def flush(self) -> None:
        if self._error is None:
            try:
                self._file.flush()
            except OSError as error:
                self._error = error

    def done(self) -> dict[str, Any]:
        """Wait until the disk has it, and say what the manifest has to know."""
        self.flush()
        if self._error is not None:
            raise self._error
        os.fsync(self._file.fileno())
        return {"bytes": self._bytes, "sha256": self._hash.hexdigest()}


def _write_tensors(path: Path, content: dict[str, Any]) -> dict[str, Any]:
    """Write what the manifest then says of the file; nothing is held in memory a second time."""
    with open(path, "wb") as file:
        sink = _Sink(file)
        torch.save(content, sink)
        return sink.done()


def _read(checkpoint: Path, manifest: dict[str, Any]) -> Contents:
    contents = {}
    for name in FILES:
        path, expected = checkpoint / name, manifest["files"][name]
        size = path.stat().st_size
        if size != expected["bytes"]:
            raise ValueError(f"{name} has {size:,} bytes instead of {expected['bytes']:,}")
        if _hash(path) != expected["sha256"]:
            raise ValueError(f"{name} differs from its hash in {MANIFEST}")
        try:  # a mapped file cannot be removed on Windows
            contents[name] = torch.load(path, weights_only=True, map_location="cpu", mmap=os.name != "nt")
        except (RuntimeError, pickle.UnpicklingError):  # messages of many lines
            raise ValueError(f"{name} holds more than tensors and plain containers") from None
    return contents


def _hash(path: Path) -> str:
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def _sync_folder(folder: Path) -> None:
    """Make names last; Windows cannot open folders and needs no such step."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _remove_partials(folder: Path, pattern: str) -> None:
    for partial in folder.glob(pattern):
        if partial.is_dir():
            shutil.rmtree(partial, ignore_errors=True)
        else:
            partial.unlink(missing_ok=True)
