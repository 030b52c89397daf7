"""One student's line in the reports: the verdict and what else is known of the submission."""

from __future__ import annotations

from dataclasses import dataclass, field

from autograde.grading.settings import NOT_LATE, Late
from autograde.judge.verdict import SubmissionVerdict


@dataclass(frozen=True)
class Row:
    """`name` is what a learning platform calls the student; `prints` are fingerprints of the answers."""

    verdict: SubmissionVerdict
    name: str = ""
    late: Late = NOT_LATE
    prints: dict[str, tuple[int, ...]] = field(default_factory=dict)

    @property
    def student(self) -> str:
        return self.verdict.student

    @property
    def penalty(self) -> float:
        """What lateness costs: never more than was earned."""
        return min(self.late.penalty, self.verdict.points)

    @property
    def points(self) -> float:
        """Points given by the judge, less what lateness costs."""
        return self.verdict.points - self.penalty
