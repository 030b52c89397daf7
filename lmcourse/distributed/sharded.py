"""A model in pieces: each rank keeps a part of every parameter, its gradient and its optimizer state.

This is the way to models that do not fit on one GPU (FSDP2, `torch.distributed.fsdp.fully_shard`; the idea is
ZeRO stage 3, Rajbhandari et al. 2020, arXiv:1910.02054). A block's parameters are collected just before it
computes and dropped after it, so a rank holds 1/world of the model and one whole block. Names stay those of
the plain model, so a checkpoint in pieces loads into a plain model on one process, and the other way round.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import torch
import torch.distributed.checkpoint as dcp
from torch import nn
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FSDPModule, fully_shard

from lmcourse.distributed.ranks import Ranks
from lmcourse.errors import CourseError


def shard(model: nn.Module, blocks: Iterable[nn.Module], ranks: Ranks, device: str = "cpu") -> nn.Module:
    """Split a model over all ranks, in place; make its optimizer after that.

    Gradients are summed, not averaged: as in `Ranks.sum_gradients`, each rank divides its losses by the
    tokens of all ranks. Every rank has to compute as many micro-batches as the others, since each collects
    the blocks from all; one without rows of its own takes any row and counts none of its targets.

    The model holds on to the process group, so let go of it before `ranks` closes: return from the function
    that made it. A group that is still held when Python ends can abort the process.

    Args:
        model: the same weights on every rank.
        blocks: modules of the model that are collected one at a time, such as `model.blocks`.
        ranks: more than one.
        device: "cpu" or "cuda".

    Raises:
        CourseError: one process alone has nobody to share with.
    """
    if ranks.world == 1:
        raise CourseError("ranks: a model is split over at least 2 processes, got 1; start with torchrun")
    mesh = init_device_mesh(device, (ranks.world,))
    for block in blocks:
        fully_shard(block, mesh=mesh)
    fully_shard(model, mesh=mesh)
    for module in model.modules():
        if isinstance(module, FSDPModule):
            module.set_gradient_divide_factor(
                1.0
            )  # set for each module; the root's does not reach the blocks
    return model


def synchronize_next_backward(model: nn.Module, last: bool) -> None:
    """Say before each micro-batch whether it is the step's last: only then gradients are summed and split."""
    model.set_requires_gradient_sync(last)


def save_sharded(folder: Path, model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    """Write model and optimizer, each rank its own pieces, and at last .metadata, without which it is none.

    Raises:
        CourseError: the disk refuses.
    """
    try:
        dcp.save(_state(model, optimizer), checkpoint_id=folder)
    except (OSError, dcp.CheckpointException) as error:
        raise CourseError(f"{folder}: the checkpoint cannot be written ({_first_line(error)})") from None


def load_sharded(folder: Path, model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    """Read what `save_sharded` wrote, into a model split over any number of ranks or not split at all.

    Args:
        folder: of the checkpoint.
        model, optimizer: of the same shape as the saved ones; replaced in place.

    Raises:
        CourseError: no checkpoint there, or one of another model.
    """
    if not (folder / ".metadata").exists():
        raise CourseError(f"{folder}: no complete checkpoint in pieces (it has no file .metadata)")
    state = _state(model, optimizer)
    try:
        dcp.load(state, checkpoint_id=folder)
    except (OSError, ValueError, RuntimeError, KeyError, dcp.CheckpointException) as error:
        raise CourseError(f"{folder}: does not fit this model ({_first_line(error)})") from None
    set_state_dict(model, optimizer, model_state_dict=state["model"], optim_state_dict=state["optimizer"])


def _state(model: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, object]:
    weights, moments = get_state_dict(model, optimizer)
    return {"model": weights, "optimizer": moments}


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
