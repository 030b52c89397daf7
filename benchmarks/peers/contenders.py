"""Who takes part, and one run of each as a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OURS = (sys.executable, "-m", "lmcourse.cli.main", "train")
ADAMW = ("--optimizer", "adamw", "--lr", "4e-3")


@dataclass(frozen=True)
class Result:
    """
    Attributes:
        tokens_per_second: by the median step, without the first ten.
        start_up: seconds from the start of the process to the first step.
        first_step: seconds, with the compiler's work.
        seconds: from the start of the process to the end of training; of ours to the end of the process, with
            its last evaluation, checkpoint and sample.
        loss: nats a token over the whole validation text.
    """

    tokens_per_second: float
    start_up: float
    first_step: float
    seconds: float
    parameters: int
    loss: float


@dataclass(frozen=True)
class Contender:
    """
    Attributes:
        module: of a peer; "" is this project.
        options: of our command.
        own: whether it runs in the peers' environment.
    """

    name: str
    module: str = ""
    options: tuple[str, ...] = ()
    compiled: bool = False
    own: bool = False


def contenders(python: Path | None) -> list[Contender]:
    """All that can run here; without `python` those whose packages are needed are left out."""
    everybody = [
        Contender("nanoGPT's recipe", "benchmarks.peers.nanogpt_recipe"),
        Contender("lmcourse, AdamW", options=ADAMW),
        Contender("lmcourse, Muon"),
        Contender("Hugging Face Trainer, bf16", "benchmarks.peers.hf_trainer", own=True),
        Contender("nanoGPT's recipe, compiled", "benchmarks.peers.nanogpt_recipe", compiled=True),
        Contender("litgpt, bf16, compiled", "benchmarks.peers.litgpt_package", compiled=True, own=True),
        Contender("lmcourse, AdamW, compiled", options=ADAMW, compiled=True),
        Contender("lmcourse, Muon, compiled", compiled=True),
    ]
    return [c for c in everybody if python or not c.own]


def run(
    contender: Contender,
    text: Path,
    steps: int,
    rows: int = 64,
    seed: int = 0,
    python: Path | None = None,
    cache: Path | None = None,
    spin: str | None = None,
) -> Result:
    """Train once.

    Args:
        python: of the peers' environment.
        cache: of compiled code; what is in it makes a start warm.
        spin: turns that waiting threads spin for, in the place of what our command chooses.

    Raises:
        CalledProcessError: the contender failed; its own words are shown.
    """
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("OMP_", "GOMP_"))}
    if spin:
        environment["GOMP_SPINCOUNT"] = spin
    if cache:
        environment["TORCHINDUCTOR_CACHE_DIR"] = str(cache)
    if not contender.module:
        return _run_ours(contender, text, steps, rows, seed, environment)
    interpreter = str(python) if contender.own else sys.executable
    command = (
        *(interpreter, "-m", contender.module, "--text", str(text), "--steps", str(steps)),
        *("--rows", str(rows), "--seed", str(seed), "--began", str(time.time())),
        *(("--compile",) if contender.compiled else ()),
    )
    done = subprocess.run(command, cwd=ROOT, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    return Result(**json.loads(done.stdout.strip().splitlines()[-1]))


def _run_ours(
    contender: Contender, text: Path, steps: int, rows: int, seed: int, environment: dict[str, str]
) -> Result:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "run"
        command = (
            *(*OURS, "--text", str(text), "--steps", str(steps), "--batch", str(rows), "--seed", str(seed)),
            *("--evaluate-every", str(steps), "--save-every", str(steps), "--out", str(folder)),
            *("--compile", "on" if contender.compiled else "off", *contender.options),
        )
        began = time.time()
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL)
        first_line = _wait_for_line(folder / "log.jsonl", process)
        if process.wait():
            raise subprocess.CalledProcessError(process.returncode, command)
        seconds = time.time() - began
        records = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
        return Result(
            tokens_per_second=_median_speed(records),
            start_up=first_line - began - records[0]["seconds"],
            first_step=records[0]["seconds"],
            seconds=seconds,
            parameters=_parameters(folder),
            loss=records[-1]["validation_loss"],
        )


def _wait_for_line(path: Path, process: subprocess.Popen[bytes]) -> float:
    """When the first step was logged."""
    while process.poll() is None:
        if path.exists() and path.stat().st_size:
            break
        threading.Event().wait(0.02)
    return time.time()


def _median_speed(records: list[dict[str, float]]) -> float:
    rates = sorted(record["tokens"] / record["seconds"] for record in records[10:] or records)
    return rates[len(rates) // 2]


def _parameters(folder: Path) -> int:
    from lmcourse.trainer.loop import load_model

    model, _ = load_model(folder, print)
    return sum(p.numel() for p in model.parameters())
