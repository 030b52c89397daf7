"""How long people wait: the three parts of `make demo`, and each solution notebook from top to bottom.

Each command runs as a process of its own in fresh folders. Prints a table and writes benchmarks/waiting.md:

    python -m benchmarks.waiting
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil
import torch

from lmcourse.exercises import WEEKS

ROOT = Path(__file__).resolve().parents[1]
OUTPUT = Path(__file__).with_suffix(".md")
LMCOURSE = (sys.executable, "-m", "lmcourse.cli.main")
AUTOGRADE = (sys.executable, "-m", "autograde.cli.main")


def commands(folder: Path) -> dict[str, tuple[str, ...]]:
    course = ("--course", str(folder / "course"))
    class_w1 = ("W1", "--submissions", "data/sample_class/W1", "--jobs", "2", "--time-limit", "10")
    demo = {
        "demo: train on stories": (
            *LMCOURSE,
            "train",
            "--corpus",
            "stories",
            "--threads",
            "1",
            "--out",
            str(folder / "run"),
        ),
        "demo: build the notebooks": (*AUTOGRADE, "build", *course),
        "demo: grade the sample class": (
            *(*AUTOGRADE, "grade", *class_w1, *course),
            *("--out", str(folder / "grades")),
        ),
    }
    return demo | {f"restart and run all, {week.id}": (*AUTOGRADE, "execute", week.id) for week in WEEKS}


def measure(command: tuple[str, ...]) -> tuple[float, float]:
    """Seconds on the wall, and of processor time in the process and what it started.

    Raises:
        CalledProcessError: the command failed, so its time means nothing.
    """
    before, began = os.times(), time.perf_counter()
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    wall, after = time.perf_counter() - began, os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return wall, used


def main() -> None:
    machine = (
        f"Measured on {platform.machine()} with {psutil.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at "
        f"the start; Python {platform.python_version()}, torch {torch.__version__}."
    )
    lines = [
        "# How long people wait",
        "",
        machine,
        "",
        "| what | wall, s | processor, s |",
        "| --- | --- | --- |",
    ]
    with tempfile.TemporaryDirectory() as folder:
        for name, command in commands(Path(folder)).items():
            wall, used = measure(command)
            lines.append(f"| {name} | {wall:.1f} | {used:.1f} |")
            print(lines[-1], flush=True)
    OUTPUT.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
