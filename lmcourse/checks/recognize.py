"""Whether a wrong answer is one that a known mistake gives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lmcourse.checks.compare import difference
from lmcourse.checks.encoding import decode
from lmcourse.checks.tables import Case


def recognize(yours: Any, case: Case) -> dict[str, str]:
    """Name and message of each mistake whose result on this case's inputs equals `yours`."""
    return {m.name: m.message for m in case.mistakes if difference(yours, decode(m.value)) is None}


def agreed(found: Sequence[dict[str, str]]) -> list[str]:
    """For each row the text about its mistake, from the mistakes found in each of them.

    A small case often fits several mistakes; those that fit all recognized rows are preferred, so that a
    clear row decides for an unclear one.
    """
    recognized = [set(names) for names in found if names]
    common = set.intersection(*recognized) if recognized else set()
    texts = []
    for names in found:
        messages = [message for name, message in names.items() if name in (common or names)]
        texts.append(" Or: ".join(list(dict.fromkeys(messages))[:2]))
    return texts
