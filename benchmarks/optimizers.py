"""What an optimizer's step costs at the reference shape, and what stacking matrices by shape saves Muon.

Prints a table and writes it to benchmarks/optimizers.md. All contenders take turns, so that other work on the
machine falls on all of them alike.

    python -m benchmarks.optimizers
"""

from __future__ import annotations

import os
import platform
import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from lmcourse.model import Transformer, TransformerConfig
from lmcourse.optimizers import (
    GroupedOptimizer,
    OptimizerSettings,
    make_optimizer,
    optimizer_groups,
    parameter_groups,
)

SHAPE = TransformerConfig(65, context=64, layers=4, heads=4, width=128, mlp="relu2")
ADAMW = OptimizerSettings("adamw")
MUON = OptimizerSettings("muon", newton_schulz="bf16")
ROUNDS, STEPS = 12, 10
OUTPUT = Path(__file__).with_suffix(".md")

Step = Callable[[], Any]


def main() -> None:
    torch.set_num_threads(min(2, os.cpu_count() or 1))
    contenders = {name: make(model_with_gradients()) for name, make in CONTENDERS.items()}
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for step in contenders.values():
        step()  # makes its state, warms up
    for _ in range(ROUNDS):
        for name, step in contenders.items():
            began = time.perf_counter()
            for _ in range(STEPS):
                step()
            times[name].append(1000 * (time.perf_counter() - began) / STEPS)
    text = report(times)
    print(text)
    OUTPUT.write_text(text, encoding="utf-8")


def model_with_gradients() -> Transformer:
    model = Transformer(SHAPE)
    generator = torch.Generator().manual_seed(1)
    for p in model.parameters():
        p.grad = 0.01 * torch.randn(p.shape, generator=generator)
    return model


def muon_one_by_one(model: Transformer) -> Step:
    """Our Muon with each matrix in a group of its own, so that nothing is stacked."""
    groups = []
    for group in optimizer_groups(model, MUON):
        alone = group["rule"] == "muon"
        groups += [{**group, "params": [p]} for p in group["params"]] if alone else [group]
    return GroupedOptimizer(groups).step


def torch_muon(model: Transformer) -> Step:
    """torch.optim.Muon for the hidden matrices, torch.optim.AdamW for the rest."""
    muon, *rest = optimizer_groups(model, MUON)
    hidden = torch.optim.Muon(muon["params"], adjust_lr_fn="match_rms_adamw")
    others = torch.optim.AdamW([{k: g[k] for k in ("params", "weight_decay")} for g in rest], lr=1e-3)

    def step() -> None:
        hidden.step()
        others.step()

    return step


def torch_adamw(**options: bool) -> Callable[[Transformer], Step]:
    return lambda model: torch.optim.AdamW(parameter_groups(model, 0.1), lr=1e-3, **options).step


CONTENDERS: dict[str, Callable[[Transformer], Step]] = {
    "AdamW": lambda model: make_optimizer(model, ADAMW).step,
    "torch.optim.AdamW, loop": torch_adamw(foreach=False),
    "torch.optim.AdamW, foreach": torch_adamw(foreach=True),
    "torch.optim.AdamW, fused": torch_adamw(fused=True),
    "Muon, stacked by shape, bf16": lambda model: make_optimizer(model, MUON).step,
    "Muon, stacked by shape, fp32": lambda model: (
        make_optimizer(model, replace(MUON, newton_schulz="fp32")).step
    ),
    "Muon, matrix by matrix, bf16": muon_one_by_one,
    "torch.optim.Muon and AdamW": torch_muon,
}


def report(times: dict[str, list[float]]) -> str:
    model = Transformer(SHAPE)
    count = sum(p.numel() for p in model.parameters())
    fastest = {name: min(t) for name, t in times.items()}
    base = statistics.median(times["Muon, stacked by shape, bf16"])
    lines = [
        "# Cost of an optimizer's step",
        "",
        f"A model of {SHAPE.layers} layers and width {SHAPE.width}, {count:,} parameters, "
        f"{sum(p.dim() == 2 for p in model.parameters())} matrices; {ROUNDS} rounds of {STEPS} steps, all "
        "contenders in turn. "
        f"{platform.machine()}, {os.cpu_count()} cores, {torch.get_num_threads()} threads, "
        f"torch {torch.__version__}, load {os.getloadavg()[0]:.1f} at the end.",
        "",
        "| optimizer | milliseconds a step, median | fastest round | times Muon stacked in bf16 |",
        "|---|---|---|---|",
    ]
    for name, taken in times.items():
        median = statistics.median(taken)
        lines.append(f"| {name} | {median:.2f} | {fastest[name]:.2f} | {median / base:.2f} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
