"""What the commands share: where the parts of a checkout lie, found from this package, and the cores."""

from __future__ import annotations

import os
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]
SOLUTIONS = PROJECT / "solutions"
NOTEBOOKS = PROJECT / "notebooks"
TABLES = PROJECT / "lmcourse" / "checks" / "tables"
# The folder that nbgrader works in, unless another is named: masters, releases and the gradebook.
COURSE = PROJECT / "build" / "course"


def shown(path: Path) -> str:
    """A path as messages print it: relative to the checkout where it lies inside."""
    return str(path.relative_to(PROJECT)) if path.is_relative_to(PROJECT) else str(path)


def cores() -> int:
    """The processor cores that this process may use, at least 1."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
