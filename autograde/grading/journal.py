"""What a week's grading did, line by line: appended, flushed to the disk, never rewritten.

Each line is written before what it tells becomes visible elsewhere. So a command that was killed at any
moment and starts again knows which marks changed since the last finished run, which submissions the gradebook
holds, and how far a forced run had come. Half a line at the end, as a crash leaves it, is passed over.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from autograde.grading.settle import Change
from lmcourse.errors import CourseError

try:
    import fcntl
except ImportError:  # Windows, where the course is graded inside WSL
    fcntl = None

FILE = "journal.jsonl"


class Journal:
    """The journal of one week, open for this process alone; use `open_journal`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.recorded: dict[str, str] = {}  # student -> digest of what the gradebook holds
        self.changes: list[Change] = []  # since the last run that came to its end
        self.unfinished: dict[str, Any] | None = None  # the request of a run that did not
        self.done: set[str] = set()  # students that it judged
        self.file = open(path, "ab")  # noqa: SIM115 - `open_journal` closes it
        for entry in _entries(path):
            with suppress(KeyError, TypeError):
                self._take(entry)
        if self.path.stat().st_size and not _ends_with_newline(path):
            self.file.write(b"\n")

    def start(self, request: dict[str, Any]) -> set[str]:
        """Note a new run; returns whom an unfinished run with the same request has judged already."""
        done = set(self.done) if self.unfinished == request else set()
        self.write({"event": "start", "request": request, "continues": sorted(done)})
        return done

    def judged(self, outcomes: Iterable[tuple[str, tuple[str, ...], tuple[Change, ...]]]) -> None:
        """Note (student, exercises judged anew, marks that will change), before the verdicts are stored."""
        self.write(
            *(
                {"event": "judged", "student": s, "judged": j, "changes": [asdict(c) for c in changes]}
                for s, j, changes in outcomes
            )
        )

    def in_gradebook(self, digests: dict[str, str]) -> None:
        self.write(*({"event": "recorded", "student": s, "digest": d} for s, d in digests.items()))

    def end(self) -> None:
        self.write({"event": "end"})

    def write(self, *entries: dict[str, Any]) -> None:
        """Append lines and flush them to the disk.

        Raises:
            OSError: the disk does not take them.
        """
        now = datetime.now(UTC).isoformat(timespec="seconds")
        for entry in entries:
            self.file.write(json.dumps({"time": now, **entry}).encode("ascii") + b"\n")
            self._take(entry)
        self.file.flush()
        os.fsync(self.file.fileno())

    def _take(self, entry: dict[str, Any]) -> None:
        match entry["event"]:
            case "start":
                self.unfinished, self.done = entry["request"], set(entry["continues"])
            case "judged":
                self.done.add(entry["student"])
                for change in entry["changes"]:
                    self._change(Change(**change) if isinstance(change, dict) else change)
            case "recorded":
                self.recorded[entry["student"]] = entry["digest"]
            case "end":
                self.unfinished, self.done, self.changes = None, set(), []

    def _change(self, new: Change) -> None:
        """Several changes of one mark since the last finished run are one, from the first to the last."""
        for place, old in enumerate(self.changes):
            if (old.student, old.exercise) == (new.student, new.exercise):
                merged = Change(**{**asdict(new), "before": old.before, "was": old.was})
                del self.changes[place]
                if (merged.before, merged.was) != (merged.after, merged.now):
                    self.changes.insert(place, merged)
                return
        self.changes.append(new)


@contextmanager
def open_journal(folder: Path) -> Iterator[Journal]:
    """The journal in this folder, locked: two commands must not write the same verdicts.

    Raises:
        CourseError: another command grades this week at the moment, or the folder cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        journal = Journal(folder / FILE)
    except OSError as error:
        raise CourseError(f"cannot write to {folder}: {error.strerror or error}") from None
    try:
        if fcntl is not None:
            try:
                fcntl.flock(journal.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise CourseError(f"another command is grading into {folder}; wait until it ends") from None
        yield journal
    finally:
        journal.file.close()


def _entries(path: Path) -> Iterator[dict[str, Any]]:
    with open(path, "rb") as file:
        for line in file:
            try:
                entry = json.loads(line)
            except ValueError:
                continue
            if isinstance(entry, dict):
                yield entry


def _ends_with_newline(path: Path) -> bool:
    with open(path, "rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read(1) == b"\n"
