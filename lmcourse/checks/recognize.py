"""Whether a wrong answer is one that a known mistake gives."""

from __future__ import annotations

from typing import Any

from lmcourse.checks.compare import difference
from lmcourse.checks.encoding import decode
from lmcourse.checks.tables import Case


def recognize(yours: Any, case: Case) -> list[str]:
    """Messages of the mistakes whose result on this case's inputs equals `yours`, without repeats."""
    matching = (m.message for m in case.mistakes if difference(yours, decode(m.value)) is None)
    return list(dict.fromkeys(matching))
