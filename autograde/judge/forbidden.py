"""What an answer may not call: the course's own function that does what the exercise asks for.

The worker tells when such a function begins to run in a judged call (autograde/worker/guards.py); here the
names of the exercise become the names that functions really have, wherever else they can be imported from.
"""

from __future__ import annotations

import functools
import importlib

from autograde.exercise import HiddenExercise
from autograde.worker import guards


class Forbidden:
    """An exercise's `forbidden`, ready for the worker.

    Raises:
        ValueError: a name that is no function or class of the course.
    """

    def __init__(self, exercise: HiddenExercise) -> None:
        self.shown = {defined_as(name): name for name in exercise.forbidden}
        self.instead = exercise.instead

    @property
    def names(self) -> list[str]:
        return list(self.shown)

    def message(self, reported: str) -> str:
        """What to tell the student; a message that the worker did not send in this form is left alone."""
        shown = self.shown.get(reported)
        if shown is None:
            return reported
        return f"called `{shown}`, which does what the exercise asks for. {self.instead}"


@functools.cache
def defined_as(dotted: str) -> str:
    """Where a function or class is defined: `lmcourse.packing.ffd_pack` is `lmcourse.packing.bins.ffd_pack`.

    Raises:
        ValueError: there is none of this name in the course.
    """
    module, _, name = dotted.rpartition(".")
    try:
        found = getattr(importlib.import_module(module), name)
        defined = f"{found.__module__}.{found.__qualname__}"
    except (ImportError, AttributeError, ValueError):
        raise ValueError(f"forbidden: the course has no function or class {dotted}") from None
    if not defined.startswith(f"{guards.WATCHED}.") or "<" in defined:
        raise ValueError(f"forbidden: {dotted} is no function or class of the course that can be watched")
    return defined
