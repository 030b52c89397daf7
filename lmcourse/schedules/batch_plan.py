"""Rows and length of the batch of each step."""

from __future__ import annotations

from dataclasses import dataclass

from lmcourse.errors import CourseError

# Share of the run, in tenths, before which rows have this fraction of the context.
SHORTER = ((1, 4), (3, 2))


@dataclass(frozen=True)
class BatchPlan:
    """How many rows of how many tokens each step takes.

    With `lengthen`, rows have a quarter of the context during the first tenth of the run and half of it until
    three tenths, and there are as many more of them, so that every step has the same number of tokens: the
    learning rate keeps its meaning, attention is cheaper, and early steps are calmer (Li et al. 2021,
    arXiv:2108.06084). With `ramp`, the number of rows grows in a line from `first_rows` at step 0 to `rows`
    at step `ramp`. Both together multiply.

    Attributes:
        rows: rows of `context` tokens in a step.
        context: longest row, in tokens.
        total: steps of the run.
        lengthen: start with shorter rows.
        shortest: no row is planned shorter than this, in tokens.
        ramp: steps over which the batch grows; 0 does without.
        first_rows: rows of step 0 where it grows.

    Raises:
        CourseError: a plan whose steps cannot hold whole rows.
    """

    rows: int
    context: int
    total: int
    lengthen: bool = False
    shortest: int = 64
    ramp: int = 0
    first_rows: int = 1

    def __post_init__(self) -> None:
        for name in ("rows", "context", "total", "shortest", "first_rows"):
            if getattr(self, name) < 1:
                raise CourseError(f"{name}: expected at least 1, got {getattr(self, name)}")
        if self.ramp < 0:
            raise CourseError(f"ramp: expected 0 steps or more, got {self.ramp}")
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
        if self.lengthen:
            for tenths, fraction in SHORTER:
                if 10 * step < tenths * self.total:
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
