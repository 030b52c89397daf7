"""W2.7, across ranks: what each rank must hand to an averaging reduction."""

from __future__ import annotations

import torch
from torch import Tensor

from autograde import expect
from autograde.exercise import Answer, Draw, HiddenExercise

EXERCISE = HiddenExercise("W2.7", manners_points=1)


def rank_gradients(local_sums: list[Tensor], local_counts: list[int], world: int) -> list[Tensor]:
    total = max(1, sum(local_counts))
    return [gradient * (world / total) for gradient in local_sums]


EXERCISE.set_reference(rank_gradients)


@EXERCISE.variant(
    "own mean times share", "each rank's mean, weighted by its share of the tokens and the world"
)
def _(local_sums, local_counts, world):
    total = sum(local_counts)
    return [
        (g / n) * (n * world / total) if n else torch.zeros_like(g)
        for g, n in zip(local_sums, local_counts, strict=True)
    ]


@EXERCISE.variant("divided by the mean count", "divided by the tokens that a rank has on average")
def _(local_sums, local_counts, world):
    average = sum(local_counts) / world
    return list(torch.stack(local_sums) / average) if average else [torch.zeros_like(g) for g in local_sums]


@EXERCISE.mutant(
    "local means",
    "Your ranks divide by their own counts; the average of these means is not the mean over all tokens "
    "unless the counts are equal.",
)
def _(local_sums, local_counts, world):
    return [g / max(1, n) for g, n in zip(local_sums, local_counts, strict=True)]


@EXERCISE.mutant(
    "world factor missing",
    "Your factor lacks world: the reduction averages, that is, divides by world once more. Your "
    "gradient is world times too small.",
)
def _(local_sums, local_counts, world):
    total = max(1, sum(local_counts))
    return [g / total for g in local_sums]


@EXERCISE.mutant(
    "count not reduced",
    "Your ranks use their own counts as if these were the total: the counts must be added over the ranks "
    "first.",
)
def _(local_sums, local_counts, world):
    return [g * world / max(1, n) for g, n in zip(local_sums, local_counts, strict=True)]


@EXERCISE.mutant("first rank's count", "Your ranks all use the first rank's count; the counts differ.")
def _(local_sums, local_counts, world):
    return [g / max(1, local_counts[0]) for g in local_sums]


@EXERCISE.mutant("world squared", "Your factor has world in it twice: the gradient is world times too large.")
def _(local_sums, local_counts, world):
    total = max(1, sum(local_counts))
    return [g * world**2 / total for g in local_sums]


@EXERCISE.mutant("sums", "Your ranks hand over bare sums: nothing is divided by the number of tokens.")
def _(local_sums, local_counts, world):
    return [g.clone() for g in local_sums]


@EXERCISE.mutant(
    "ranks without tokens not counted",
    "Your world counts only ranks that have tokens; the reduction divides by all ranks, empty ones too.",
)
def _(local_sums, local_counts, world):
    total, busy = max(1, sum(local_counts)), sum(n > 0 for n in local_counts)
    return [g * busy / total for g in local_sums]


@EXERCISE.mutant(
    "everything on the first rank",
    "Your first rank holds the sum of all: it adds up what the reduction is there to add up: each rank "
    "knows only its own sum.",
)
def _(local_sums, local_counts, world):
    total = max(1, sum(local_counts))
    rest = [torch.zeros_like(g) for g in local_sums[1:]]
    return [torch.stack(local_sums).sum(0) * (world / total), *rest]


@EXERCISE.mutant("nan without tokens", "Your gradients are nan or inf when there are no tokens: 0 / 0.")
def _(local_sums, local_counts, world):
    total = torch.tensor(float(sum(local_counts)))
    return [g * (world / total) for g in local_sums]


@EXERCISE.mutant(
    "the average itself", "Your function returns the average; asked for is what each rank hands over."
)
def _(local_sums, local_counts, world):
    total = max(1, sum(local_counts))
    return torch.stack(local_sums).sum(0) / total


@EXERCISE.mutant("in place", "Your function scales the ranks' sums in place; the caller still needs them.")
def _(local_sums, local_counts, world):
    total = max(1, sum(local_counts))
    return [g.mul_(world / total) for g in local_sums]


@EXERCISE.property("the average is the mean over all tokens", 4)
def _(answer: Answer, draw: Draw) -> None:
    for counts in ((3, 11), (7, 1, 20, 4), (5,)):
        _average(answer, draw, counts)


@EXERCISE.property("each rank scales its own sum", 2)
def _(answer: Answer, draw: Draw) -> None:
    _each(answer, draw, (9, 2, 6))


@EXERCISE.property("ranks without tokens", 3)
def _(answer: Answer, draw: Draw) -> None:
    for counts in ((0, 8), (5, 0, 0, 9), (0, 0)):
        _average(answer, draw, counts)


@EXERCISE.public_case("two ranks", "10 and 90 tokens: the average must be the mean over 100")
def _():
    return [torch.tensor([2.0, -1.0]), torch.tensor([9.0, 4.5])], [10, 90], 2


def _sums(draw: Draw, counts: tuple[int, ...]) -> list[Tensor]:
    """Gradients of the sum of losses on each rank, zero where there are no tokens."""
    rng = draw.rng
    return [torch.from_numpy(rng.normal(size=(3, 4)) * n) for n in counts]


def _handed(answer: Answer, draw: Draw, counts: tuple[int, ...]) -> tuple[list[Tensor], list[Tensor], str]:
    sums, case = _sums(draw, counts), expect.case(draw, f"counts {list(counts)}", world=len(counts))
    came = answer([g.clone() for g in sums], list(counts), len(counts))
    if isinstance(came, Tensor) or not isinstance(came, list | tuple) or len(came) != len(counts):
        raise expect.wrong(f"expected a list with one tensor for each of {len(counts)} ranks, but it is "
                           f"{expect.kind_of(came)}", case)  # fmt: skip
    handed = [expect.shape(g, (3, 4), what=f"the tensor of rank {r}", case=case) for r, g in enumerate(came)]
    return handed, sums, case


def _average(answer: Answer, draw: Draw, counts: tuple[int, ...]) -> None:
    handed, sums, case = _handed(answer, draw, counts)
    right = torch.stack(sums).sum(0) / max(1, sum(counts))
    average = torch.stack([g.double() for g in handed]).mean(0)
    hint = "The reduction adds up what the ranks hand over and divides by world."
    expect.close(average, right, terms=len(counts), what="the average over the ranks", case=case, hint=hint)


def _each(answer: Answer, draw: Draw, counts: tuple[int, ...]) -> None:
    handed, sums, case = _handed(answer, draw, counts)
    for r, (got, own) in enumerate(zip(handed, sums, strict=True)):
        hint = (
            "A rank knows its own sum, the number of ranks and the counts; it cannot see another rank's sum."
        )
        expect.close(
            got, own * len(counts) / sum(counts), what=f"the tensor of rank {r}", case=case, hint=hint
        )
