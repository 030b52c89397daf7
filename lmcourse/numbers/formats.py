"""Floating-point formats, with every figure derived from the number of bits."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class NumberFormat:
    """A binary format of one sign bit, exponent and mantissa.

    Attributes:
        infinities: the largest exponent is kept for infinities and NaN, as IEEE 754 has it. Without them it
            holds numbers too, and only its largest mantissa is NaN (Micikevicius et al. 2022,
            arXiv:2209.05433).
    """

    name: str
    exponent_bits: int
    mantissa_bits: int
    infinities: bool = True

    @property
    def bits(self) -> int:
        return 1 + self.exponent_bits + self.mantissa_bits

    @property
    def bias(self) -> int:
        """What is taken off the stored exponent."""
        return 2 ** (self.exponent_bits - 1) - 1

    @property
    def max(self) -> float:
        """The largest finite number."""
        top = 2**self.exponent_bits - 1 - self.bias  # exponent with all bits set
        unit = 2.0**-self.mantissa_bits
        return 2.0 ** (top - 1) * (2 - unit) if self.infinities else 2.0**top * (2 - 2 * unit)

    @property
    def min_normal(self) -> float:
        """The smallest positive number with full precision."""
        return 2.0 ** (1 - self.bias)

    @property
    def min_subnormal(self) -> float:
        """The smallest positive number; also the spacing of all numbers below `min_normal`."""
        return self.min_normal * 2.0**-self.mantissa_bits

    @property
    def digits(self) -> float:
        """Significant decimal digits."""
        return (self.mantissa_bits + 1) * math.log10(2)

    def spacing(self, x: float) -> float:
        """Distance from |x| to the next number away from zero, in the power of two where x lies."""
        size = max(abs(x), self.min_normal)
        return 2.0 ** (math.frexp(size)[1] - 1 - self.mantissa_bits)

    def nearest(self, x: float) -> float:
        """x rounded to this format; a tie goes to the number whose last bit is zero.

        Beyond the largest number it is an infinity, or that number in a format without infinities, as torch
        casts. NaN stays NaN.
        """
        if math.isnan(x):
            return x
        unit = self.spacing(min(abs(x), self.max))
        # Python's round takes ties to even
        rounded = x if math.isinf(x) else math.copysign(round(x / unit) * unit, x)
        if abs(rounded) <= self.max:
            return rounded
        return math.copysign(math.inf if self.infinities else self.max, x)

    def neighbors(self, x: float) -> tuple[float, float]:
        """The largest number of the format not above x, and the smallest not below it; both x if it is one.

        An infinity where there is none, also in a format that has no infinities. x must be finite.
        """
        low, high = (step(abs(x) / self.spacing(x)) * self.spacing(x) for step in (math.floor, math.ceil))
        low, high = (min(low, self.max), high if high <= self.max else math.inf)
        return (low, high) if x >= 0 else (-high, -low)


FORMATS = {
    f.name: f
    for f in (
        NumberFormat("fp32", 8, 23),
        NumberFormat("bf16", 8, 7),
        NumberFormat("fp16", 5, 10),
        NumberFormat("fp8_e4m3", 4, 3, infinities=False),
        NumberFormat("fp8_e5m2", 5, 2),
    )
}
