"""What each rank of the test of sharded models does; run as a script: sharded_cases.py RANK WORLD FOLDER."""

import sys
from pathlib import Path

import torch
import torch.distributed as dist
from rank_cases import new_model, uneven_rows
from torch import nn

from lmcourse.distributed import Ranks, join
from lmcourse.distributed.sharded import load_sharded, save_sharded, shard, synchronize_next_backward
from lmcourse.objective import masked_cross_entropy

ROWS = 5
PASSES = 3  # of the rank with most rows


def adamw(model: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.AdamW(model.named_parameters(), lr=0.01)


def sharded_step(ranks: Ranks, model: nn.Module, optimizer: torch.optim.Optimizer, seed: int) -> dict:
    """One step of `uneven_rows(ROWS, seed)`, one row a micro-batch; what each parameter's gradient was."""
    batch = uneven_rows(ROWS, seed)
    share = range(ROWS)[ranks.rows(ROWS)]
    for turn in range(PASSES):
        row = share[turn] if turn < len(share) else 0
        keep = batch.keep[[row]] & (turn < len(share))
        synchronize_next_backward(model, turn == PASSES - 1)
        masked_cross_entropy(
            model(batch.inputs[[row]]), batch.targets[[row]], keep, count=batch.count
        ).backward()
    gradients = [p.grad.full_tensor() for p in model.parameters()]
    norm = nn.utils.clip_grad_norm_(model.parameters(), 0.01).full_tensor()
    optimizer.step()
    optimizer.zero_grad()
    return {"gradients": gradients, "norm": norm}


def all_cases(ranks: Ranks, folder: Path) -> dict:
    model = new_model()
    whole = sum(p.numel() for p in model.parameters())
    shard(model, model.blocks, ranks)
    optimizer = adamw(model)
    kept = sum(p.to_local().numel() for p in model.parameters())
    result = sharded_step(ranks, model, optimizer, seed=0)
    save_sharded(folder / "pieces", model, optimizer)
    sharded_step(ranks, model, optimizer, seed=1)
    twice = [p.full_tensor().detach() for p in model.parameters()]
    load_sharded(folder / "pieces", model, optimizer)
    sharded_step(ranks, model, optimizer, seed=1)
    again = [p.full_tensor().detach() for p in model.parameters()]
    return result | {"share": kept / whole, "twice": twice, "again": again}


def main(rank: int, world: int, folder: Path) -> None:
    torch.set_num_threads(1)
    with join(dist.FileStore(str(folder / "store"), world), rank, world, patience=60) as ranks:
        results = all_cases(ranks, folder)
    torch.save(results, folder / f"rank{rank}.pt")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))
