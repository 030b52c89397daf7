"""Verdicts as data: what was decided, why, at what cost; written as JSON and read back exactly."""

from __future__ import annotations

import dataclasses
import json
import math
import platform
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

import lmcourse

STATES = {
    "right": "right",
    "partly": "partly right",
    "wrong": "wrong",
    "student_error": "stopped with an error",
    "time_out": "took too long",
    "resource_limit": "used too much memory",
    "not_attempted": "not attempted",
    "not_run": "not run",
    "forbidden": "used something that is forbidden",
    "harness_fault": "a fault of the grader: a person will look",
    "infrastructure_fault": "a fault of the machine: to be run again",
}
# Nobody loses points for these: they carry no points at all until a person or a second run decides.
FAULTS = ("harness_fault", "infrastructure_fault")


@dataclass(frozen=True)
class PropertyResult:
    """One named property, worth `points`; message and case are for the student, in words.

    `mutant` is the name of the typical mistake that the answers were equal to, if they were.
    """

    name: str
    points: float
    passed: bool
    message: str = ""
    case: str = ""
    mutant: str = ""


@dataclass(frozen=True)
class Verdict:
    """The outcome of one exercise of one submission.

    `points` is None for the two faults and otherwise a finite number in 0..max_points. Times are seconds,
    memory is the peak resident size in bytes. `isolation` names what stood between student code and judge:
    "process", or "none" where the answer ran inside the judge (the mutation matrix, `autograde.run`). `kept`
    says why this is an earlier run's verdict, when a later one failed.

    Raises:
        ValueError: a state that does not exist, or points out of range.
    """

    exercise: str
    state: str
    points: float | None
    max_points: float
    message: str = ""
    properties: tuple[PropertyResult, ...] = ()
    wall_seconds: float = 0.0
    cpu_seconds: float = 0.0
    peak_bytes: int = 0
    isolation: str = "process"
    seed: int = 0
    versions: dict[str, str] = field(default_factory=dict)
    kept: str = ""

    def __post_init__(self) -> None:
        if self.state not in STATES:
            raise ValueError(f"there is no verdict state {self.state!r}")
        if (self.points is None) != (self.state in FAULTS):
            raise ValueError(f"state {self.state} does not go with points {self.points}")
        if self.points is not None and not (
            isinstance(self.points, int | float)
            and not isinstance(self.points, bool)
            and math.isfinite(self.points)
            and 0 <= self.points <= self.max_points
        ):
            raise ValueError(f"points must be a number in 0..{self.max_points}, but are {self.points!r}")

    @property
    def passed(self) -> tuple[PropertyResult, ...]:
        return tuple(p for p in self.properties if p.passed)

    @property
    def failed(self) -> tuple[PropertyResult, ...]:
        return tuple(p for p in self.properties if not p.passed)

    @property
    def case(self) -> str:
        """The failing case of the first failed property that has one."""
        return next((p.case for p in self.failed if p.case), "")

    def to_json(self) -> str:
        return _dumps(self)

    @classmethod
    def from_json(cls, text: str) -> Verdict:
        return cls._from_dict(json.loads(text))

    @classmethod
    def _from_dict(cls, data: dict[str, Any]) -> Verdict:
        properties = tuple(PropertyResult(**p) for p in data.pop("properties"))
        return cls(properties=properties, **data)


@dataclass(frozen=True)
class SubmissionVerdict:
    """All exercises of one week for one student.

    `repairs` says in words what was repaired in the notebook, `notes` what happened while it ran, and
    `problem` why it could not be graded at all (else empty).
    """

    student: str
    week: str
    verdicts: tuple[Verdict, ...]
    repairs: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    problem: str = ""
    wall_seconds: float = 0.0
    cpu_seconds: float = 0.0
    peak_bytes: int = 0

    @property
    def points(self) -> float:
        """Points given by the judge so far; exercises with a fault count nothing until they are decided."""
        return float(sum(v.points or 0.0 for v in self.verdicts))

    @property
    def max_points(self) -> float:
        return float(sum(v.max_points for v in self.verdicts))

    @property
    def undecided(self) -> tuple[Verdict, ...]:
        return tuple(v for v in self.verdicts if v.state in FAULTS)

    def verdict(self, exercise: str) -> Verdict:
        """The verdict of one exercise.

        Raises:
            KeyError: the week has no such exercise.
        """
        for candidate in self.verdicts:
            if candidate.exercise == exercise:
                return candidate
        raise KeyError(exercise)

    def to_json(self) -> str:
        return _dumps(self)

    @classmethod
    def from_json(cls, text: str) -> SubmissionVerdict:
        data = json.loads(text)
        verdicts = tuple(Verdict._from_dict(v) for v in data.pop("verdicts"))
        words = {key: tuple(data.pop(key)) for key in ("repairs", "notes")}
        return cls(verdicts=verdicts, **words, **data)


def versions() -> dict[str, str]:
    """What a verdict depends on besides the submission and the hidden tests."""
    return {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": np.__version__,
        "lmcourse": lmcourse.__version__,
    }


def _dumps(verdict: Any) -> str:
    return json.dumps(dataclasses.asdict(verdict), allow_nan=False, indent=1)
