"""Checkpoints that are complete or not there, and that say themselves whether they are sound.

A checkpoint is a folder step_000123 with model.pt, optimizer.pt, state.pt and manifest.json. It is written
under another name, each file flushed to the disk, the manifest with sizes and hashes last; then the folder
takes its name, and only after that the pointer `latest` moves and older checkpoints go. Whatever fails on the
way, the one before is still there. Files hold tensors and plain containers only, so that they load without
running any code that a file may bring along.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from lmcourse.errors import CourseError

FILES = ("model.pt", "optimizer.pt", "state.pt")
MANIFEST = "manifest.json"
LATEST = "latest"
VERSION = 1
_DAMAGE = (OSError, EOFError, ValueError, KeyError, TypeError)


def save_checkpoint(run: Path, step: int, contents: dict[str, dict[str, Any]]) -> Path:
    """Write a checkpoint and make it the latest; keep the one before it, remove all others.

    Args:
        run: the run's folder.
        step: optimizer steps done.
        contents: what `torch.save` writes, by file: "model.pt", "optimizer.pt", "state.pt".

    Raises:
        CourseError: the disk is full, or refuses otherwise; earlier checkpoints are untouched.
    """
    folder = run / "checkpoints"
    target = folder / f"step_{step:06d}"
    partial = folder / f"{target.name}.tmp-{os.getpid()}"
    before = next((c for c in reversed(list_checkpoints(run)) if _step(c) < step), None)
    try:
        partial.mkdir(parents=True, exist_ok=True)
        manifest: dict[str, Any] = {"version": VERSION, "step": step, "files": {}}
        for name in FILES:
            buffer = io.BytesIO()
            torch.save(contents[name], buffer)
            content = buffer.getvalue()
            write_file(partial / name, content)
            manifest["files"][name] = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        write_file(partial / MANIFEST, json.dumps(manifest, indent=2).encode())
        if target.exists():  # left damaged, or the run came this far before
            shutil.rmtree(target)
        os.replace(partial, target)
        _sync_folder(folder)
        pointer = folder / f"{LATEST}.tmp-{os.getpid()}"
        write_file(pointer, target.name.encode())
        os.replace(pointer, run / LATEST)
        _sync_folder(run)
        for old in list_checkpoints(run):
            if old not in (target, before):
                shutil.rmtree(old)
    except OSError as error:
        rest = (
            "earlier ones are untouched, make room and resume the run"
            if list_checkpoints(run)
            else ("it would have been the first, so make room and start the run again")
        )
        raise CourseError(
            f"{target}: the checkpoint cannot be written ({error.strerror or error}); {rest}"
        ) from None
    finally:
        _remove_partials(folder, f"*.tmp-{os.getpid()}")
    return target


def load_checkpoint(run: Path, say: Callable[[str], None]) -> dict[str, dict[str, Any]]:
    """The contents of the latest sound checkpoint.

    Args:
        run: the run's folder.
        say: takes one line for each checkpoint that is damaged and passed over.

    Raises:
        CourseError: there is no checkpoint, or none is sound.
    """
    candidates = list_checkpoints(run)
    if not candidates:
        raise CourseError(f"{run}: no checkpoint there to go on from; is this the folder of a run?")
    try:
        latest = run / "checkpoints" / (run / LATEST).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        latest = candidates[-1]  # without a pointer, the newest
    problems = []
    for candidate in sorted(candidates, key=lambda c: (c == latest, _step(c)), reverse=True):
        try:
            contents = _read(candidate)
        except _DAMAGE as error:
            problems.append(f"{candidate.name} is damaged ({error})")
            continue
        for problem in problems:
            say(f"{problem}; going back to {candidate.name}")
        return contents
    raise CourseError(f"{run}: no sound checkpoint: {'; '.join(problems)}")


def list_checkpoints(run: Path) -> list[Path]:
    """Folders of complete checkpoints, oldest first."""
    found = (run / "checkpoints").glob("step_*")
    return sorted((f for f in found if f.is_dir() and f.name.removeprefix("step_").isdigit()), key=_step)


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


def _read(checkpoint: Path) -> dict[str, dict[str, Any]]:
    manifest = json.loads((checkpoint / MANIFEST).read_text(encoding="utf-8"))
    if manifest["version"] != VERSION:
        raise ValueError(f"version {manifest['version']}, expected {VERSION}")
    contents = {}
    for name in FILES:
        content = (checkpoint / name).read_bytes()
        expected = manifest["files"][name]
        if len(content) != expected["bytes"]:
            raise ValueError(f"{name} has {len(content):,} bytes instead of {expected['bytes']:,}")
        if hashlib.sha256(content).hexdigest() != expected["sha256"]:
            raise ValueError(f"{name} differs from its hash in {MANIFEST}")
        try:
            contents[name] = torch.load(io.BytesIO(content), weights_only=True)
        except (RuntimeError, pickle.UnpicklingError):  # messages of many lines
            raise ValueError(f"{name} holds more than tensors and plain containers") from None
    return contents


def _sync_folder(folder: Path) -> None:
    """Make a rename last; Windows cannot open folders and needs no such step."""
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
