"""The factor on every base learning rate, step by step."""

from __future__ import annotations

import math
from dataclasses import dataclass

from lmcourse.errors import CourseError

KINDS = ("cosine", "wsd", "steps", "linear", "constant")
SHAPES = ("linear", "cosine", "sqrt")
# DeepSeek LLM (Bi et al. 2024, arXiv:2401.02954): from these tenths of the run on, this share of the peak.
STAIRS = ((8, 0.316), (9, 0.1))


@dataclass(frozen=True)
class Schedule:
    """How the learning rate goes over a run, as a share of its peak.

    All kinds begin with a linear warm-up, (step + 1) / warmup. Then

    - cosine: half a cosine down to the floor (Loshchilov and Hutter 2017, arXiv:1608.03983);
    - linear: a line down to the floor;
    - wsd: a plateau, then a short decay to the floor (Hu et al. 2024, arXiv:2404.06395);
    - steps: 1, 0.316 after 80 % and 0.1 after 90 % of the run (Bi et al. 2024, arXiv:2401.02954);
    - constant: the peak for ever.

    Attributes:
        kind: one of `KINDS`.
        total: steps of the run; from here on the factor stays what it ended at.
        warmup: steps of the warm-up; 0 starts at the peak.
        floor: share of the peak at the end of cosine, linear and wsd.
        decay: share of the run that the decay of wsd takes, at its end.
        shape: of that decay: linear, cosine, or sqrt (1 - sqrt(p), Hägele et al. 2024, arXiv:2405.18392).

    Raises:
        CourseError: a value that no schedule can have.
    """

    kind: str
    total: int
    warmup: int = 0
    floor: float = 0.1
    decay: float = 0.2
    shape: str = "linear"

    def __post_init__(self) -> None:
        for name, value, choices in (("kind", self.kind, KINDS), ("shape", self.shape, SHAPES)):
            if value not in choices:
                raise CourseError(f"schedule: {name}: expected one of {', '.join(choices)}, got {value!r}")
        for name, value, low in (("total", self.total, 1), ("warmup", self.warmup, 0)):
            if not isinstance(value, int) or isinstance(value, bool) or value < low:
                raise CourseError(
                    f"schedule: {name}: expected a whole number of steps from {low}, got {value!r}"
                )
        for name, value in (("floor", self.floor), ("decay", self.decay)):
            if not 0 <= value <= 1:
                raise CourseError(f"schedule: {name}: expected a share from 0 to 1, got {value!r}")

    @property
    def decay_start(self) -> int:
        """The first step of the decay of cosine, linear and wsd; like the first after a warm-up, it still has
        the peak's rate."""
        if self.kind == "wsd":
            return max(self.warmup, self.total - round(self.decay * self.total))
        return self.warmup

    @property
    def fixed_steps(self) -> float:
        """How many steps, from step 0 on, would have the same rate in a run of any greater length."""
        if self.kind == "constant":
            return math.inf
        if self.kind == "steps":
            return max(self.warmup, -(-STAIRS[0][0] * self.total // 10))
        return self.decay_start + 1


def factor(schedule: Schedule, step: int) -> float:
    """What every base learning rate is multiplied by in this step.

    Args:
        step: optimizer steps taken before this one; a skipped one does not count.

    Returns:
        A share from 0 to 1; above 0 within the run unless the decay has come to a floor of 0.

    Raises:
        CourseError: a negative step.
    """
    if step < 0:
        raise CourseError(f"step: expected 0 or more, got {step}")
    if step < schedule.warmup:
        return (step + 1) / schedule.warmup
    if schedule.kind == "constant":
        return 1.0
    if schedule.kind == "steps":
        return min([1.0, *(share for tenths, share in STAIRS if 10 * step >= tenths * schedule.total)])
    if step >= schedule.total:
        return schedule.floor
    if step < schedule.decay_start:
        return 1.0
    progress = (step - schedule.decay_start) / (schedule.total - schedule.decay_start)  # 0 at first, below 1
    shape = schedule.shape if schedule.kind == "wsd" else schedule.kind
    return schedule.floor + (1 - schedule.floor) * _fallen(shape, progress)


def _fallen(shape: str, progress: float) -> float:
    """From 1 at progress 0 to 0 at progress 1."""
    if shape == "cosine":
        return 0.5 * (1 + math.cos(math.pi * progress))
    return 1 - (math.sqrt(progress) if shape == "sqrt" else progress)
