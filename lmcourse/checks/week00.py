"""Property rows of week 0: a right and a wrong implementation for the first test that a student writes."""

from __future__ import annotations

import torch
from torch import Tensor

from lmcourse.checks.examined import ACCEPTED, verdict_of
from lmcourse.checks.rows import Names, Row, outcome, property_row


@property_row("W0.2", case="torch.relu", checks="your test accepts it")
def _(names: Names) -> Row:
    verdict = verdict_of(names["test_relu"], torch.relu)
    message = "torch.relu is right, so your test asks for something that is not so."
    return outcome(verdict, "accepted", verdict == ACCEPTED, message)


@property_row("W0.2", case="lambda x: x", checks="your test rejects it")
def _(names: Names) -> Row:
    verdict = verdict_of(names["test_relu"], _unchanged)
    message = "This one lets negative numbers through. Does your test try any?"
    return outcome(verdict, "rejected", verdict != ACCEPTED, message)


def _unchanged(x: Tensor) -> Tensor:
    return x
