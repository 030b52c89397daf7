"""The parts of the benchmark in which contenders meet: speed, equal time, equal tokens."""

from __future__ import annotations

import tempfile
from collections import defaultdict
from pathlib import Path
from statistics import median

import torch

from benchmarks.peers.contenders import ADAMW, Contender, Result, contenders, run
from benchmarks.peers.work import CONTEXT
from lmcourse.model import Transformer, TransformerConfig
from lmcourse.monitor.peak import peak_of
from lmcourse.monitor.speed import flops_per_token
from lmcourse.precision import choose_precision

ROUNDS = 3
STEPS = 150  # of a run for speed
BASE = "nanoGPT's recipe"
CALIBRATE = (60, 180)  # steps of two runs, whose difference is the time of a step
RESERVE = 0.96  # share of the time that a run is planned for


def table(head: tuple[str, ...], rows: list[tuple[object, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def speed(text: Path, python: Path | None) -> str:
    """Alternating runs; the median over rounds of each run's median step."""
    found: dict[str, list[Result]] = defaultdict(list)
    everybody = contenders(python)
    with tempfile.TemporaryDirectory() as scratch:
        for _ in range(ROUNDS):
            for number, contender in enumerate(everybody):
                cache = Path(scratch) / str(number)
                found[contender.name].append(run(contender, text, STEPS, python=python, cache=cache))
    rates = {name: median(r.tokens_per_second for r in results) for name, results in found.items()}
    rows = []
    for contender in everybody:
        results = found[contender.name]
        each = [r.tokens_per_second for r in results]
        same = rates[f"{BASE}, compiled" if contender.compiled else BASE]
        rows.append(
            (
                contender.name,
                f"{results[0].parameters:,}",
                f"{rates[contender.name]:,.0f}",
                f"{min(each):,.0f} to {max(each):,.0f}",
                f"{rates[contender.name] / rates[BASE]:.2f}",
                f"{rates[contender.name] / same:.2f}",
                f"{results[0].start_up + results[0].first_step:.1f}",
                f"{min(r.start_up + r.first_step for r in results[1:]):.1f}",
            )
        )
    head = (
        *(
            "",
            "parameters",
            "tokens/s",
            "of the rounds",
            "by nanoGPT's eager",
            "by nanoGPT's of the same kind",
        ),
        *("s to the end of the first step, cold", "and warm"),
    )
    return "\n\n".join(
        [
            "## Speed",
            f"{STEPS} steps of 64 rows of {CONTEXT} characters, {ROUNDS} rounds in turn, each run a process. "
            "Ours is the whole command, with its monitoring. Warm: with the first round's compiled code.",
            table(head, rows),
            share_of_peak({n: r for n, r in rates.items() if n.startswith("lmcourse")}),
        ]
    )


def share_of_peak(rates: dict[str, float]) -> str:
    precision, _ = choose_precision("auto")
    peak = peak_of(torch.device("cpu"), precision.name)
    shape = TransformerConfig(66, CONTEXT, layers=4, heads=4, width=128, mlp="relu2", gains=False)
    flops = flops_per_token(Transformer(shape), CONTEXT)
    shares = "; ".join(f"{name} {rate * flops / peak.flops:.0%}" for name, rate in rates.items())
    return f"Share of {peak.source}, at {flops / 1e6:.2f} million operations a token: {shares}."


def equal_time(text: Path) -> str:
    """How good each is a minute and three minutes after its process was started."""
    rows = []
    entrants = [Contender("nanoGPT's recipe", "benchmarks.peers.nanogpt_recipe"), Contender("lmcourse, Muon")]
    for contender in entrants:
        short, long = (run(contender, text, steps) for steps in CALIBRATE)
        step = (long.seconds - short.seconds) / (CALIBRATE[1] - CALIBRATE[0])
        rest = short.seconds - CALIBRATE[0] * step
        for limit in (60, 180):
            steps = int((RESERVE * limit - rest) / step)
            result = run(contender, text, steps)
            verdict = "" if result.seconds <= limit else " (over time)"
            rows.append(
                (contender.name, limit, steps, f"{result.seconds:.1f}{verdict}", f"{result.loss:.3f}")
            )
    head = ("", "limit, s", "steps", "seconds taken", "nats a character, whole validation text")
    words = (
        "The number of steps comes from two short runs before. Seconds count from the start of the process "
        "to the end of training, and for ours to the end of the command, with its evaluation, checkpoint and "
        "sample."
    )
    return "\n\n".join(["## Quality at equal time", words, table(head, rows)])


def equal_tokens(text: Path) -> str:
    """2,000 steps of 12 rows, 1.54 million tokens; three seeds."""
    rows = []
    for contender in (
        Contender("nanoGPT's recipe", "benchmarks.peers.nanogpt_recipe"),
        Contender("lmcourse, AdamW", options=(*ADAMW, "--warmup", "100")),
        Contender("lmcourse, Muon"),
    ):
        results = [run(contender, text, 2000, rows=12, seed=seed) for seed in range(3)]
        losses = [f"{r.loss:.3f}" for r in results]
        middle = median(r.loss for r in results)
        rows.append((contender.name, f"{results[0].parameters:,}", *losses, f"**{middle:.3f}**"))
    head = ("", "parameters", "seed 0", "seed 1", "seed 2", "median")
    words = "2,000 steps of 12 rows of 64 characters, 1.54 million tokens; nats a character, as above."
    return "\n\n".join(["## Quality at equal tokens", words, table(head, rows)])
