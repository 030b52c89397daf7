"""The outcome of one exercise's public check, and its forms: JSON for programs, text for terminals."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import zip_longest
from textwrap import indent, wrap
from typing import Any

from lmcourse.checks.rows import ERROR, FAILED, NOT_CHECKED, NOT_STARTED, PASSED, TOO_SLOW, Row

MIME = "application/vnd.lmcourse.check+json"
COLUMNS = ("case", "what it checks", "yours", "expected", "verdict")
_WIDTH = 100


@dataclass(frozen=True)
class Prediction:
    """What the student wrote down before running the check; `time` is local, ISO 8601."""

    question: str
    answer: str
    time: str


@dataclass(frozen=True)
class Report:
    """The rows of one exercise's public check."""

    exercise: str
    title: str
    rows: tuple[Row, ...]
    predictions: tuple[Prediction, ...] = ()

    @property
    def passed(self) -> int:
        return sum(row.state == PASSED for row in self.rows)

    @property
    def state(self) -> str:
        """One word for the exercise: the most urgent state of its rows."""
        states = {row.state for row in self.rows} - {NOT_CHECKED}
        if not states:
            return NOT_CHECKED
        if states == {NOT_STARTED}:
            return NOT_STARTED
        for urgent in (TOO_SLOW, ERROR, FAILED):
            if urgent in states:
                return urgent
        return FAILED if NOT_STARTED in states else PASSED

    @property
    def reason(self) -> str:
        """Why the state is not `passed`: the message of the first row that decided it; else an empty text."""
        if self.state == PASSED:
            return ""
        deciding = [row for row in self.rows if row.state == self.state]
        deciding = deciding or [row for row in self.rows if row.state != PASSED]
        return next((row.message for row in deciding if row.message), "")

    @property
    def summary(self) -> str:
        """The closing line. It counts public checks only, since a part never stands for the whole."""
        if not self.rows:
            return f"{self.exercise} has no public check. It is judged when you hand in."
        if self.state == NOT_STARTED:
            count = "Not started yet"
        else:
            noun = "public check passes" if len(self.rows) == 1 else "public checks pass"
            count = f"{self.passed} of {len(self.rows)} {noun}"
        return f"{count}. More checks run when you hand in."

    def to_json(self) -> dict[str, Any]:
        return {
            "exercise": self.exercise,
            "title": self.title,
            "state": self.state,
            "reason": self.reason,
            "passed": self.passed,
            "checks": len(self.rows),
            "summary": self.summary,
            "rows": [asdict(row) for row in self.rows],
            "predictions": [asdict(prediction) for prediction in self.predictions],
        }

    def to_text(self) -> str:
        """The same in plain characters for a terminal, one block a row."""
        lines = [f"{self.exercise} {self.title}: public check"]
        lines += [f"You predicted: {p.answer}  ({p.question})" for p in self.predictions]
        for number, row in enumerate(self.rows, 1):
            lines += ["", f"{number}. {row.case} ({row.checks}): {verdict_word(row)}", *_block(row)]
        return "\n".join([*lines, "", self.summary])


def verdict_word(row: Row) -> str:
    """The verdict as a word; never a symbol or a color alone."""
    return {PASSED: "pass", FAILED: "FAIL", ERROR: "ERROR", TOO_SLOW: "TOO SLOW"}.get(row.state, row.state)


def _block(row: Row) -> Iterator[str]:
    yours, expected = row.yours.splitlines(), row.expected.splitlines()
    if yours or expected:
        width = max(24, *(len(line) + 4 for line in yours), 0)
        for left, right in zip_longest(["yours", *yours], ["expected", *expected], fillvalue=""):
            yield f"     {left:<{width}}{right}".rstrip()
    if row.state != PASSED:
        yield from wrap(row.message, _WIDTH, initial_indent="   ", subsequent_indent="   ")
        for text in filter(None, (row.inputs and f"called with\n{indent(row.inputs, '  ')}", row.trace)):
            yield indent(text, "     ")
