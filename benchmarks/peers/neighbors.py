"""Training beside two busy processes: our command, and the same run with OpenMP as it comes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from benchmarks.peers.contenders import ADAMW, Contender, run
from benchmarks.peers.sections import table

BUSY = "while True: pass"
STEPS, SLOW_STEPS, ROUNDS = 60, 20, 3
DEFAULT_SPIN = "300000"  # turns that GNU's OpenMP spins for unless it is told otherwise


def neighbors(text: Path) -> str:
    ours = Contender("lmcourse, AdamW", options=ADAMW)
    rates: dict[str, list[float]] = {"alone": [], "beside": [], "default beside": []}
    for _ in range(ROUNDS):
        rates["alone"].append(run(ours, text, STEPS).tokens_per_second)
        with _busy(2):
            rates["beside"].append(run(ours, text, STEPS).tokens_per_second)
            rates["default beside"].append(run(ours, text, SLOW_STEPS, spin=DEFAULT_SPIN).tokens_per_second)
    middle = {name: median(each) for name, each in rates.items()}
    rows = [
        ("alone", f"{middle['alone']:,.0f}", ""),
        ("beside two busy processes", f"{middle['beside']:,.0f}", ""),
        (
            "the same with OpenMP's own spin count",
            f"{middle['default beside']:,.0f}",
            f"ours is {middle['beside'] / middle['default beside']:.1f} times as fast",
        ),
    ]
    words = f"{os.cpu_count()} cores; the neighbors are loops in Python, one thread each."
    return "\n\n".join(["## Busy neighbors", words, table(("", "tokens/s", ""), rows)])


@contextmanager
def _busy(count: int) -> Iterator[None]:
    processes = [subprocess.Popen((sys.executable, "-c", BUSY)) for _ in range(count)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()
