"""Rows and length of the batch of each step."""

from __future__ import annotations

from dataclasses import dataclass

from lmcourse.errors import CourseError

# Share of the lengthening, in thirds, before which rows have this fraction of the context.
SHORTER = ((1, 4), (3, 2))


@dataclass(frozen=True)
class BatchPlan:
    """How many rows of how many tokens each step takes.

    With `lengthen`, rows have a quarter of the context during the first third of those steps and half of it
    during the rest, and there are as many more of them, so that every step has the same number of tokens: the
    learning rate keeps its meaning, attention is cheaper, and early steps are calmer (Li et al. 2021,
    arXiv:2108.06084). It is a number of steps, not a share, so that a run can be made longer. With `ramp`,
    the number of rows grows in a line from `first_rows` at step 0 to `rows` at step `ramp`. Both together
    multiply.

    Attributes:
        rows: rows of `context` tokens in a step.
        context: longest row, in tokens.
        lengthen: steps with shorter rows; 0 does without.
        shortest: no row is planned shorter than this, in tokens.
        ramp: steps over which the batch grows; 0 does without.
        first_rows: rows of step 0 where it grows.

    Raises:
        CourseError: a plan whose steps cannot hold whole rows.
    """

    rows: int
    context: int
    lengthen: int = 0
    shortest: int = 64
    ramp: int = 0
    first_rows: int = 1

    def __post_init__(self) -> None:
        for name in ("rows", "context", "shortest", "first_rows"):
            if getattr(self, name) < 1:
                raise CourseError(f"{name}: expected at least 1, got {getattr(self, name)}")
        for name in ("lengthen", "ramp"):
            if getattr(self, name) < 0:
                raise CourseError(f"{name}: expected 0 steps or more, got {getattr(self, name)}")
        if self.ramp and self.first_rows > self.rows:
            raise CourseError(f"first_rows: {self.first_rows} to start with, but only {self.rows} at the end")
        for length in {self._shortened(fraction) for _, fraction in SHORTER} if self.lengthen else ():
            # a growing batch takes every number of rows on its way, so the length must divide the context
            tokens = self.context if self.ramp else self.rows * self.context
            if tokens % length:
                raise CourseError(
                    f"context: {tokens} tokens do not make whole rows of {length} for the shorter rows at "
                    "the start; take a multiple of 4, or another value for shortest"
                )

    def length_at(self, step: int) -> int:
        """Tokens in a row."""
        for thirds, fraction in SHORTER:
            if 3 * step < thirds * self.lengthen:
                return self._shortened(fraction)
        return self.context

    def rows_at(self, step: int) -> int:
        """Rows in the batch."""
        return self.tokens_at(step) // self.length_at(step)

    def tokens_at(self, step: int) -> int:
        """Tokens in the batch, those that do not count included."""
        if step >= self.ramp:
            return self.rows * self.context
        grown = (self.rows - self.first_rows) * step // self.ramp
        return (self.first_rows + grown) * self.context

    def _shortened(self, fraction: int) -> int:
        return min(self.context, max(self.shortest, self.context // fraction))
