"""Verdicts on disk: one file a student, replaced in one step, so that a crash leaves the old or the new one.

Each file holds the verdict that counts now and, under the key of what it depended on, the last few decided
verdicts of each exercise: who goes back to an earlier answer, or takes back a hidden test, finds them there.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from urllib.parse import quote

from autograde.judge.verdict import SubmissionVerdict, Verdict

FORMAT = 2
KEPT = 4  # decided verdicts of an exercise that are kept, the newest last


@dataclass(frozen=True)
class Stored:
    """What is known of one student's work for a week.

    `parts` says for each exercise what its verdict depended on (see `keys`), `decided` holds verdicts by key.
    `digest` and `handed_in` are of the file that was judged (seconds since 1970, 0: unknown), `source` is its
    name; `prints` are fingerprints of the answers by exercise, for the report on similar ones.
    """

    verdict: SubmissionVerdict
    parts: dict[str, dict[str, str]] = field(default_factory=dict)
    decided: dict[str, Verdict] = field(default_factory=dict)
    digest: str = ""
    handed_in: float = 0.0
    source: str = ""
    prints: dict[str, tuple[int, ...]] = field(default_factory=dict)


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
            if data.pop("format") != FORMAT:
                return None
            verdict = SubmissionVerdict.from_json(json.dumps(data.pop("verdict")))
            decided = {k: Verdict.from_json(json.dumps(v)) for k, v in data.pop("decided").items()}
            prints = {e: tuple(p) for e, p in data.pop("prints").items()}
            return Stored(verdict, decided=decided, prints=prints, **data)
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None

    def save(self, student: str, stored: Stored) -> None:
        """Write and replace; OSError when the disk does not take it, and then the old file is untouched."""
        data = {
            "format": FORMAT,
            "verdict": asdict(stored.verdict),
            "decided": {k: asdict(v) for k, v in _newest(stored.decided).items()},
            "parts": stored.parts,
            "prints": stored.prints,
            "digest": stored.digest,
            "handed_in": stored.handed_in,
            "source": stored.source,
        }
        write_atomically(self.path(student), json.dumps(data, allow_nan=False).encode("ascii"))


def _newest(decided: dict[str, Verdict]) -> dict[str, Verdict]:
    kept: dict[str, Verdict] = {}
    count: dict[str, int] = {}
    for key, verdict in reversed(decided.items()):
        count[verdict.exercise] = count.get(verdict.exercise, 0) + 1
        if count[verdict.exercise] <= KEPT:
            kept[key] = verdict
    return dict(reversed(kept.items()))


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
