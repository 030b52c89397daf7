"""The runs of the resume matrix; as a script, one stretch of each: resume_cases.py PART RANK WORLD FOLDER."""

from __future__ import annotations

import io
import sys
from itertools import product
from pathlib import Path

import torch
import torch.distributed as dist
from small_run import small_config

from lmcourse.distributed import Ranks, join, single
from lmcourse.packing import document_rows
from lmcourse.trainer import TrainConfig, resume_run, start_run
from lmcourse.trainer.data import build_data

STEPS = 20
STOPS = (10,)
PARTS = ("straight and first", "second", "third")


def matrix() -> dict[str, dict]:
    """Optimizer x precision x loader workers."""
    return {
        f"{optimizer} {precision} {workers}": {
            "optimizer": optimizer,
            "precision": precision,
            "loader_workers": workers,
            "newton_schulz": "fp32",
        }
        for optimizer, precision, workers in product(("adamw", "muon"), ("fp32", "bf16", "fp16"), (0, 2))
    }


def variants() -> dict[str, tuple[dict, tuple[int, ...]]]:
    """Settings, and the steps at which the run is stopped and goes on in a new process."""
    return {
        "an epoch ends between": ({"corpus_tokens": 1200}, STOPS),
        "stopped at the end of an epoch": ({"batch": rows_of_an_epoch(), "context": 24}, STOPS),
        "rows get longer at the stop": ({"lengthen": 10, "shortest": 6}, STOPS),
        "rows get longer between": ({"lengthen": 15, "shortest": 6, "ramp": 12, "first_rows": 2}, STOPS),
        "inside the decay": ({"schedule": "wsd", "decay_share": 0.6, "lr_floor": 0.0}, STOPS),
        "twice in a row": ({"z_loss": 1e-3}, (6, 13)),
        "momentum twice": ({"optimizer": "momentum", "lr": 0.1, "precision": "fp16"}, (5, 10)),
        "before the first checkpoint": ({"save_every": 100}, (1, 2)),
        "tied, windows, no mask": ({"tied": True, "batches": "windows", "mask": False}, STOPS),
        "never evaluated": ({"evaluate_every": 1000}, STOPS),
        "always evaluated": ({"evaluate_every": 1}, STOPS),
    }


def rows_of_an_epoch() -> int:
    data = build_data(small_config())
    return len(document_rows(data.train, data.eos, 24))


def cases() -> dict[str, tuple[TrainConfig, tuple[int, ...]]]:
    settings = {**{name: (changes, STOPS) for name, changes in matrix().items()}, **variants()}
    return {
        name: (small_config(steps=STEPS, **changes), stops) for name, (changes, stops) in settings.items()
    }


def run_part(part: str, ranks: Ranks, folder: Path) -> None:
    """What belongs to one process: the straight runs, or the next stretch of the stopped ones."""
    for name, (config, stops) in cases().items():
        stopped, place = folder / "stopped" / name, PARTS.index(part)
        stream = io.StringIO()
        if place == 0:
            start_run(config, folder / "straight" / name, stream=stream, ranks=ranks)
            start_run(config, stopped, stop_at=stops[0], stream=stream, ranks=ranks)
        elif place <= len(stops):
            resume_run(stopped, stop_at=(*stops, None)[place], stream=stream, ranks=ranks)


def main(part: str, rank: int, world: int, folder: Path) -> None:
    torch.set_num_threads(1)
    if world == 1:
        run_part(part, single(), folder)
        return
    store = dist.FileStore(str(folder / f"store {part}"), world)
    with join(store, rank, world, patience=60) as ranks:
        run_part(part, ranks, folder)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]))
