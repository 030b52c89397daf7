"""Joining the other processes of a run, as a launcher such as torchrun describes them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import timedelta

import torch

from lmcourse.distributed.ranks import Ranks, single
from lmcourse.errors import CourseError

PATIENCE = 600  # seconds; longer than any rank evaluates or saves while the others wait


def from_environment(environment: Mapping[str, str] | None = None, patience: float = PATIENCE) -> Ranks:
    """This process among those that torchrun started; without torchrun, the world of one.

    Tensors on a processor travel through gloo, those on GPUs through NCCL, and each process takes the GPU of
    its local rank as the current one.

    Args:
        environment: None takes the process's own; RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT.
        patience: seconds to wait for another rank before giving up.

    Raises:
        CourseError: a variable is missing or no number, or the other processes do not come.
    """
    environment = os.environ if environment is None else environment
    if "WORLD_SIZE" not in environment:
        return single()
    rank, world, local = (_number(environment, name) for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK"))
    if not 0 <= rank < world:
        raise CourseError(f"RANK: expected 0 to {world - 1} (WORLD_SIZE {world}), got {rank}")
    if world == 1:
        return single()

    import torch.distributed as dist

    if torch.cuda.is_available():
        if local >= torch.cuda.device_count():
            raise CourseError(
                f"LOCAL_RANK: process {local} has no GPU of its own, this machine has "
                f"{torch.cuda.device_count()}; start as many processes as there are GPUs"
            )
        torch.cuda.set_device(local)
    try:
        store, rank, world = next(dist.rendezvous("env://", rank, world, timeout=timedelta(seconds=patience)))
    except (ValueError, RuntimeError) as error:
        raise CourseError(f"the other processes do not come ({str(error).splitlines()[0]})") from None
    return join(store, rank, world, patience)


def join(store: torch.distributed.Store, rank: int, world: int, patience: float = PATIENCE) -> Ranks:
    """This process as one of `world` that share a store (a file or a server, see `torch.distributed`)."""
    import torch.distributed as dist

    from lmcourse.distributed.processes import ProcessRanks

    gpu = torch.cuda.is_available()
    store.set_timeout(timedelta(seconds=patience))
    dist.init_process_group(
        "cpu:gloo,cuda:nccl" if gpu else "gloo",
        store=dist.PrefixStore("lmcourse", store),
        rank=rank,
        world_size=world,
        timeout=timedelta(seconds=patience),
    )
    return ProcessRanks(store, torch.device("cuda" if gpu else "cpu"))


def _number(environment: Mapping[str, str], name: str) -> int:
    text = environment.get(name, "")
    if not text.isdecimal():
        raise CourseError(
            f"{name}: expected a whole number from the launcher, got {text!r}; start with torchrun"
        )
    return int(text)
