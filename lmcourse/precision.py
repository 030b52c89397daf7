"""What the products of a forward pass compute in, and which type this machine is fast at.

Weights, gradients and moments stay float32 whatever is chosen; each linear layer casts its weight (see
`lmcourse.model.linear`). Normalization, softmax, head and loss compute in float32. Backward passes follow the
types of the forward pass by themselves, and the optimizer never sees a narrow number.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import torch

from lmcourse.errors import CourseError
from lmcourse.model import Transformer

DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
NAMES = (*DTYPES, "auto")
CLEARLY = 1.3  # times as fast as float32, or a narrow type is not worth its rounding
ENOUGH = 0.02  # seconds a type is given


@dataclass(frozen=True)
class Precision:
    """A choice that a run keeps.

    Attributes:
        name: "fp32", "bf16" or "fp16".
    """

    name: str

    def __post_init__(self) -> None:
        if self.name not in DTYPES:
            raise CourseError(f"precision: expected one of {', '.join(DTYPES)}, got {self.name!r}")

    @property
    def dtype(self) -> torch.dtype:
        return DTYPES[self.name]

    @property
    def needs_scaler(self) -> bool:
        """Whether small gradients would vanish unless the loss is scaled up: float16 ends at 6e-8."""
        return self.name == "fp16"

    def apply(self, model: Transformer) -> None:
        """Let the products of this model compute in this type from now on."""
        model.compute_dtype = None if self.name == "fp32" else self.dtype


@dataclass(frozen=True)
class Probe:
    """
    Attributes:
        rates: billions of floating-point operations a second, by name of the type.
        device: that was measured.
    """

    rates: dict[str, float]
    device: str

    @property
    def fastest(self) -> str:
        """float32 unless a narrow type is clearly faster; bfloat16 unless float16 is clearly ahead of it."""
        narrow = "fp16" if self.rates["fp16"] > CLEARLY * self.rates["bf16"] else "bf16"
        return narrow if self.rates[narrow] > CLEARLY * self.rates["fp32"] else "fp32"

    def __str__(self) -> str:
        shown = ", ".join(f"{name} {rate:,.0f}" for name, rate in self.rates.items())
        return f"precision {self.fastest} (measured on this {self.device}, billion operations/s: {shown})"


def probe(device: str = "cpu", rows: int = 2048, width: int = 128) -> Probe:
    """Time products of the size of a small model in each type; about a tenth of a second.

    The name of a processor does not tell: float16 is many times slower than float32 on most, and bfloat16
    faster on some and slower on others.
    """
    return Probe({name: _rate(dtype, device, rows, width) for name, dtype in DTYPES.items()}, device)


def choose_precision(name: str, device: str = "cpu") -> tuple[Precision, str]:
    """The precision of a name, which may be "auto", and a line that says why.

    Raises:
        CourseError: an unknown name.
    """
    if name == "auto":
        measured = probe(device)
        return Precision(measured.fastest), str(measured)
    if name not in NAMES:
        raise CourseError(f"precision: expected one of {', '.join(NAMES)}, got {name!r}")
    return Precision(name), f"precision {name} (as asked)"


def _rate(dtype: torch.dtype, device: str, rows: int, width: int) -> float:
    generator = torch.Generator().manual_seed(0)
    few = 64  # a slow type would take seconds for all rows
    x = torch.randn(rows, width, generator=generator).to(device, dtype)
    w = torch.randn(width, 4 * width, generator=generator).to(device, dtype)
    began = time.perf_counter()
    while time.perf_counter() - began < ENOUGH / 4:  # the first products wake the threads up
        taken = _seconds(x[:few], w)
    x = x[:few] if taken * rows / few > ENOUGH else x
    best, began = _seconds(x, w), time.perf_counter()
    while time.perf_counter() - began < ENOUGH:
        best = min(best, _seconds(x, w))
    return 2 * x.numel() * w.shape[1] / best / 1e9


def _seconds(x: torch.Tensor, w: torch.Tensor) -> float:
    began = time.perf_counter()
    x @ w
    if x.device.type == "cuda":
        torch.cuda.synchronize()
    return max(time.perf_counter() - began, 1e-9)
