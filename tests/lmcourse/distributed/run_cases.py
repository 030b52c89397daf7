"""Whole runs on each rank; run as a script: run_cases.py RANK WORLD FOLDER."""

import os
import sys
from pathlib import Path

import torch
import torch.distributed as dist

from lmcourse.distributed import Ranks, join
from lmcourse.trainer import configure, start_run

SHARED = {
    "corpus_tokens": 4000,
    "context": 24,
    "layers": 1,
    "width": 16,
    "heads": 2,
    "steps": 8,
    "precision": "fp32",
    "evaluate_every": 4,
    "save_every": 4,
}
CASES = {
    "uneven rows, micro-batches": {"batch": 5, "micro_batches": 2},
    "a rank without rows": {"batch": 1},
    "muon, z-loss": {"batch": 3, "optimizer": "muon", "newton_schulz": "fp32", "z_loss": 1e-3},
    "windows": {"batch": 4, "batches": "windows", "mask": False},
}


def all_runs(ranks: Ranks, folder: Path) -> dict:
    """What each run ends with, by case."""
    results = {}
    with open(os.devnull, "w") as nowhere:
        for number, (name, changes) in enumerate(CASES.items()):
            config = configure("regimes", **(SHARED | changes))
            run = start_run(config, folder / f"run{ranks.world}-{number}", stream=nowhere, ranks=ranks)
            results[name] = {
                "weights": run.state.model.state_dict(),
                "tokens": run.state.tokens_seen,
                "validation": run.validation.loss,
            }
    return results


def main(rank: int, world: int, folder: Path) -> None:
    torch.set_num_threads(1)
    with join(dist.FileStore(str(folder / "store"), world), rank, world, patience=60) as ranks:
        results = all_runs(ranks, folder)
    torch.save(results, folder / f"rank{rank}.pt")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))
