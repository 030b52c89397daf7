"""Memory while a corpus is prepared and trained from: a small corpus and a large one, in one run (Linux).

Makes both corpora by tiling a text, with a number in each document so that no two are equal, in a temporary
folder that is removed afterwards. Prints a table and writes benchmarks/data_memory.md:

    python -m benchmarks.data_memory --text datasets/shakespeare/input.txt
    python -m benchmarks.data_memory --text a.txt --large 100 --steps 50     # a trial; writes no table
"""

from __future__ import annotations

import argparse
import importlib.metadata
import io
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from itertools import count
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
OUTPUT = Path(__file__).with_suffix(".md")
LIMIT = 50  # MB that training from the large corpus may need more than from the small one
SMALL, LARGE = 20, 2000  # MB of JSON Lines
SHARD = 250  # MB
SPEECHES = 12  # in a document, about 1,900 characters
STEPS = 300
BATCHES = ("windows", "documents")


def make_corpus(text: str, megabytes: int, folder: Path) -> None:
    """JSON Lines with a few speeches of the text and a number in each document."""
    speeches = [speech for speech in text.split("\n\n") if speech.strip()]
    scenes = ["\n\n".join(speeches[n : n + SPEECHES]) for n in range(len(speeches))]
    numbers = count()
    for shard in range(-(-megabytes // SHARD)):
        left = min(SHARD, megabytes - shard * SHARD) * 1_000_000
        with open(folder / f"shard_{shard:03d}.jsonl", "w", encoding="utf-8") as file:
            while left > 0:
                n = next(numbers)
                left -= file.write(json.dumps({"text": f"{n}\n{scenes[n % len(scenes)]}"}) + "\n")


def peak_megabytes() -> float:
    """Most resident memory of this process so far; what its parent had does not count."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1000


def prepare_child(corpus: str, folder: str) -> dict[str, Any]:
    from lmcourse.data.prepare import Recipe, prepare

    data = prepare([corpus], Path(folder), Recipe(tokenizer="char"), stream=io.StringIO())
    return {"tokens": len(data.train), "documents": data.train.documents}


def train_child(data: str, folder: str, batches: str, steps: str) -> dict[str, Any]:
    import torch

    from lmcourse.trainer import configure, start_run

    torch.set_num_threads(1)
    settings = {"batch": 64, "context": 64, "layers": 1, "heads": 2, "width": 32, "batches": batches}
    config = configure("prepared", data=data, steps=1_000_000, precision="fp32", **settings)
    start_run(config, Path(folder), stop_at=int(steps), stream=io.StringIO())
    return {}


CHILDREN = {"prepare": prepare_child, "train": train_child}


def measured(*arguments: str) -> dict[str, Any]:
    """What a fresh process found, its peak memory and its seconds."""
    command = [sys.executable, "-m", "benchmarks.data_memory", "--child", *arguments]
    began = time.perf_counter()
    output = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout
    return {**json.loads(output), "seconds": time.perf_counter() - began}


def measure(text: str, megabytes: int, steps: int, folder: Path) -> dict[str, Any]:
    """Figures of one corpus; its files are removed."""
    with tempfile.TemporaryDirectory(dir=folder) as place:
        corpus, data = Path(place) / "corpus", str(Path(place) / "data")
        corpus.mkdir()
        make_corpus(text, megabytes, corpus)
        figures = {"prepare": measured("prepare", str(corpus), data)}
        for batches in BATCHES:
            run = str(Path(place) / f"run-{batches}")
            figures[batches] = measured("train", data, run, batches, str(steps))
    return figures


def table(small: dict[str, Any], large: dict[str, Any], sizes: tuple[int, int], steps: int) -> list[str]:
    one, two = small["prepare"], large["prepare"]
    lines = [
        "# Memory on a small and on a large corpus",
        "",
        f"Measured on {platform.machine()} with {os.cpu_count()} cores; Python {platform.python_version()}, "
        f"torch {importlib.metadata.version('torch')}. Most resident memory of a fresh process in MB; a "
        f"small model, {steps} steps of 64 rows of 64 characters, one thread.",
        "",
        f"| | {sizes[0]:,} MB | {sizes[1]:,} MB | difference |",
        "| --- | --- | --- | --- |",
        f"| characters in the training part | {one['tokens']:,} | {two['tokens']:,} | |",
        f"| documents in it | {one['documents']:,} | {two['documents']:,} | |",
    ]
    names = {"prepare": "prepare", "windows": "train, random windows", "documents": "train, whole documents"}
    for key, name in names.items():
        low, high = small[key]["peak"], large[key]["peak"]
        lines.append(f"| {name}: memory | {low:,.0f} | {high:,.0f} | {high - low:+,.0f} |")
    lines.append(f"| prepare: seconds, one process | {one['seconds']:,.1f} | {two['seconds']:,.1f} | |")
    most = max(large[batches]["peak"] - small[batches]["peak"] for batches in BATCHES)
    verdict = "within" if most <= LIMIT else "beyond"
    return [*lines, "", f"Training from the large corpus is {verdict} the {LIMIT} MB that it may need more."]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--text", type=Path, help="tiny Shakespeare (lmcourse data get shakespeare)")
    parser.add_argument("--small", type=int, default=SMALL, help="megabytes")
    parser.add_argument("--large", type=int, default=LARGE, help="megabytes")
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()), help="for the corpora")
    parser.add_argument("--child", nargs="+", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        found = CHILDREN[args.child[0]](*args.child[1:])
        print(json.dumps({**found, "peak": peak_megabytes()}))
        return
    if args.text is None:
        parser.error("--text: name a text to tile")
    text = args.text.read_text(encoding="utf-8")
    small, large = (measure(text, size, args.steps, args.folder) for size in (args.small, args.large))
    lines = table(small, large, (args.small, args.large), args.steps)
    print("\n".join(lines))
    if (args.small, args.large, args.steps) == (SMALL, LARGE, STEPS):
        OUTPUT.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
