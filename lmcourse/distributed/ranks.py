"""What a training loop asks of the processes it runs in, and the answers of one process alone."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Self, TypeVar

from torch import nn

Number = TypeVar("Number", int, float)
Anything = TypeVar("Anything")


class Ranks:
    """One process alone. Nothing is sent anywhere, so the loop pays nothing for being able to run in many.

    `lmcourse.distributed.processes.ProcessRanks` gives the same methods for many processes. Each method that
    says "over all ranks" must be called by every rank, in the same order.

    Attributes:
        rank: number of this process, 0..world-1.
        world: number of processes.
    """

    rank = 0
    world = 1

    @property
    def is_main(self) -> bool:
        """Whether this is the process that prints, logs and saves."""
        return self.rank == 0

    def rows(self, count: int) -> slice:
        """This rank's share of `count` rows: contiguous, as equal as can be, none of them twice.

        With fewer rows than ranks some shares are empty; such a rank takes part in each step with zeros.
        """
        start, stop = (count * r // self.world for r in (self.rank, self.rank + 1))
        return slice(start, stop)

    def sum(self, value: Number) -> Number:
        """The sum over all ranks; whole numbers exactly, others in float64."""
        return value

    def any(self, flag: bool) -> bool:
        """Whether the flag is set on some rank."""
        return flag

    def sum_gradients(self, model: nn.Module, *numbers: float) -> tuple[float, ...]:
        """Replace every gradient by its sum over all ranks: the one synchronization of a step.

        Each rank has divided its losses by the tokens that count on *all* ranks, so the sum is the gradient
        of the whole step, however unevenly the tokens are spread. A mean over ranks, as of
        `DistributedDataParallel`, would first need each loss multiplied by the number of ranks.

        Args:
            model: after all its micro-batches. A parameter without gradient counts as zeros, and stays
                without one where no rank has any.
            numbers: more values to add up on the same way, in float32.

        Returns:
            The sums of `numbers`.
        """
        return numbers

    def gather(self, value: Anything) -> list[Anything]:
        """The value of each rank, in the order of the ranks, on every rank; it must be picklable."""
        return [value]

    def from_main(self, value: Anything) -> Anything:
        """The value that rank 0 has, on every rank; it must be picklable."""
        return value

    def check_same(self, model: nn.Module, moment: str) -> None:
        """Compare the parameters of all ranks, bit for bit, through their hashes.

        Args:
            model: with the same parameters on every rank.
            moment: for the message, such as "after step 12".

        Raises:
            CourseError: on every rank, where a parameter differs; names it and the ranks.
        """

    def barrier(self) -> None:
        """Wait until every rank is here."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> Any:
        return None


def single() -> Ranks:
    """The world of one process."""
    return Ranks()
