"""W3.2, rounding to bfloat16 by integer operations, to the nearest number, ties to even."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from autograde import expect
from autograde.exercise import Answer, Draw, HiddenExercise
from autograde.weeks.week03 import floats

EXERCISE = HiddenExercise("W3.2", manners_points=1)

CUT = -(2**16)  # keeps the upper 16 bits of an int32


def _bits(x: Tensor) -> Tensor:
    return x.view(torch.int32)


def _floats(bits: Tensor) -> Tensor:
    return bits.to(torch.int32).view(torch.float32)


def round_bf16(x: Tensor) -> Tensor:
    bits = _bits(x)
    odd = (bits >> 16) & 1
    return torch.where(x.isnan(), x, _floats((bits + 0x7FFF + odd) & CUT))


EXERCISE.set_reference(round_bf16)


@EXERCISE.variant("three cases", "looks at the lower half: below the middle, above it, in the middle")
def _(x):
    bits = _bits(x).to(torch.int64)
    low, high = bits & 0xFFFF, bits & ~0xFFFF
    up = (low > 0x8000) | ((low == 0x8000) & (((bits >> 16) & 1) == 1))
    rounded = torch.where(up, high + 0x10000, high)
    return torch.where(x.isnan(), x, _floats(rounded))


@EXERCISE.variant("numpy", "unsigned integers in numpy, infinities and NaN left alone")
def _(x):
    bits = x.numpy().view(np.uint32).astype(np.uint64)
    odd = (bits >> np.uint64(16)) & np.uint64(1)
    rounded = ((bits + np.uint64(0x7FFF) + odd) & np.uint64(0xFFFF0000)).astype(np.uint32).view(np.float32)
    return torch.from_numpy(np.where(np.isfinite(x.numpy()), rounded, x.numpy()))


@EXERCISE.variant("the library's cast", "no bits at all: to bfloat16 and back")
def _(x):
    return x.to(torch.bfloat16).to(torch.float32)


@EXERCISE.mutant("truncation", "Your function cuts the lower bits off: it rounds towards zero, always.")
def _(x):
    return torch.where(x.isnan(), x, _floats(_bits(x) & CUT))


@EXERCISE.mutant(
    "half away from zero",
    "Your ties always go away from zero: exactly in the middle, the neighbor with the even last bit wins.",
)
def _(x):
    return torch.where(x.isnan(), x, _floats((_bits(x) + 0x8000) & CUT))


@EXERCISE.mutant(
    "half towards zero", "Your ties always go towards zero; the neighbor with the even last bit wins."
)
def _(x):
    return torch.where(x.isnan(), x, _floats((_bits(x) + 0x7FFF) & CUT))


@EXERCISE.mutant("ties to odd", "Your ties go to the neighbor whose last bit is odd; it should be even.")
def _(x):
    bits = _bits(x)
    return torch.where(x.isnan(), x, _floats((bits + 0x8000 - ((bits >> 16) & 1)) & CUT))


@EXERCISE.mutant(
    "the carry is lost",
    "Your rounding loses the carry: 1.998 must become 2, so the carry out of the mantissa belongs in the "
    "exponent.",
)
def _(x):
    bits = _bits(x)
    head, mantissa = bits & -(2**23), bits & (2**23 - 1)
    rounded = (mantissa + 0x7FFF + ((bits >> 16) & 1)) & CUT & (2**23 - 1)
    return torch.where(x.isfinite(), _floats(head | rounded), x)


@EXERCISE.mutant(
    "NaN becomes something else",
    "Your NaN do not stay NaN: the added bits can carry a NaN's mantissa over into an infinity or the sign.",
)
def _(x):
    bits = _bits(x).to(torch.int64) & 0xFFFFFFFF
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000
    rounded = torch.where(rounded >= 2**31, rounded - 2**32, rounded)
    return torch.where(x.isnan() & ((bits & 0xFFFF) != 0), torch.tensor(float("inf")), _floats(rounded))


@EXERCISE.mutant("minus zero", "Your function turns -0.0 into 0.0; the sign of a zero is a bit like others.")
def _(x):
    return round_bf16(x) + 0.0


@EXERCISE.mutant(
    "too large becomes the largest",
    "Your function keeps numbers above the largest bfloat16 at the largest; rounding takes them to infinity.",
)
def _(x):
    largest = torch.finfo(torch.bfloat16).max
    rounded = round_bf16(x)
    return torch.where(x.isfinite(), rounded.clamp(-largest, largest), rounded)


@EXERCISE.mutant(
    "subnormal numbers flushed",
    "Your function turns the tiniest numbers (below 1.2e-38) into zero; bfloat16 has subnormal numbers too.",
)
def _(x):
    rounded = round_bf16(x)
    return torch.where(rounded.abs() < torch.finfo(torch.float32).tiny, rounded * 0, rounded)


@EXERCISE.mutant(
    "rounded to float16", "Your function rounds to float16; bfloat16 has 8 exponent and 7 mantissa bits."
)
def _(x):
    return x.half().float()


@EXERCISE.mutant(
    "seven decimal places", "Your function rounds to decimals; a float's spacing depends on its size."
)
def _(x):
    return torch.where(x.isfinite(), (x * 128).round() / 128, x)


@EXERCISE.mutant(
    "negative numbers the other way", "Your negative numbers are rounded down instead of to the nearest."
)
def _(x):
    return torch.where(x < 0, -torch.where(x.isnan(), x, _floats((_bits(-x) + 0xFFFF) & CUT)), round_bf16(x))


@EXERCISE.mutant("bfloat16 returned", "Your result is a bfloat16 tensor; the contract asks for float32.")
def _(x):
    return round_bf16(x).to(torch.bfloat16)


@EXERCISE.mutant("in place", "Your function writes into its argument.")
def _(x):
    x.copy_(round_bf16(x))
    return x


def _compare(answer: Answer, x: Tensor, case: str, hint: str = "") -> None:
    came = expect.shape(answer(x.clone()), x.shape, case=case)
    expect.dtype(came, torch.float32, case=case, hint="The result is float32 that holds bfloat16 numbers.")
    right = floats.nearest(x)
    same = (came == right) & (came.signbit() == right.signbit())
    wrong = (~(same | (came.isnan() & right.isnan()))).nonzero().flatten()
    if len(wrong):
        i = int(wrong[0])
        raise expect.wrong(
            f"{float(x[i])!r} became {float(came[i])!r}; it is one of {len(wrong)} wrong of {len(x)}",
            case,
            hint,
        )


@EXERCISE.property("the nearest number", 4)
def _(answer: Answer, draw: Draw) -> None:
    x = floats.random_bits(draw.rng, 100_000)
    _compare(answer, x[x.isfinite() & (x.abs() < 1e38)], expect.case(draw, "random numbers of all sizes"))


@EXERCISE.property("ties to even", 4)
def _(answer: Answer, draw: Draw) -> None:
    _compare(answer, floats.ties(draw.rng, 4_000), expect.case(draw, "exactly between two neighbors"))


@EXERCISE.property("numbers of the format stay", 1)
def _(answer: Answer, draw: Draw) -> None:
    _compare(answer, floats.exact(draw.rng, 4_000), expect.case(draw, "numbers that bfloat16 holds"))


@EXERCISE.property("zeros, infinities, the ends of the range", 2)
def _(answer: Answer, draw: Draw) -> None:
    _compare(answer, floats.special(), expect.case(draw, "special numbers"))
    x = floats.random_bits(draw.rng, 400_000)
    _compare(answer, x[x.abs() < 1.2e-38], expect.case(draw, "subnormal numbers"))


@EXERCISE.property("NaN stays NaN", 1)
def _(answer: Answer, draw: Draw) -> None:
    x = floats.random_bits(draw.rng, 200_000)
    _compare(answer, x[x.isnan()], expect.case(draw, "NaN of many bit patterns"))


@EXERCISE.property("any shape", 1)
def _(answer: Answer, draw: Draw) -> None:
    for shape in ((), (0,), (3, 4, 5)):
        x = torch.randn(shape, generator=draw.generator())
        case = expect.case(draw, shape=shape)
        came = expect.shape(answer(x.clone()), shape, case=case)
        if not torch.equal(came, floats.nearest(x)):
            raise expect.wrong("the result is not the nearest bfloat16", case)


@EXERCISE.public_case("around one", "the spacing above 1 is 0.0078125")
def _():
    return (torch.tensor([1.0, 1.001, 1.004, 1.005, -1.005, 3.14159]),)


@EXERCISE.public_case("two ties", "exactly in the middle, the even neighbor wins")
def _():
    return (torch.tensor([1.00390625, 1.01171875]),)
