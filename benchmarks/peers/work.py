"""The work that all contenders do: the text, the windows, and one way to measure what came out.

Knows torch and numpy only, so that it runs inside a peer's own environment.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

LAYERS, HEADS, WIDTH, CONTEXT = 4, 4, 128, 64
VALIDATION = 0.1  # share at the end of the text
WARM = 10  # first steps that do not count in a speed


class Work:
    """Arguments of a contender, and the text as ids of characters.

    Attributes:
        train, validation: (N,) int64.
        vocab_size: characters.
    """

    def __init__(self) -> None:
        parser = argparse.ArgumentParser()
        parser.add_argument("--text", type=Path, required=True)
        parser.add_argument("--steps", type=int, required=True)
        parser.add_argument("--rows", type=int, default=64)
        parser.add_argument("--seed", type=int, default=0)
        parser.add_argument("--compile", action="store_true")
        parser.add_argument("--began", type=float, default=time.time(), help="when the process was started")
        self.options = parser.parse_args()
        text = self.options.text.read_text(encoding="utf-8")
        ids = {character: i for i, character in enumerate(sorted(set(text)))}
        tokens = torch.tensor([ids[character] for character in text])
        cut = len(tokens) - int(VALIDATION * len(tokens))
        self.train, self.validation = tokens[:cut], tokens[cut:]
        self.vocab_size = len(ids)
        self._generator = torch.Generator().manual_seed(self.options.seed)
        self._seconds: list[float] = []
        self._first = self._trained = 0.0

    def windows(self) -> tuple[Tensor, Tensor]:
        """Random windows and the tokens one further on, (rows, CONTEXT) each."""
        starts = torch.randint(len(self.train) - CONTEXT, (self.options.rows,), generator=self._generator)
        rows = self.train[starts[:, None] + torch.arange(CONTEXT + 1)]
        return rows[:, :-1], rows[:, 1:]

    def run(self, step: Callable[[int], None]) -> None:
        """Call `step` for each step and note how long it takes."""
        self._first = time.time()
        for number in range(self.options.steps):
            began = time.perf_counter()
            step(number)
            self._seconds.append(time.perf_counter() - began)
        self._trained = time.time()

    def timed(self, train: Callable[[], object], ends: list[float]) -> None:
        """For a trainer with a loop of its own, which puts its beginning and each step's end into `ends`."""
        train()
        self._trained = time.time()
        self._seconds = [after - before for before, after in pairwise(ends)]
        self._first = self._trained - (ends[-1] - ends[0])

    def loss(self, logits_of: Callable[[Tensor], Tensor]) -> float:
        """Nats a token over the whole validation text, each target once, in windows that do not overlap."""
        R = (len(self.validation) - 1) // CONTEXT
        inputs = self.validation[: R * CONTEXT].view(R, CONTEXT)
        targets = self.validation[1 : R * CONTEXT + 1].view(R, CONTEXT)
        rest = self.validation[R * CONTEXT :][None]
        pieces = [*zip(inputs.split(64), targets.split(64), strict=True)]
        if rest.shape[1] > 1:
            pieces.append((rest[:, :-1], rest[:, 1:]))
        total = 0.0
        with torch.no_grad():
            for x, y in pieces:
                total += F.cross_entropy(
                    logits_of(x).flatten(0, 1).float(), y.flatten(), reduction="sum"
                ).item()
        return total / (len(self.validation) - 1)

    def report(self, parameters: int, loss: float) -> None:
        """Print what the benchmark reads."""
        steady = self._seconds[WARM:] or self._seconds
        print(
            json.dumps(
                {
                    "tokens_per_second": self.options.rows * CONTEXT / statistics.median(steady),
                    "start_up": self._first - self.options.began,
                    "first_step": self._seconds[0],
                    "seconds": self._trained - self.options.began,
                    "parameters": parameters,
                    "loss": loss,
                }
            )
        )


def cosine(step: int, steps: int, warmup: int, floor: float) -> float:
    """Share of the peak rate: linear warm-up, then half a cosine down to `floor`."""
    if step < warmup:
        return (step + 1) / warmup
    return floor + (1 - floor) * 0.5 * (1 + math.cos(math.pi * (step - warmup) / max(1, steps - warmup)))
