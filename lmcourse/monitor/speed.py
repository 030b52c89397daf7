"""Tokens per second and the share of the machine's peak, from durations and a stated count of operations."""

from __future__ import annotations

from dataclasses import dataclass

from torch import nn

from lmcourse.model import Transformer
from lmcourse.monitor.peak import Peak


def flops_per_token(model: Transformer, T: int) -> int:
    """Floating-point operations of forward and backward pass for one token of a row of T.

    6 for each parameter that is multiplied (Kaplan et al. 2020, arXiv:2001.08361): all linear layers with the
    head, also where it shares its matrix, without embedding table and positions. And 12 * layers * width * T
    for attention (Chowdhery et al. 2022, arXiv:2204.02311, appendix B). By convention attention counts all T
    places of the row, though a causal or document mask leaves fewer: model FLOPs, not what a kernel saved.
    """
    multiplied = sum(module.weight.numel() for module in model.modules() if isinstance(module, nn.Linear))
    return 6 * multiplied + 12 * model.config.layers * model.config.width * T


@dataclass
class Speed:
    """Sums over the steps of a run, of all its processes together.

    Attributes:
        counted: tokens in the loss.
        processed: tokens that went through the model, padding included.
        flops: operations by the convention of `flops_per_token`.
        seconds: the elapsed time of the steps, without evaluation and saving.
    """

    counted: int = 0
    processed: int = 0
    flops: int = 0
    seconds: float = 0.0

    def add(self, counted: int, processed: int, flops: int, seconds: float) -> None:
        """One step; `seconds` is a difference of two readings of a clock."""
        self.counted += counted
        self.processed += processed
        self.flops += flops
        self.seconds += seconds

    def rate(self, amount: float) -> float:
        """An amount per second; 0 before the first step."""
        return amount / self.seconds if self.seconds > 0 else 0.0

    def words(self, peak: Peak, world: int = 1) -> str:
        """`20,692 tokens/s (22,104 with padding), 41% of ...`; the peak is that of one process."""
        padded = "" if self.processed == self.counted else f" ({self.rate(self.processed):,.0f} with padding)"
        return f"{self.rate(self.counted):,.0f} tokens/s{padded}, {self._share(peak, world)}"

    def _share(self, peak: Peak, world: int) -> str:
        if peak.flops is None:
            return f"share of peak unknown ({peak.source})"
        times = f"{world} times " if world > 1 else ""
        return f"{self.rate(self.flops) / (world * peak.flops):.0%} of {times}{peak.source}"
