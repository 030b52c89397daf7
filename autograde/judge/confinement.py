"""Is student code confined enough to be graded? If not, only on the instructor's word."""

from __future__ import annotations

from collections.abc import Sequence

from autograde.judge.ended import AnswerEnded
from autograde.judge.limits import Limits
from autograde.sandbox import seccomp
from autograde.sandbox.confine import is_confined
from lmcourse.errors import CourseError

UNCONFINED = (
    "student code cannot be confined on this machine ({means}); `autograde doctor` says how to get more, "
    "and `autograde grade --allow-unconfined` grades all the same"
)


def named(means: Sequence[str]) -> str:
    """The means as they stand in a verdict: `process + landlock 7 + seccomp`."""
    return " + ".join(means)


def require(limits: Limits) -> None:
    """Refuse to begin where no worker could be confined; quick, and finds what is certain only.

    Raises:
        CourseError: this machine gives too little, and the limits do not allow that.
    """
    if not limits.allow_unconfined and not seccomp.available():
        raise CourseError(UNCONFINED.format(means="no system-call filter"))


def check(means: Sequence[str], allow_unconfined: bool) -> None:
    """Raise AnswerEnded, a fault of the machine, where student code would have run without walls."""
    if not allow_unconfined and not is_confined(means):
        raise AnswerEnded("infrastructure_fault", UNCONFINED.format(means=named(means)))
