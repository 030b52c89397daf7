"""What decides an optimizer, checked when it is written down; no torch needed."""

from __future__ import annotations

import math
from dataclasses import dataclass

from lmcourse.errors import CourseError

NAMES = ("sgd", "momentum", "adamw", "muon")
SCALES = ("match_adamw", "original", "spectral")
FORMATS = ("auto", "bf16", "fp32")


@dataclass(frozen=True)
class OptimizerSettings:
    """An optimizer and its constants.

    Attributes:
        name: one of `NAMES`.
        lr: base learning rate; the schedule multiplies it by a factor before each step.
        weight_decay: share of a matrix taken off per step and unit of learning rate, apart from the gradient.
        beta1, beta2: memory of AdamW's two moments, also where Muon leaves parameters to AdamW.
        eps: added to the root of AdamW's second moment.
        momentum: memory of `momentum` and of Muon; None takes 0.9 and 0.95.
        scale: how Muon sizes an update, as in `lmcourse.optimizers.rules.muon.update_scale`.
        adamw_lr: base learning rate of what Muon leaves to AdamW (embedding, head, gains); None takes `lr`.
        newton_schulz: number format of Muon's products; "auto" measures what this machine is fast at.

    Raises:
        CourseError: a value that no optimizer can have.
    """

    name: str = "adamw"
    lr: float = 3e-3
    weight_decay: float = 0.1
    beta1: float = 0.9
    beta2: float = 0.95
    eps: float = 1e-8
    momentum: float | None = None
    scale: str = "match_adamw"
    adamw_lr: float | None = None
    newton_schulz: str = "auto"

    def __post_init__(self) -> None:
        for name, choices in (("name", NAMES), ("scale", SCALES), ("newton_schulz", FORMATS)):
            value = getattr(self, name)
            if value not in choices:
                raise CourseError(f"{name}: expected one of {', '.join(choices)}, got {value!r}")
        for name in ("lr", "adamw_lr", "weight_decay", "eps"):
            value = getattr(self, name)
            if value is not None and not 0 <= value < math.inf:
                raise CourseError(f"{name}: expected 0 or more, got {value}")
        for name in ("beta1", "beta2", "momentum"):
            value = getattr(self, name)
            if value is not None and not 0 <= value < 1:
                raise CourseError(f"{name}: expected a share from 0 to below 1, got {value}")

    @property
    def memory(self) -> float:
        """`momentum`, or its default for this optimizer."""
        return self.momentum if self.momentum is not None else {"muon": 0.95}.get(self.name, 0.9)
