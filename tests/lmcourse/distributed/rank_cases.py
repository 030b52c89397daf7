"""What each rank of the test does; run as a script: rank_cases.py RANK WORLD FOLDER."""

import sys
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn

from lmcourse.distributed import Ranks, join, single
from lmcourse.errors import CourseError
from lmcourse.model import Transformer, TransformerConfig
from lmcourse.objective import masked_cross_entropy
from lmcourse.packing import Batch

V, T = 11, 7


def new_model() -> Transformer:
    """In float64: what differs is then the arithmetic, not its rounding."""
    return Transformer(TransformerConfig(V, context=T, layers=1, heads=2, width=12), seed=3).double()


def uneven_rows(rows: int, seed: int = 0) -> Batch:
    """Row r counts about 1/(r+1) of its targets, the last row of several none."""
    generator = torch.Generator().manual_seed(seed)
    table = torch.randint(V, (rows, T + 1), generator=generator)
    share = 1 / (1 + torch.arange(rows)[:, None])
    keep = torch.rand(rows, T, generator=generator) < share
    keep[0, 0] = True
    if rows > 1:
        keep[-1] = False
    return Batch(table[:, :-1], table[:, 1:], keep)


def gradients(ranks: Ranks, model: nn.Module, batch: Batch, micro_rows: int = 1) -> float:
    """Gradients of one step left in the model; returns its loss over all ranks."""
    share = ranks.rows(len(batch.inputs))
    total = ranks.sum(int(batch.keep[share].sum()))
    loss = 0.0
    for inputs, targets, keep in zip(
        *(t[share].split(micro_rows) for t in (batch.inputs, batch.targets, batch.keep)), strict=True
    ):
        if len(inputs):
            part = masked_cross_entropy(model(inputs), targets, keep, count=total)
            part.backward()
            loss += part.item()
    (loss,) = ranks.sum_gradients(model, loss)
    return loss


def gradient_case(ranks: Ranks, rows: int) -> dict:
    """Gradients, their norm before clipping and after it, and how many collectives the step took."""
    model = new_model()
    calls = []
    real = dist.all_reduce
    dist.all_reduce = lambda tensor, *a, **k: (calls.append(tensor.numel()), real(tensor, *a, **k))[1]
    try:
        loss = gradients(ranks, model, uneven_rows(rows))
    finally:
        dist.all_reduce = real
    before = [p.grad.clone() for p in model.parameters()]
    norm = nn.utils.clip_grad_norm_(model.parameters(), 0.01)
    after = [p.grad.clone() for p in model.parameters()]
    return {"loss": loss, "gradients": before, "norm": norm, "clipped": after, "calls": calls}


def frozen_case(ranks: Ranks) -> dict:
    """One parameter that nothing uses, one that only rank 0 uses, one that is frozen; bfloat16."""
    model = nn.ParameterList(nn.Parameter(torch.ones(2, dtype=torch.bfloat16)) for _ in range(3))
    model[2].requires_grad_(False)
    if ranks.is_main:
        (model[1] * 3).sum().backward()
    ranks.sum_gradients(model)
    return {"grads": [p.grad for p in model]}


def drift_case(ranks: Ranks) -> dict:
    model = new_model()
    ranks.check_same(model, "after step 1")
    with torch.no_grad():
        if ranks.rank == 1:
            model.blocks[0].mlp.up.weight[0, 0] += 1e-12
    try:
        ranks.check_same(model, "after step 2")
    except CourseError as error:
        return {"error": str(error)}
    return {"error": ""}


def exchange_case(ranks: Ranks) -> dict:
    ranks.barrier()
    return {
        "big": ranks.sum(2**53 + ranks.rank),
        "float": ranks.sum(0.1 + ranks.rank),
        "any": [ranks.any(False), ranks.any(ranks.rank == 1), ranks.any(True)],
        "gather": ranks.gather({"rank": ranks.rank}),
        "main": ranks.from_main(["a", ranks.rank]),
        "rows": [(ranks.rows(n).start, ranks.rows(n).stop) for n in (0, 1, 2, 5)],
        "is_main": ranks.is_main,
    }


def all_cases(ranks: Ranks) -> dict:
    return {
        "even": gradient_case(ranks, 4),
        "odd": gradient_case(ranks, 5),
        "empty rank": gradient_case(ranks, 1),
        "frozen": frozen_case(ranks),
        "drift": drift_case(ranks),
        "exchange": exchange_case(ranks),
    }


def main(rank: int, world: int, folder: Path) -> None:
    torch.set_num_threads(1)
    store = dist.FileStore(str(folder / "store"), world)
    with join(store, rank, world, patience=60) if world > 1 else single() as ranks:
        torch.save(all_cases(ranks), folder / f"rank{rank}.pt")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))
