"""W3.3, stochastic rounding: one of the two neighbors, the nearer one more often, right in the mean."""

from __future__ import annotations

import torch
from torch import Tensor

from autograde import expect
from autograde.exercise import Answer, Draw, HiddenExercise
from autograde.weeks.week03 import floats

EXERCISE = HiddenExercise("W3.3", manners_points=1)

DRAWS = 60_000
SIGMAS = 5.5  # one false alarm in some twenty million draws


def _noise(x: Tensor, generator: torch.Generator) -> Tensor:
    return torch.randint(2**16, x.shape, generator=generator, dtype=torch.int32)


def _cut(bits: Tensor) -> Tensor:
    return (bits & -(2**16)).view(torch.float32)


def stochastic_round_bf16(x: Tensor, generator: torch.Generator) -> Tensor:
    return _cut(x.view(torch.int32) + _noise(x, generator))


EXERCISE.set_reference(stochastic_round_bf16)


@EXERCISE.variant("compares shares", "a uniform number against the share of the way to the next neighbor")
def _(x, generator):
    below = _cut(x.view(torch.int32))
    above = _cut(x.view(torch.int32) + 0xFFFF)
    gap = torch.where(above == below, 1.0, (above - below).double())
    share = (x - below).double() / gap
    return torch.where(torch.rand(x.shape, generator=generator, dtype=torch.float64) < share, above, below)


@EXERCISE.variant("signs apart", "rounds the absolute value, then puts the sign back")
def _(x, generator):
    return torch.copysign(_cut(x.abs().view(torch.int32) + _noise(x, generator)), x)


@EXERCISE.mutant("nearest", "Your function rounds to the nearest number, always; chance has no part in it.")
def _(x, generator):
    torch.rand(x.shape, generator=generator)
    return x.to(torch.bfloat16).float()


@EXERCISE.mutant("always away from zero", "Your function always takes the neighbor away from zero.")
def _(x, generator):
    _noise(x, generator)
    return _cut(x.view(torch.int32) + 0xFFFF)


@EXERCISE.mutant("always towards zero", "Your function always takes the neighbor towards zero.")
def _(x, generator):
    _noise(x, generator)
    return _cut(x.view(torch.int32))


@EXERCISE.mutant(
    "half and half",
    "Your function takes either neighbor with probability one half; the nearer one must come more often.",
)
def _(x, generator):
    bits = x.view(torch.int32)
    up = torch.rand(x.shape, generator=generator) < 0.5
    return torch.where(up & ((bits & 0xFFFF) != 0), _cut(bits + 0x10000), _cut(bits))


@EXERCISE.mutant(
    "probability the wrong way round",
    "Your probability is the wrong way round: the nearer neighbor comes less often.",
)
def _(x, generator):
    bits = x.view(torch.int32)
    low = bits & 0xFFFF
    up = _noise(x, generator) >= low
    return torch.where(up & (low != 0), _cut(bits + 0x10000), _cut(bits))


@EXERCISE.mutant(
    "noise after rounding",
    "Your noise comes after rounding: the result is no bfloat16 number any more.",
)
def _(x, generator):
    rounded = x.to(torch.bfloat16).float()
    return rounded * (1 + (torch.rand(x.shape, generator=generator) - 0.5) * 2.0**-8)


@EXERCISE.mutant(
    "noise before rounding to nearest",
    "Your noise is added to the number, which is then rounded to the nearest: numbers of the format can "
    "move.",
)
def _(x, generator):
    noisy = x * (1 + (torch.rand(x.shape, generator=generator) - 0.5) * 2.0**-6)
    return noisy.to(torch.bfloat16).float()


@EXERCISE.mutant(
    "negative numbers go up",
    "Your negative numbers are rounded towards zero more often than they should: work on the absolute value.",
)
def _(x, generator):
    right = stochastic_round_bf16(x, generator)
    return torch.where(x < 0, _cut(x.view(torch.int32)), right)


@EXERCISE.mutant(
    "half the noise", "Your noise has too few bits: the upper neighbor comes at most half as often."
)
def _(x, generator):
    noise = torch.randint(2**15, x.shape, generator=generator, dtype=torch.int32)
    return _cut(x.view(torch.int32) + noise)


@EXERCISE.mutant(
    "twice the noise", "Your noise has too many bits: numbers can move by more than one neighbor."
)
def _(x, generator):
    noise = torch.randint(2**17, x.shape, generator=generator, dtype=torch.int32)
    return _cut(x.view(torch.int32) + noise)


@EXERCISE.mutant(
    "one draw for all",
    "Your function draws once for the whole tensor; every element needs a draw of its own.",
)
def _(x, generator):
    noise = torch.randint(2**16, (1,), generator=generator, dtype=torch.int32)
    return _cut(x.view(torch.int32) + noise)


@EXERCISE.mutant(
    "the global state", "Your chance comes from torch's global state; the generator is the only source."
)
def _(x, generator):
    return _cut(x.view(torch.int32) + torch.randint(2**16, x.shape, dtype=torch.int32))


@EXERCISE.mutant(
    "a generator of its own", "Your function makes a generator of its own: each call gives the same."
)
def _(x, generator):
    return stochastic_round_bf16(x, torch.Generator().manual_seed(0))


@EXERCISE.mutant("bfloat16 returned", "Your result is a bfloat16 tensor; the contract asks for float32.")
def _(x, generator):
    return stochastic_round_bf16(x, generator).to(torch.bfloat16)


@EXERCISE.property("one of the two neighbors", 3)
def _(answer: Answer, draw: Draw) -> None:
    x = floats.random_bits(draw.rng, 20_000)
    x = x[x.isfinite() & (x.abs() < 1e38) & (x.abs() > 1e-37)]
    case = expect.case(draw, "random numbers of all sizes")
    came = _rounded(answer, x, draw, case)
    toward, away = floats.neighbors(x)
    wrong = ((came != toward) & (came != away)).nonzero().flatten()
    if len(wrong):
        i = int(wrong[0])
        raise expect.wrong(f"{float(x[i])!r} became {float(came[i])!r}, which is neither neighbor", case)


@EXERCISE.property("numbers of the format stay", 2)
def _(answer: Answer, draw: Draw) -> None:
    x = floats.exact(draw.rng, 6_000)
    case = expect.case(draw, "numbers that bfloat16 holds")
    moved = (_rounded(answer, x, draw, case) != x).nonzero().flatten()
    if len(moved):
        raise expect.wrong(f"{float(x[int(moved[0])])!r} moved; rounding leaves it alone", case)


@EXERCISE.property("right in the mean", 4)
def _(answer: Answer, draw: Draw) -> None:
    for value in (1.001, -1.001, 1.0065, -0.7505, 3.0e-5, -117.3):
        case = expect.case(draw, f"{value} rounded {DRAWS:,} times")
        came = _rounded(answer, torch.full((DRAWS,), value), draw, case)
        toward, away = (float(n[0]) for n in floats.neighbors(torch.tensor([value])))
        value32 = float(torch.tensor(value))
        share = (value32 - toward) / (away - toward)
        error = float((came == away).double().mean()) - share
        if abs(error) > SIGMAS * (share * (1 - share) / DRAWS) ** 0.5:
            hint = "The closer a neighbor, the more often it comes: probability = share of the way."
            raise expect.wrong(
                f"{value} went away from zero in {error + share:.1%} of the draws instead of {share:.1%}",
                case,
                hint,
            )


@EXERCISE.property("each element by itself, from the generator alone", 2)
def _(answer: Answer, draw: Draw) -> None:
    x = torch.full((4_000,), 1.003)
    case = expect.case(draw, "the same number 4,000 times")
    first, again, other = (_rounded(answer, x, draw, case, offset) for offset in (0, 0, 1))
    if not torch.equal(first, again):
        raise expect.wrong("the same state of the generator gives another result", case)
    if torch.equal(first, other):
        raise expect.wrong("another state of the generator gives the same result", case)
    changes = float((first[1:] != first[:-1]).double().mean())
    if not 0.35 < changes < 0.6:  # 2 p (1 - p) = 0.47 with p = 0.384
        raise expect.wrong("neighboring elements are rounded alike more often than chance has it", case)


def _rounded(answer: Answer, x: Tensor, draw: Draw, case: str, offset: int = 0) -> Tensor:
    came = expect.shape(answer(x.clone(), draw.generator(offset)), x.shape, case=case)
    return expect.dtype(
        came, torch.float32, case=case, hint="The result is float32 that holds bfloat16 numbers."
    )
