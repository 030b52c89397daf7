"""Several processes as one: data parallelism without a wrapper around the model.

`torch.nn.parallel.DistributedDataParallel` sends gradients in buckets while the backward pass still computes
the others, which hides the transfer where the network is slow and the model large. Here one flat buffer goes
after the last micro-batch. At the sizes of this course the transfer is short, and in exchange the model stays
what it is: no prefix in the names of a checkpoint, no flag to set around micro-batches, no bucket that waits
for a gradient which an empty rank will never have.
"""

from __future__ import annotations

import gc
import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from lmcourse.distributed.ranks import Anything, Number, Ranks
from lmcourse.errors import CourseError


class ProcessRanks(Ranks):
    """One of many processes in torch's default process group.

    As a context manager it makes the failure of one rank the end of all of them: the rank that fails first
    says why, those that notice it end with status 2 and say nothing.
    """

    def __init__(self, store: dist.Store, device: torch.device) -> None:
        """
        Args:
            store: shared by the ranks, to agree on who speaks when something fails.
            device: where values are put that travel.
        """
        self.rank, self.world = dist.get_rank(), dist.get_world_size()
        self._store, self._device = store, device

    def sum(self, value: Number) -> Number:
        total = torch.tensor(value, dtype=torch.int64 if isinstance(value, int) else torch.float64)
        total = total.to(self._device)
        self._together(dist.all_reduce, total)
        return total.item()

    def any(self, flag: bool) -> bool:
        return self.sum(int(flag)) > 0

    def sum_gradients(self, model: nn.Module, *numbers: float) -> tuple[float, ...]:
        parameters = [p for p in model.parameters() if p.requires_grad]
        wide = torch.float64 if any(p.dtype == torch.float64 for p in parameters) else torch.float32
        extra = [*numbers, *(float(p.grad is not None) for p in parameters)]
        parts = [torch.zeros_like(p) if p.grad is None else p.grad for p in parameters]
        flat = torch.cat(
            [
                *(part.reshape(-1).to(wide) for part in parts),
                torch.tensor(extra, dtype=wide).to(parts[0].device),
            ]
        )
        self._together(dist.all_reduce, flat)
        *gradients, rest = flat.split([*(p.numel() for p in parameters), len(extra)])
        sums = rest.tolist()
        for parameter, gradient, present in zip(parameters, gradients, sums[len(numbers) :], strict=True):
            # A view of the buffer where the type allows it; nothing is copied back.
            parameter.grad = gradient.view_as(parameter).to(parameter.dtype) if present else None
        return tuple(sums[: len(numbers)])

    def gather(self, value: Anything) -> list[Anything]:
        values: list[Any] = [None] * self.world
        self._together(dist.all_gather_object, values, value)
        return values

    def from_main(self, value: Anything) -> Anything:
        box = [value if self.is_main else None]
        self._together(dist.broadcast_object_list, box, src=0, device=self._device)
        return box[0]

    def check_same(self, model: nn.Module, moment: str) -> None:
        hashes = self.gather([_digest(p) for p in model.parameters()])
        for index, (name, _) in enumerate(model.named_parameters()):
            different = [str(r) for r in range(self.world) if hashes[r][index] != hashes[0][index]]
            if different:
                raise CourseError(
                    f"{moment}: the copies of the model differ, {name} on rank {', '.join(different)} is not "
                    "that of rank 0; nothing was saved, go on from the last checkpoint"
                )

    def barrier(self) -> None:
        self.sum(0)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            gc.collect()  # a sharded model that nobody uses still holds the group, by reference cycles
            dist.destroy_process_group()
            return
        # The group is left as it is: to take it down, the other ranks would have to be there.
        if not self._first_to_fail():
            raise SystemExit(2)
        if isinstance(error, CourseError):
            raise CourseError(f"rank {self.rank} of {self.world}: {error}") from None

    def _first_to_fail(self) -> bool:
        try:
            return self._store.add("failures", 1) == 1
        except RuntimeError:  # the store went down with the rank that kept it
            return True

    def _together(self, collective: Callable[..., object], *arguments: object, **options: object) -> None:
        with _says_who_is_missing():
            collective(*arguments, **options)


@contextmanager
def _says_who_is_missing() -> Iterator[None]:
    """Turn the many errors of a broken connection into one line.

    Raises:
        CourseError: another process has ended, or has not answered in time.
    """
    try:
        yield
    except RuntimeError as error:  # torch.distributed.DistError is one
        if isinstance(error, torch.OutOfMemoryError):
            raise
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise CourseError(
            f"another process of this run has ended or does not answer ({reason[-120:]}); "
            "go on from the last checkpoint"
        ) from None


def _digest(parameter: Tensor) -> str:
    content = parameter.detach().reshape(-1).cpu().contiguous().view(torch.uint8).numpy()
    return hashlib.sha256(content.data).hexdigest()
