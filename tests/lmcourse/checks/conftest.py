"""A small table of value cases, and a way to evaluate source text as a notebook's cell would define it."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from itertools import count

import pytest
import torch

from lmcourse.checks import evaluate as engine
from lmcourse.checks.report import Report
from lmcourse.checks.tables import Table, record_case


def document_mask(doc_id):
    T = doc_id.shape[1]
    return (doc_id[:, :, None] == doc_id[:, None, :]) & torch.ones(T, T, dtype=torch.bool).tril()


def causal_only(doc_id):
    B, T = doc_id.shape
    return torch.ones(T, T, dtype=torch.bool).tril().expand(B, T, T).clone()


def inverted(doc_id):
    return ~document_mask(doc_id)


def nothing(doc_id):
    return torch.zeros_like(document_mask(doc_id))


MISTAKES = [
    ("causal only", "Your mask does not use the document ids.", causal_only),
    ("inverted", "Your mask is inverted.", inverted),
    ("nothing", "Your mask allows nothing.", nothing),
]

MASK_TABLE = Table(
    "W1",
    {
        "W1.4": tuple(
            record_case(
                title,
                "causal inside each document",
                "document_mask",
                lambda ids=ids: (torch.tensor(ids),),
                {"document_mask": document_mask},
                [(name, message, {"document_mask": wrong}) for name, message, wrong in MISTAKES],
            )
            for title, ids in (("two rows", [[4, 4, 7, 7, 7], [1, 9, 9, 9, 2]]), ("one token", [[3]]))
        ),
        "W1.2": (
            record_case("overlap", "a share", "overlap_share", tuple, {"overlap_share": 127 / 128}, []),
        ),
    },
)


@pytest.fixture
def evaluate_source(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Report]:
    """`evaluate_source(source, exercise_id="W1.4", seconds=...)`, on the value cases above alone."""
    monkeypatch.setattr(engine, "load_table", lambda week: MASK_TABLE)
    monkeypatch.setattr(engine, "property_rows", lambda exercise_id: [])
    numbers = count()

    def run(source: str, exercise_id: str = "W1.4", seconds: float = 10.0) -> Report:
        name = f"<test cell {next(numbers)}>"
        linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
        namespace = {"__name__": "__main__", "torch": torch}
        exec(compile(source, name, "exec"), namespace)
        return engine.evaluate(exercise_id, namespace, seconds)

    return run
