"""Is student code confined enough to be graded? If not, only on the instructor's word."""

from __future__ import annotations

from collections.abc import Sequence

from autograde.judge.ended import AnswerEnded
from autograde.sandbox.confine import is_confined

UNCONFINED = (
    "student code cannot be confined on this machine ({means}); `autograde doctor` says how to get more, "
    "and `autograde grade --allow-unconfined` grades all the same"
)


def named(means: Sequence[str]) -> str:
    """The means as they stand in a verdict: `process + landlock 7 + seccomp`."""
    return " + ".join(means)


def check(means: Sequence[str], allow_unconfined: bool) -> None:
    """Raise AnswerEnded, a fault of the machine, where student code would have run without walls."""
    if not allow_unconfined and not is_confined(means):
        raise AnswerEnded("infrastructure_fault", UNCONFINED.format(means=named(means)))
