"""What a student's own test says about one implementation, in words for a check table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

ACCEPTED = "accepted"


def verdict_of(test: Callable[[Any], Any], implementation: Callable) -> str:
    """`accepted`, or `rejected` with the first line of the assertion's message; other errors pass through."""
    try:
        test(implementation)
    except AssertionError as error:
        first = next(iter(str(error).splitlines()), "")
        return f"rejected: {first}" if first else "rejected"
    return ACCEPTED
