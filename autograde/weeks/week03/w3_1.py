"""W3.1, four numbers of the formats: what bfloat16 absorbs, what float16 can hold."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import torch

from autograde import expect
from autograde.exercise import Answer, Draw, HiddenExercise
from lmcourse.numbers import FORMATS

EXERCISE = HiddenExercise("W3.1")

BF16, FP16 = FORMATS["bf16"], FORMATS["fp16"]
ABSORBED = BF16.spacing(1.0) / 2  # the tie goes to 1, whose last bit is even
LARGEST, SMALLEST = FP16.max, FP16.min_subnormal
COUNTER = 2.0 ** (BF16.mantissa_bits + 1)  # from here on, the spacing is 2
CASE = "formats by their bits"
# three digits will do, but 2^16 is nearer to the largest float16 than that
TOLERANCE = {"largest_absorbed": 2e-3, "fp16_largest": 2e-4, "fp16_smallest": 2e-3, "counter_stops": 2e-3}

EXERCISE.set_reference(
    largest_absorbed=ABSORBED, fp16_largest=LARGEST, fp16_smallest=SMALLEST, counter_stops=COUNTER
)

EXERCISE.variant(
    "fractions and tensors",
    "any kind of number will do",
    fp16_largest=torch.tensor(65504),
    fp16_smallest=np.float64(2.0**-24),
    counter_stops=256,
)(Fraction(1, 256))
EXERCISE.variant("rounded", "three digits are enough", fp16_largest=65_500, fp16_smallest=5.96e-8)(0.00391)

EXERCISE.mutant(
    "a whole step",
    "Your largest_absorbed is the spacing above 1; an update of half of it is a tie, which goes to the even "
    "neighbor, 1.",
)(2 * ABSORBED)
EXERCISE.mutant(
    "a quarter of a step", "Your largest_absorbed is too small: everything up to half the spacing is lost."
)(ABSORBED / 2)
EXERCISE.mutant(
    "spacing below one",
    "Your largest_absorbed is for updates downwards, where numbers lie twice as close; the update is "
    "positive.",
)(ABSORBED / 2 * 0.999)
EXERCISE.mutant("float16 instead", "Your largest_absorbed is that of float16, which has three more bits.")(
    2.0**-11
)
EXERCISE.mutant(
    "power of two",
    "Your fp16_largest is a power of two; the largest number has all mantissa bits set, and 2^16 is "
    "infinite.",
    fp16_largest=65_536,
)(ABSORBED)
EXERCISE.mutant(
    "half the range",
    "Your fp16_largest is the power of two below it: the mantissa adds almost as much again.",
    fp16_largest=32_768,
)(ABSORBED)
EXERCISE.mutant(
    "smallest normal",
    "Your fp16_smallest is the smallest number with all digits; below it come the subnormal ones.",
    fp16_smallest=FP16.min_normal,
)(ABSORBED)
EXERCISE.mutant(
    "half of the smallest",
    "Your fp16_smallest is where rounding to zero begins, not a number of the format.",
    fp16_smallest=SMALLEST / 2,
)(ABSORBED)
EXERCISE.mutant(
    "counter of float16",
    "Your counter_stops is that of float16; bfloat16 has three bits fewer.",
    counter_stops=2_048,
)(ABSORBED)
EXERCISE.mutant(
    "counter of the mantissa",
    "Your counter_stops forgets the leading bit, which is not stored.",
    counter_stops=128,
)(ABSORBED)
EXERCISE.mutant(
    "counter at the maximum",
    "Your counter_stops is the largest number; a counter stops long before.",
    counter_stops=BF16.max,
)(ABSORBED)
EXERCISE.mutant(
    "nothing yet", "Your answers are still empty.", fp16_largest=None, fp16_smallest=None, counter_stops=None
)(None)


def _property(name: str, title: str, right: float, hint: str) -> None:
    @EXERCISE.property(title, 2)
    def _(answer: Answer, draw: Draw) -> None:
        came = expect.number(answer.value(name), what=name, case=CASE)
        if abs(came - right) > TOLERANCE[name] * right:
            raise expect.wrong(f"{name} is {came:.6g}, which is not right", CASE, hint)


_property(
    "largest_absorbed",
    "the largest update that leaves 1 at 1",
    ABSORBED,
    "Half the distance to the next number above 1, and the tie goes to the even one.",
)
_property(
    "fp16_largest",
    "the largest float16",
    LARGEST,
    "The largest exponent that is not infinity, all mantissa bits set.",
)
_property(
    "fp16_smallest",
    "the smallest float16 above zero",
    SMALLEST,
    "Subnormal: exponent bits zero, last mantissa bit one.",
)
_property(
    "counter_stops",
    "where a bfloat16 counter stops",
    COUNTER,
    "Where the spacing becomes 2, adding 1 is a tie.",
)
