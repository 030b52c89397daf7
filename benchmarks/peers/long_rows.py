"""What the document mask costs in long rows: each length and back-end in a process of its own."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from statistics import median

import torch

from benchmarks.peers.contenders import ROOT
from benchmarks.peers.sections import table
from lmcourse.model import Transformer, TransformerConfig
from lmcourse.optimizers import adamw
from lmcourse.packing import document_batch
from lmcourse.precision import Precision
from lmcourse.trainer.step import training_step

LENGTHS = (512, 2048, 8192)
MEAN = 200  # tokens of a document
EOS, V, B, STEPS = 0, 512, 4, 6


def long_rows() -> str:
    rows = []
    for precision in ("fp32", "bf16"):
        for backend in ("auto", "mask"):
            for S in LENGTHS:
                figures = _child(S, backend, precision)
                rows.append(
                    (
                        *(precision, backend, f"{S:,}", f"{figures['seconds'] * 1e3:,.0f}"),
                        f"{figures['seconds'] / S * 1e6:.1f}",
                        f"{figures['mebibytes']:,.0f}",
                        f"{figures['mebibytes'] / S * 1024:.0f}",
                    )
                )
    head = ("", "attention", "S", "ms a step", "µs a step by S", "MiB", "MiB by 1,024 of S")
    words = (
        f"A step of {B} rows of S tokens, documents of {MEAN} tokens in the mean, 2 layers of width 128; MiB "
        "of the process above what it had before its first step. `auto` goes document by document, `mask` is "
        "the boolean mask."
    )
    return "\n\n".join(["## Document mask in long rows", words, table(head, rows)])


def _child(S: int, backend: str, precision: str) -> dict[str, float]:
    command = (sys.executable, "-m", "benchmarks.peers.long_rows", str(S), backend, precision)
    done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout)


def _measure(S: int, backend: str, precision: str) -> dict[str, float]:
    generator = torch.Generator().manual_seed(S)
    config = TransformerConfig(V, context=S, layers=2, heads=4, width=128, mlp="relu2")
    model = Transformer(config, attention=backend)
    Precision(precision).apply(model)
    optimizer = adamw(model, 1e-3)
    rows = torch.randint(1, V, (B, S + 1), generator=generator)
    rows[torch.rand(B, S + 1, generator=generator) < 1 / MEAN] = EOS
    before, seconds = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, []
    for _ in range(STEPS):
        began = time.perf_counter()
        training_step(model, optimizer, [document_batch(rows, EOS)], 1.0, 1.0)
        seconds.append(time.perf_counter() - began)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before  # KiB
    return {"seconds": median(seconds[1:]), "mebibytes": grown / 1024}


if __name__ == "__main__":
    print(json.dumps(_measure(int(sys.argv[1]), *sys.argv[2:])))
