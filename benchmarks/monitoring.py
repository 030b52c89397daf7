"""What the monitor costs at its default interval: pairs of stretches of the same training, with and without.

Prints a table and writes benchmarks/monitoring.md:

    python -m benchmarks.monitoring
"""

from __future__ import annotations

import os
import platform
import statistics
import tempfile
import time
from pathlib import Path

import psutil
import torch

from lmcourse.distributed import single
from lmcourse.monitor import Monitor, SpikeRule, SpikeSettings
from lmcourse.monitor.monitor import EVERY
from lmcourse.trainer import TrainConfig, configure
from lmcourse.trainer.data import build_data
from lmcourse.trainer.planned import batches_of
from lmcourse.trainer.state import new_state
from lmcourse.trainer.step import training_step
from lmcourse.trainer.watch import Watch

OUTPUT = Path(__file__).with_suffix(".md")
NEVER = 10**9
PAIRS = 8  # stretches of EVERY steps each, so that each watched one has exactly one table
SHAPES = {
    "stories (4 x 256 tokens, width 80, 2 layers)": configure(
        "stories", corpus_tokens=60_000, precision="fp32"
    ),
    "markov (16 x 64 tokens, width 32, 2 layers)": configure(
        "markov", corpus_tokens=60_000, precision="fp32"
    ),
    "64 x 64 tokens, width 128, 4 layers": configure(
        "markov", corpus_tokens=60_000, precision="fp32", batch=64, width=128, layers=4, heads=4
    ),
}


def measure(config: TrainConfig, folder: Path) -> tuple[float, float, float]:
    """Median milliseconds of a step without the monitor, with it, and median extra share over the pairs."""
    data = build_data(config)
    state = new_state(config, data)
    batch_at, _ = batches_of(config, data)
    state.model.train()
    number = 0

    def stretch(every: int) -> float:
        nonlocal number
        rule = SpikeRule(SpikeSettings(enabled=False))
        watch = Watch(state.model, state.optimizer, rule, Monitor(state.model, every), folder, config.clip)
        seconds = 0.0
        for step in range(2, EVERY + 2):  # from 2: the table of the first step is one of a run, not of 20
            micro_batches = [batch_at(number)]
            number += 1
            began = time.perf_counter()
            watch.begin(step, number, micro_batches)
            training_step(
                state.model, state.optimizer, micro_batches, 0.1, config.clip, ranks=single(), watch=watch
            )
            seconds += time.perf_counter() - began
        return 1000 * seconds / EVERY

    stretch(NEVER)
    pairs = [(stretch(NEVER), stretch(EVERY)) for _ in range(PAIRS)]
    without, watched = (statistics.median(times) for times in zip(*pairs, strict=True))
    return without, watched, statistics.median(b / a - 1 for a, b in pairs)


def main() -> None:
    torch.set_num_threads(min(2, torch.get_num_threads()))
    lines = [
        "# What monitoring costs",
        "",
        f"Measured on {platform.machine()} with {psutil.cpu_count()} cores, {torch.get_num_threads()} "
        f"threads, load {os.getloadavg()[0]:.1f} at the start; Python {platform.python_version()}, torch "
        f"{torch.__version__}. A table every {EVERY} steps, the default; {PAIRS} pairs of stretches of "
        f"{EVERY} steps, taken in turn from the same training; medians.",
        "",
        "| steps of | without, ms a step | with, ms a step | extra |",
        "| --- | --- | --- | --- |",
    ]
    with tempfile.TemporaryDirectory() as folder:
        for name, config in SHAPES.items():
            without, watched, extra = measure(config, Path(folder))
            lines.append(f"| {name} | {without:.1f} | {watched:.1f} | {extra:+.1%} |")
    text = "\n".join(lines) + "\n"
    print(text)
    OUTPUT.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
