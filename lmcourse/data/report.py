"""What could not be read: counted, with file and line, and never silently left out."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

EXAMPLES = 5


@dataclass(frozen=True)
class BadRecord:
    """A line or row that gives no document; `number` counts from 1 in its file."""

    file: str
    number: int
    reason: str

    def __str__(self) -> str:
        return f"{self.file}:{self.number}: {self.reason}"


class ReadReport:
    """Counts bad and empty records; one reader counts each record once, however often it reads the file.

    Attributes:
        bad, empty: distinct records so far. Empty ones hold white space alone.
        examples: the first few bad ones.
    """

    def __init__(self) -> None:
        self.bad, self.empty = 0, 0
        self.examples: list[BadRecord] = []
        self._highest: dict[tuple[str, str], int] = {}  # files are read in order: all up to here is counted

    def add_bad(self, file: Path, number: int, reason: str) -> None:
        """Count a record that gives no document."""
        if self._is_new("bad", file, number):
            self.bad += 1
            if len(self.examples) < EXAMPLES:
                self.examples.append(BadRecord(str(file), number, reason))

    def add_empty(self, file: Path, number: int) -> None:
        """Count a record without text."""
        self.empty += self._is_new("empty", file, number)

    def merge(self, other: ReadReport) -> None:
        """Add what another reader of other records has counted."""
        self.bad, self.empty = self.bad + other.bad, self.empty + other.empty
        self.examples = sorted([*self.examples, *other.examples], key=lambda e: (e.file, e.number))[:EXAMPLES]

    def lines(self) -> list[str]:
        """For a person: nothing where nothing is wrong."""
        lines = [f"{self.empty:,} records hold no text and were left out"] if self.empty else []
        if self.bad:
            lines.append(f"{self.bad:,} bad records were left out, the first of them:")
            lines += [f"  {example}" for example in self.examples]
        return lines

    def to_json(self) -> dict[str, Any]:
        """Plain values for `from_json`."""
        examples = [[e.file, e.number, e.reason] for e in self.examples]
        highest = [[kind, file, number] for (kind, file), number in self._highest.items()]
        return {"bad": self.bad, "empty": self.empty, "examples": examples, "highest": highest}

    @classmethod
    def from_json(cls, saved: dict[str, Any]) -> ReadReport:
        """The report that `to_json` described."""
        report = cls()
        report.bad, report.empty = saved["bad"], saved["empty"]
        report.examples = [BadRecord(*example) for example in saved["examples"]]
        report._highest = {(kind, file): number for kind, file, number in saved["highest"]}
        return report

    def _is_new(self, kind: str, file: Path, number: int) -> bool:
        key = (kind, str(file))
        if number <= self._highest.get(key, 0):
            return False
        self._highest[key] = number
        return True
