"""What a machine could compute at most: measured on a processor, by exact name on a GPU, else unknown."""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch

PROBE_SECONDS = 0.15
SIDE = 1024  # of the square matrices: large enough for the peak, small enough for the probe

# Dense operations per second, from NVIDIA's data sheets (no sparsity; float32 without TF32, which torch
# leaves off). The name must be exactly the driver's: an unknown card is "unknown", not the nearest known one.
_A100 = {"bf16": 312e12, "fp16": 312e12, "fp32": 19.5e12}
_H100 = {"bf16": 989.4e12, "fp16": 989.4e12, "fp32": 66.9e12}
GPUS: dict[str, dict[str, float]] = {
    "NVIDIA A100-SXM4-40GB": _A100,
    "NVIDIA A100-SXM4-80GB": _A100,
    "NVIDIA A100-PCIE-40GB": _A100,
    "NVIDIA A100 80GB PCIe": _A100,
    "NVIDIA H100 80GB HBM3": _H100,
    "NVIDIA H100 PCIe": {"bf16": 756e12, "fp16": 756e12, "fp32": 51.2e12},
    "NVIDIA H200": _H100,
    "NVIDIA L4": {"bf16": 121e12, "fp16": 121e12, "fp32": 30.3e12},
    "NVIDIA L40S": {"bf16": 362e12, "fp16": 362e12, "fp32": 91.6e12},
    "NVIDIA A10": {"bf16": 125e12, "fp16": 125e12, "fp32": 31.2e12},
    "NVIDIA GeForce RTX 4090": {"bf16": 165.2e12, "fp16": 165.2e12, "fp32": 82.6e12},
    "Tesla T4": {"fp16": 65e12, "fp32": 8.1e12},
    "Tesla V100-SXM2-16GB": {"fp16": 125e12, "fp32": 15.7e12},
    "Tesla V100-SXM2-32GB": {"fp16": 125e12, "fp32": 15.7e12},
}
DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}


@dataclass(frozen=True)
class Peak:
    """`flops` a second, or None where nobody knows; `source` says in words whose peak it is, or why not."""

    flops: float | None
    source: str


def peak_of(device: torch.device, precision: str, cache: Path | None = None) -> Peak:
    """The peak of one device for a precision.

    Args:
        device: of the model.
        precision: "fp32", "bf16" or "fp16".
        cache: file of earlier measurements; None is the one in the user's cache folder.
    """
    if device.type == "cuda":
        return peak_by_name(torch.cuda.get_device_name(device), precision)
    if device.type != "cpu":
        return Peak(None, f"no peak is known for {device.type}")
    flops = _best(_key(precision), _measure(precision), cache or _cache_file())
    threads = torch.get_num_threads()
    return Peak(
        flops,
        f"the {flops / 1e9:,.0f} GFLOP/s that {precision} products of matrices reach here on {threads} "
        f"thread{'s' if threads > 1 else ''}",
    )


def peak_by_name(name: str, precision: str) -> Peak:
    """The peak of a GPU by the exact name that its driver gives."""
    flops = GPUS.get(name, {}).get(precision)
    if flops is None:
        return Peak(None, f"no {precision} peak is known for {name!r}")
    return Peak(flops, f"the {flops / 1e12:,.0f} TFLOP/s of {name} in {precision}")


def _measure(precision: str, clock: Callable[[], float] = time.perf_counter) -> float:
    """The best rate of one product among those that fit in the time of the probe."""
    a = torch.ones(SIDE, SIDE, dtype=DTYPES[precision])
    best, began = float("inf"), clock()
    while True:
        start = clock()
        a @ a
        end = clock()
        best = min(best, end - start)
        if end - began >= PROBE_SECONDS:
            return 2 * SIDE**3 / best


def _best(key: str, measured: float, cache: Path) -> float:
    """The largest rate ever seen here: a probe beside other work reads too low."""
    try:
        known = json.loads(cache.read_text(encoding="utf-8"))
        before = float(known.get(key, 0.0))
    except (OSError, ValueError, TypeError, AttributeError):
        known, before = {}, 0.0
    if measured <= before:
        return before
    try:
        cache.parent.mkdir(parents=True, exist_ok=True)
        partial = cache.with_name(f"{cache.name}.tmp-{os.getpid()}")
        partial.write_text(json.dumps({**known, key: measured}, indent=2), encoding="utf-8")
        os.replace(partial, cache)
    except OSError:
        pass  # measured anew next time
    return measured


def _key(precision: str) -> str:
    threads = torch.get_num_threads()
    return f"{platform.node()} {platform.machine()} {threads} threads {precision} torch {torch.__version__}"


def _cache_file() -> Path:
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "lmcourse" / "peaks.json"
