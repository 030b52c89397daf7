"""Verdicts on disk: one file a student, replaced in one step, so that a crash leaves the old or the new one.

`save` is the only way in; a journal of attempts belongs there.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from autograde.judge.verdict import SubmissionVerdict

FORMAT = 1


@dataclass(frozen=True)
class Stored:
    """A submission's verdict, and for each exercise the key that says what it depended on."""

    verdict: SubmissionVerdict
    keys: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Store:
    """The verdicts of one week."""

    folder: Path

    def path(self, student: str) -> Path:
        return self.folder / f"{safe_name(student)}.json"

    def load(self, student: str) -> Stored | None:
        """What is known of a student; None also for a damaged file, which the next verdict replaces."""
        try:
            data = json.loads(self.path(student).read_text(encoding="utf-8"))
            if data["format"] != FORMAT:
                return None
            return Stored(SubmissionVerdict.from_json(json.dumps(data["verdict"])), dict(data["keys"]))
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None

    def save(self, student: str, stored: Stored) -> None:
        """Write and replace; OSError when the disk does not take it, and then the old file is untouched."""
        data = {"format": FORMAT, "keys": stored.keys, "verdict": json.loads(stored.verdict.to_json())}
        write_atomically(self.path(student), json.dumps(data, indent=1).encode("ascii"))


def safe_name(student: str) -> str:
    """A file name for any student id: readable where it can be, never a path, too long, or shared."""
    name = quote(student, safe=" @+-_", errors="replace").replace("%", "=").strip()
    usable = name and name == student and len(name) <= 80 and name.lower() == name
    if usable:
        return name
    digest = hashlib.sha256(student.encode("utf-8", "surrogatepass")).hexdigest()[:10]
    return f"{name[:60] or 'student'}-{digest}"


def write_atomically(path: Path, data: bytes) -> None:
    """Put `data` into a file beside `path`, flush it to the disk, and let it take the name in one step."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}.draft")
    try:
        with open(draft, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)
