"""Numbers, states and student ids as text, the same in every report."""

from __future__ import annotations

import html

from autograde.judge.verdict import Verdict

# One or two words for a table's cell; STATES of the verdict has the long form.
SHORT = {
    "right": "right",
    "partly": "partly",
    "wrong": "wrong",
    "student_error": "error",
    "time_out": "time-out",
    "resource_limit": "memory",
    "not_attempted": "not tried",
    "not_run": "not run",
    "forbidden": "forbidden",
    "harness_fault": "see note",
    "infrastructure_fault": "run again",
}


def number(value: float) -> str:
    """`14`, `18.67`: at most two decimals, no trailing zeros."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def points(verdict: Verdict) -> str:
    return "?" if verdict.points is None else number(verdict.points)


def escaped(text: str) -> str:
    """Text for a page: markup has no effect, and neither have control characters and half surrogates."""
    plain = "".join(c if c.isprintable() or c in "\n\t" else "\N{REPLACEMENT CHARACTER}" for c in text)
    return html.escape(plain, quote=True)


def printable(text: str) -> str:
    """Text for a terminal: nothing that moves the cursor or changes colors."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
