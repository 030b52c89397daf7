"""W1.1, random windows: starts uniform over 0..N-T-1, targets one token further on.

The properties never compare with a stored draw: on a stream of distinct tokens the starts can be read off the
windows, and then tested for reach, uniformity and independence.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from autograde import expect
from autograde.exercise import Answer, Draw, HiddenExercise
from autograde.weeks.chance import looks_uniform, pair_counts
from lmcourse.packing import sample_windows

EXERCISE = HiddenExercise(
    "W1.1",
    manners_points=1,
    forbidden=("lmcourse.packing.sample_windows", "lmcourse.packing.sample_places"),
    instead="Draw the starts from the generator and slice the windows yourself.",
)

EXERCISE.set_reference(sample_windows)


@EXERCISE.variant("loop of slices", "one window at a time, stacked")
def _(tokens, B, T, generator):
    xs, ys = [], []
    for _row in range(B):
        start = int(torch.randint(0, len(tokens) - T, (), generator=generator))
        xs.append(tokens[start : start + T])
        ys.append(tokens[start + 1 : start + T + 1])
    return torch.stack(xs), torch.stack(ys)


@EXERCISE.variant("unfold", "all windows as a view, then a choice of rows")
def _(tokens, B, T, generator):
    windows = tokens.unfold(0, T + 1, 1)
    chosen = windows[torch.randint(windows.shape[0], (B,), generator=generator)]
    return chosen[:, :T].contiguous(), chosen[:, 1:].contiguous()


@EXERCISE.variant("float draws", "scales uniform float64 numbers and cuts them to integers; fills in place")
def _(tokens, B, T, generator):
    starts = (torch.rand(B, generator=generator, dtype=torch.float64) * (tokens.numel() - T)).long()
    x, y = torch.empty(B, T, dtype=torch.long), torch.empty(B, T, dtype=torch.long)
    for row, start in enumerate(starts.tolist()):
        x[row] = tokens[start : start + T]
        y[row] = tokens[start + 1 : start + 1 + T]
    return x, y


# Mutants.


def _windows(tokens: Tensor, starts: Tensor, T: int, shift: int = 1) -> tuple[Tensor, Tensor]:
    index = starts[:, None] + torch.arange(T)
    return tokens[index], tokens[index + shift]


def _starts(tokens: Tensor, B: int, T: int, generator: torch.Generator) -> Tensor:
    return torch.randint(len(tokens) - T, (B,), generator=generator)


@EXERCISE.mutant(
    "targets plus one",
    "Your y is x + 1: the token ids themselves are increased. The target is the next token of the stream, "
    "not the next id.",
)
def _(tokens, B, T, generator):
    x, _y = _windows(tokens, _starts(tokens, B, T, generator), T)
    return x, x + 1


@EXERCISE.mutant(
    "targets equal inputs",
    "Your y equals x: the model would learn to copy what it already sees, and the loss would fall to 0.",
)
def _(tokens, B, T, generator):
    x, _y = _windows(tokens, _starts(tokens, B, T, generator), T)
    return x, x.clone()


@EXERCISE.mutant(
    "shift of two",
    "Your y is shifted by two: y[b, i] must be the token right after x[b, i].",
)
def _(tokens, B, T, generator):
    starts = torch.randint(len(tokens) - T - 1 if len(tokens) > T + 1 else 1, (B,), generator=generator)
    return _windows(torch.cat([tokens, tokens[-1:]]), starts, T, shift=2)


@EXERCISE.mutant(
    "targets behind",
    "Your y is the token before x[b, i], not the one after it: the model would predict the past.",
)
def _(tokens, B, T, generator):
    starts = _starts(tokens, B, T, generator)
    y, x = _windows(tokens, starts, T)
    return x, y


@EXERCISE.mutant(
    "rolled targets",
    "Your y is x rolled by one inside the window: the last target is the window's own first token instead "
    "of the token that follows the window.",
)
def _(tokens, B, T, generator):
    x, _y = _windows(tokens, _starts(tokens, B, T, generator), T)
    return x, x.roll(-1, dims=1)


@EXERCISE.mutant(
    "targets of another window",
    "Your x and y come from two different draws of starts: draw once and use the same starts for both.",
)
def _(tokens, B, T, generator):
    x, _y = _windows(tokens, _starts(tokens, B, T, generator), T)
    _x, y = _windows(tokens, _starts(tokens, B, T, generator), T)
    return x, y


@EXERCISE.mutant(
    "last start never",
    "Your last possible start is never drawn: there are N - T starts, 0 to N-T-1, and the upper bound of "
    "torch.randint is already exclusive.",
)
def _(tokens, B, T, generator):
    starts = torch.randint(max(len(tokens) - T - 1, 1), (B,), generator=generator)
    return _windows(tokens, starts, T)


@EXERCISE.mutant(
    "first start never",
    "Your start 0 is never drawn, so the first token of the stream is never read.",
)
def _(tokens, B, T, generator):
    N = len(tokens)
    starts = torch.randint(min(1, N - T - 1), N - T, (B,), generator=generator)
    return _windows(tokens, starts, T)


@EXERCISE.mutant(
    "one start too many",
    "Your starts go up to N - T: that window is complete, but its last target lies beyond the end of the "
    "stream.",
)
def _(tokens, B, T, generator):
    starts = torch.randint(len(tokens) - T + 1, (B,), generator=generator)
    return _windows(tokens, starts, T)


@EXERCISE.mutant(
    "overrun cut off",
    "Your starts go one too far and the missing target is filled with the last token again; draw from N - "
    "T starts and nothing is missing.",
)
def _(tokens, B, T, generator):
    starts = torch.randint(len(tokens) - T + 1, (B,), generator=generator)
    index = starts[:, None] + torch.arange(T)
    return tokens[index], tokens[(index + 1).clamp(max=len(tokens) - 1)]


@EXERCISE.mutant(
    "wraps round",
    "Your windows run over the end of the stream and go on at its beginning: the end of the last text "
    "would be followed by the start of the first.",
)
def _(tokens, B, T, generator):
    starts = torch.randint(len(tokens), (B,), generator=generator)
    index = starts[:, None] + torch.arange(T)
    return tokens[index % len(tokens)], tokens[(index + 1) % len(tokens)]


@EXERCISE.mutant(
    "same start in all rows",
    "Your rows all begin at the same place: the batch is one window B times, so a step learns from T tokens "
    "instead of B * T.",
)
def _(tokens, B, T, generator):
    return _windows(tokens, _starts(tokens, 1, T, generator).expand(B), T)


@EXERCISE.mutant(
    "next rows follow",
    "Your rows follow one another in the stream from one random start: each row needs its own draw.",
)
def _(tokens, B, T, generator):
    starts = (_starts(tokens, 1, T, generator) + torch.arange(B)) % (len(tokens) - T)
    return _windows(tokens, starts, T)


@EXERCISE.mutant(
    "in order from the front",
    "Your windows are taken in order from the front of the stream; nothing is drawn at random.",
)
def _(tokens, B, T, generator):
    return _windows(tokens, torch.arange(B) % (len(tokens) - T), T)


@EXERCISE.mutant(
    "only multiples of T",
    "Your starts are multiples of T only, as if the stream were cut into blocks first; every start from 0 to "
    "N-T-1 must be possible.",
)
def _(tokens, B, T, generator):
    blocks = (len(tokens) - 1) // T
    return _windows(tokens, torch.randint(blocks, (B,), generator=generator) * T, T)


@EXERCISE.mutant(
    "sorted starts",
    "Your starts are sorted, so the first rows of a batch always come from the front of the stream.",
)
def _(tokens, B, T, generator):
    return _windows(tokens, _starts(tokens, B, T, generator).sort().values, T)


@EXERCISE.mutant(
    "without repetition",
    "Your starts are drawn without repetition (a permutation): rows are no longer independent, and there "
    "is no batch at all once B is larger than the number of starts.",
)
def _(tokens, B, T, generator):
    return _windows(tokens, torch.randperm(len(tokens) - T, generator=generator)[:B], T)


@EXERCISE.mutant(
    "spread evenly",
    "Your starts are spread evenly over the stream, one to each stretch: they must be drawn independently.",
)
def _(tokens, B, T, generator):
    K = len(tokens) - T
    jitter = torch.rand(B, generator=generator, dtype=torch.float64)
    starts = ((torch.arange(B) + jitter) * K / B).long()
    return _windows(tokens, starts[torch.randperm(B, generator=generator)], T)


@EXERCISE.mutant(
    "rounded draws",
    "Your starts are rounded floats, so the first and the last start come up half as often as the others.",
)
def _(tokens, B, T, generator):
    draws = torch.rand(B, generator=generator) * (len(tokens) - T - 1)
    return _windows(tokens, draws.round().long(), T)


@EXERCISE.mutant(
    "int32",
    "Your tensors are int32; embedding and cross-entropy expect int64 token ids.",
)
def _(tokens, B, T, generator):
    x, y = _windows(tokens, _starts(tokens, B, T, generator), T)
    return x.int(), y.int()


@EXERCISE.mutant(
    "flat batch",
    "Your batch is one long row of B * T tokens; x and y have shape (B, T), one window a row.",
)
def _(tokens, B, T, generator):
    x, y = _windows(tokens, _starts(tokens, B, T, generator), T)
    return x.flatten(), y.flatten()


@EXERCISE.mutant(
    "time first",
    "Your batch is transposed: x and y have shape (B, T), the window along the second dimension.",
)
def _(tokens, B, T, generator):
    x, y = _windows(tokens, _starts(tokens, B, T, generator), T)
    return x.t(), y.t()


@EXERCISE.mutant(
    "global randomness",
    "Your starts come from torch's global generator, so the generator argument decides nothing and other "
    "code that draws numbers changes your batches: pass generator=generator.",
)
def _(tokens, B, T, generator):
    return _windows(tokens, torch.randint(len(tokens) - T, (B,)), T)


@EXERCISE.mutant(
    "numpy randomness",
    "Your starts come from numpy's global generator: use the generator argument and nothing else.",
)
def _(tokens, B, T, generator):
    return _windows(tokens, torch.from_numpy(np.random.randint(0, len(tokens) - T, B)), T)


@EXERCISE.mutant(
    "fixed seed",
    "Your function makes its own generator with a fixed seed, so every call returns the same batch.",
)
def _(tokens, B, T, generator):
    return _windows(tokens, _starts(tokens, B, T, torch.Generator().manual_seed(0)), T)


@EXERCISE.mutant(
    "starts over from the seed",
    "Your function restarts from the generator's initial seed: each call of a training run returns the same "
    "batch again. Use the generator as it comes, it remembers where it is.",
)
def _(tokens, B, T, generator):
    return _windows(tokens, _starts(tokens, B, T, torch.Generator().manual_seed(generator.initial_seed())), T)


@EXERCISE.mutant(
    "seeds the global generator",
    "Your function seeds torch's global generator, which changes the random numbers of everything else in "
    "the program: pass generator=generator instead.",
)
def _(tokens, B, T, generator):
    torch.manual_seed(int(torch.randint(2**31, (), generator=generator)))
    return _windows(tokens, torch.randint(len(tokens) - T, (B,)), T)


# Properties.


@EXERCISE.property("dtype and shape", 1)
def _(answer: Answer, draw: Draw) -> None:
    for B, T, N in ((1, 1, 2), (3, 5, 17), (6, 2, 40)):
        case = expect.case(draw, B=B, T=T, N=N)
        batch = answer(_stream(draw, N), B, T, draw.generator())
        for name, part in zip("xy", expect.parts(batch, ("x", "y"), case=case), strict=True):
            expect.shape(part, (B, T), what=name, case=case)
            expect.dtype(part, torch.int64, what=name, case=case, hint="Token ids are int64 in torch.")


@EXERCISE.property("x is a window, y the next tokens", 2)
def _(answer: Answer, draw: Draw) -> None:
    for B, T, N in ((2, 1, 5), (1, 6, 19), (9, 5, 31), (4, 16, 18)):
        _read_starts(answer, draw, B, T, N, offset=N)


@EXERCISE.property("first and last start are drawn", 1)
def _(answer: Answer, draw: Draw) -> None:
    for T, N in ((4, 5), (1, 3), (6, 9)):
        starts = _read_starts(answer, draw, 240, T, N, offset=T)
        case = expect.case(draw, B=240, T=T, N=N)
        for start in (0, N - T - 1):
            if not (starts == start).any():
                end = "first" if start == 0 else "last"
                message = (
                    f"in 240 draws from {N - T} possible starts, the {end} one (start {start}) never came"
                )
                raise expect.wrong(message, case, "Starts run from 0 to N-T-1, both included.")


@EXERCISE.property("all starts are equally likely", 1)
def _(answer: Answer, draw: Draw) -> None:
    for T, N in ((3, 10), (5, 28)):
        K, B = N - T, 100 * (N - T)

        def uniform(attempt: int, B=B, T=T, N=N, K=K) -> bool:
            starts = _read_starts(answer, draw, B, T, N, offset=100 * attempt + T)
            return looks_uniform(torch.bincount(starts, minlength=K))

        if not (uniform(1) or uniform(2)):
            message = f"the counts of the {K} starts in {B} draws do not look like equally likely ones"
            hint = "The chance of such counts from uniform draws is below one in a million, twice in a row."
            raise expect.wrong(message, expect.case(draw, B=B, T=T, N=N), hint)


@EXERCISE.property("each row has a draw of its own", 1)
def _(answer: Answer, draw: Draw) -> None:
    B, T, N, K = 2000, 3, 8, 5

    def independent(attempt: int) -> bool:
        starts = _read_starts(answer, draw, B, T, N, offset=1000 * attempt)
        return looks_uniform(pair_counts(starts, K))

    if not (independent(1) or independent(2)):
        message = "the start of a row tells something about the start of the next row"
        hint = "Draw B starts, independently of each other, and do not sort them."
        raise expect.wrong(message, expect.case(draw, B=B, T=T, N=N), hint)


@EXERCISE.property("the generator alone decides", 1)
def _(answer: Answer, draw: Draw) -> None:
    B, T, N = 50, 4, 700
    case = expect.case(draw, B=B, T=T, N=N)
    first = _read_starts(answer, draw, B, T, N, offset=1)
    if not torch.equal(first, _read_starts(answer, draw, B, T, N, offset=1)):
        message = "two generators in the same state gave two different batches"
        raise expect.wrong(message, case, "Draw from the generator argument and from nothing else.")
    if torch.equal(first, _read_starts(answer, draw, B, T, N, offset=2)):
        message = "two generators with different seeds gave the same batch"
        raise expect.wrong(message, case, "Draw from the generator argument.")
    used = draw.generator(1)
    torch.rand(64, generator=used)
    if torch.equal(first, _read_starts(answer, draw, B, T, N, generator=used)):
        message = "a generator that has been drawn from gave the same batch as a fresh one with its seed"
        raise expect.wrong(message, case, "Use the generator as it comes, without seeding it again.")


# Oracle.


def _stream(draw: Draw, N: int) -> Tensor:
    """Long[N]: distinct token ids in random order, so that a window tells its start."""
    return torch.from_numpy(draw.rng.permutation(3 * N + 7)[:N])


def _read_starts(
    answer: Answer,
    draw: Draw,
    B: int,
    T: int,
    N: int,
    offset: int = 0,
    generator: torch.Generator | None = None,
) -> Tensor:
    """Long[B]: the starts of a batch of windows; checks on the way that x and y are what a start implies."""
    case = expect.case(draw, B=B, T=T, N=N)
    stream = _stream(draw, N)
    batch = answer(stream.clone(), B, T, generator or draw.generator(offset))
    x, y = (
        expect.shape(part, (B, T), what=name, case=case)
        for name, part in zip("xy", expect.parts(batch, ("x", "y"), case=case), strict=True)
    )
    tokens = stream.tolist()
    place = {token: index for index, token in enumerate(tokens)}
    starts = []
    for row, (inputs, targets) in enumerate(zip(x.tolist(), y.tolist(), strict=True)):
        start = place.get(inputs[0], -1)
        if start < 0 or inputs != tokens[start : start + T]:
            raise expect.wrong(f"row {row} of x is not a piece of the stream", case)
        if targets != tokens[start + 1 : start + T + 1]:
            message = f"row {row} of y does not hold the tokens that follow those of x in the stream"
            raise expect.wrong(message, case, "y[b, i] is the token of the stream right after x[b, i].")
        starts.append(start)
    return torch.tensor(starts)
