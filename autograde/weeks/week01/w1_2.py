"""W1.2, a validation tail: the last int(N * fraction) tokens in order, and why it must be a tail."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from autograde import expect
from autograde.exercise import Answer, Draw, HiddenExercise
from lmcourse.packing import split_tail

EXERCISE = HiddenExercise(
    "W1.2",
    manners_points=1,
    forbidden=("lmcourse.packing.split_tail",),
    instead="Work out where the tail begins and slice there.",
)

# Windows of 128 tokens at 1000 and 1001 share the tokens 1001 to 1127.
OVERLAP = 127 / 128

EXERCISE.set_reference(split_tail, overlap_share=OVERLAP)


@EXERCISE.variant(
    "torch.split", "sizes handed to the library; the number as a rounded float", overlap_share=0.9922
)
def _(tokens, fraction):
    n = int(len(tokens) * fraction)
    train, validation = torch.split(tokens, [len(tokens) - n, n])
    return train, validation


@EXERCISE.variant("boolean mask", "marks the tail and copies both parts; the number as a tensor",
                  overlap_share=torch.tensor(OVERLAP))  # fmt: skip
def _(tokens, fraction):
    N = tokens.shape[0]
    tail = torch.arange(N) >= N - math.floor(N * fraction)
    return tokens[~tail].clone(), tokens[tail].clone()


@EXERCISE.variant("lists", "goes through Python lists and back to int64")
def _(tokens, fraction):
    values = tokens.tolist()
    n = int(len(values) * fraction)
    cut = len(values) - n
    return torch.tensor(values[:cut], dtype=torch.long), torch.tensor(values[cut:], dtype=torch.long)


# Mutants of the split.


def _cut(tokens: Tensor, n: int) -> tuple[Tensor, Tensor]:
    return tokens[: len(tokens) - n], tokens[len(tokens) - n :]


@EXERCISE.mutant(
    "random split",
    "Your validation tokens are picked at random from the whole stream: their neighbors are in the "
    "training set, so the validation loss measures memory.",
)
def _(tokens, fraction):
    n = int(len(tokens) * fraction)
    order = torch.randperm(len(tokens), generator=torch.Generator().manual_seed(0))
    held_out = torch.zeros(len(tokens), dtype=torch.bool)
    held_out[order[:n]] = True
    return tokens[~held_out], tokens[held_out]


@EXERCISE.mutant(
    "every k-th token",
    "Your validation tokens are every k-th token of the stream: text with holes for training, and no text "
    "at all for validation.",
)
def _(tokens, fraction):
    n = int(len(tokens) * fraction)
    held_out = torch.zeros(len(tokens), dtype=torch.bool)
    if n:
        held_out[:: len(tokens) // n] = True
    return tokens[~held_out], tokens[held_out]


@EXERCISE.mutant(
    "head instead of tail",
    "Your validation set is the head of the stream; the convention here is the tail.",
)
def _(tokens, fraction):
    n = int(len(tokens) * fraction)
    return tokens[n:], tokens[:n]


@EXERCISE.mutant(
    "parts swapped",
    "Your two parts come back in the wrong order: first train, then validation.",
)
def _(tokens, fraction):
    train, validation = _cut(tokens, int(len(tokens) * fraction))
    return validation, train


@EXERCISE.mutant(
    "fraction of training",
    "Your fraction is the share of the training part; it should be the share of the validation tail.",
)
def _(tokens, fraction):
    n = int(len(tokens) * fraction)
    return tokens[:n], tokens[n:]


@EXERCISE.mutant(
    "one token too many",
    "Your validation tail is one token longer than int(N * fraction).",
)
def _(tokens, fraction):
    return _cut(tokens, min(int(len(tokens) * fraction) + 1, len(tokens)))


@EXERCISE.mutant(
    "rounded size",
    "Your tail has round(N * fraction) tokens; the contract says int(N * fraction), which cuts off the "
    "decimals.",
)
def _(tokens, fraction):
    return _cut(tokens, round(len(tokens) * fraction))


@EXERCISE.mutant(
    "rounded up",
    "Your tail has N * fraction rounded up; the contract says int(N * fraction), which rounds down "
    "(a training part of int(N * (1 - fraction)) tokens has this effect).",
)
def _(tokens, fraction):
    return _cut(tokens, math.ceil(len(tokens) * fraction))


@EXERCISE.mutant(
    "minus zero",
    "Your slice uses -n, and for n = 0 tokens[:-0] is empty and tokens[-0:] is everything: with a tail of "
    "0 tokens your training set has vanished.",
)
def _(tokens, fraction):
    n = int(len(tokens) * fraction)
    return tokens[:-n], tokens[-n:]


@EXERCISE.mutant(
    "at least one",
    "Your tail has at least one token; int(N * fraction) may be 0, and then it is empty.",
)
def _(tokens, fraction):
    return _cut(tokens, max(1, int(len(tokens) * fraction)))


@EXERCISE.mutant(
    "overlap of one token",
    "Your two parts share a token: the last one of train is the first one of validation.",
)
def _(tokens, fraction):
    train, validation = _cut(tokens, int(len(tokens) * fraction))
    return torch.cat([train, validation[:1]]), validation


@EXERCISE.mutant(
    "overlap of a window",
    "Your validation part begins a window too early and overlaps the training part.",
)
def _(tokens, fraction):
    cut = len(tokens) - int(len(tokens) * fraction)
    return tokens[:cut], tokens[max(cut - 4, 0) :]


@EXERCISE.mutant(
    "gap of one token",
    "Your split loses a token: the one between the two parts is in neither.",
)
def _(tokens, fraction):
    train, validation = _cut(tokens, int(len(tokens) * fraction))
    return train[:-1], validation


@EXERCISE.mutant(
    "tail stays in train",
    "Your training part is still the whole stream: the validation tail must be taken out of it.",
)
def _(tokens, fraction):
    return tokens, _cut(tokens, int(len(tokens) * fraction))[1]


@EXERCISE.mutant(
    "tail reversed",
    "Your validation tail runs backwards: keep the order of the stream.",
)
def _(tokens, fraction):
    train, validation = _cut(tokens, int(len(tokens) * fraction))
    return train, validation.flip(0)


@EXERCISE.mutant(
    "sorted or mixed",
    "Your training part is out of order: a language model needs the tokens as they follow one another.",
)
def _(tokens, fraction):
    train, validation = _cut(tokens, int(len(tokens) * fraction))
    return train.sort().values, validation


@EXERCISE.mutant(
    "sizes only",
    "Your function returns how many tokens each part has; it should return the tokens themselves.",
)
def _(tokens, fraction):
    train, validation = _cut(tokens, int(len(tokens) * fraction))
    return len(train), len(validation)


@EXERCISE.mutant(
    "float tokens",
    "Your parts are float32: token ids stay int64.",
)
def _(tokens, fraction):
    train, validation = _cut(tokens, int(len(tokens) * fraction))
    return train.float(), validation.float()


@EXERCISE.mutant(
    "shuffles the input",
    "Your function changes the token stream that it was given; the caller still needs it as it was.",
)
def _(tokens, fraction):
    train, validation = _cut(tokens.clone(), int(len(tokens) * fraction))
    tokens.copy_(tokens.flip(0))
    return train, validation


# Mutants of the number.

EXERCISE.mutant(
    "overlap as a count",
    "Your overlap_share is a count of tokens: divide it by the 128 tokens of a window.",
    overlap_share=127,
)(split_tail)

EXERCISE.mutant(
    "overlap one too few",
    "Your overlap_share misses a token: windows that begin one apart differ in one token at each end, not "
    "in two.",
    overlap_share=126 / 128,
)(split_tail)

EXERCISE.mutant(
    "overlap of the union",
    "Your overlap_share divides by the tokens of both windows together; it asks for the share of one window.",
    overlap_share=127 / 129,
)(split_tail)

EXERCISE.mutant(
    "what is new",
    "Your overlap_share is the share of new tokens, not of common ones.",
    overlap_share=1 / 128,
)(split_tail)

EXERCISE.mutant(
    "overlap in percent",
    "Your overlap_share is in percent: a share lies between 0 and 1.",
    overlap_share=100 * OVERLAP,
)(split_tail)

EXERCISE.mutant(
    "all in common",
    "Your overlap_share is 1, but the two windows are not the same: each has one token that the other lacks.",
    overlap_share=1.0,
)(split_tail)

EXERCISE.mutant(
    "overlap as text",
    "Your overlap_share is a text: write the number, as in 3 / 4, without quotes.",
    overlap_share="127/128",
)(split_tail)


# Properties.


@EXERCISE.property("contiguous, in order, nothing lost", 2)
def _(answer: Answer, draw: Draw) -> None:
    for N, fraction in ((4, 0.5), (10, 0.2), (64, 0.25), (500, 0.1)):
        _compare(answer, draw, N, fraction)


@EXERCISE.property("exact sizes", 1)
def _(answer: Answer, draw: Draw) -> None:
    for N, fraction in ((7, 0.25), (9, 0.5), (19, 0.1), (37, 0.9)):
        _compare(answer, draw, N, fraction)


@EXERCISE.property("an empty tail", 1)
def _(answer: Answer, draw: Draw) -> None:
    for N, fraction in ((6, 0.0), (9, 0.1), (1, 0.5)):
        _compare(answer, draw, N, fraction)


@EXERCISE.property("overlap_share", 1)
def _(answer: Answer, draw: Draw) -> None:
    case = "windows of 128 tokens from 1000 and 1001"
    value = expect.number(answer.value("overlap_share"), what="overlap_share", case=case)
    if abs(value - OVERLAP) > 5e-4:
        hint = "Which tokens does the window from 1000 have, which the one from 1001?"
        if not 0 <= value <= 1:
            hint = "A share lies between 0 and 1."
        raise expect.wrong(f"overlap_share is {value:.6g}, which is not right", case, hint)


# Public rows.


@EXERCISE.public_case("the last fifth", "the example of the statement")
def _():
    return torch.tensor([7, 3, 8, 1, 9, 4, 4, 2, 6, 5]), 0.2


@EXERCISE.public_case("a share that does not come out even", "int(N * fraction) tokens")
def _():
    return torch.tensor([11, 2, 2, 9, 30, 7, 1]), 0.4


# Oracle.


def _compare(answer: Answer, draw: Draw, N: int, fraction: float) -> None:
    case = expect.case(draw, N=N, fraction=fraction)
    values = draw.rng.integers(0, 90_000, size=N).tolist()
    split = answer(torch.tensor(values), fraction)
    train, validation = expect.parts(split, ("train", "validation"), case=case)
    n = int(N * fraction)
    right = {"train": values[: N - n], "validation": values[N - n :] if n else []}
    hint = f"Validation is the last int({N} * {fraction}) = {n} tokens, train everything before."
    for name, part in (("train", train), ("validation", validation)):
        expect.shape(part, (len(right[name]),), what=name, case=case, hint=hint)
        expect.equal_integers(
            part, torch.tensor(right[name], dtype=torch.int64), what=name, case=case, hint=hint
        )
        expect.dtype(part, torch.int64, what=name, case=case)
