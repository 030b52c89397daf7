"""Three training runs that suffer from a number format, each in its own way: week 3's diagnosis.

- A: weights in bfloat16 without masters, at a small learning rate: most updates are absorbed.
- B: float16 gradients without loss scaling: small ones become zero.
- C: float16 gradients with a scale that never comes down: they overflow, and every step is left out.

`python -m lmcourse.experiments.precision_logs --record` writes data/runs/precision_logs.json.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from dataclasses import asdict, dataclass

import numpy as np
import torch
from torch import Tensor, nn

from lmcourse.corpora import MarkovCorpus
from lmcourse.experiments.records import load_record, record_path, write_record
from lmcourse.model import Transformer, TransformerConfig
from lmcourse.objective import masked_cross_entropy
from lmcourse.packing import sample_windows
from lmcourse.threads import one_thread
from lmcourse.trainer.batches import generator_for

NAME = "precision_logs"
MADE_BY = "python -m lmcourse.experiments.precision_logs --record"
B, T, V = 8, 32, 16
STEPS = 120
EVERY = 10
HUGE = 2.0**30


@dataclass(frozen=True)
class LogLine:
    """One line of a log, the mean over the last steps where it is a share."""

    step: int
    loss: float
    gradient_norm: float | None  # None where it was not finite
    unmoved_weights: float  # share of weights that the step did not change
    zero_gradients: float  # share of gradients that are exactly zero
    skipped_steps: float  # share of steps that were left out


Step = Callable[[Transformer], tuple[float, float, bool]]


def precision_logs(seed: int = 0, steps: int = STEPS) -> dict[str, list[LogLine]]:
    """The logs of the three runs, and of a healthy one as "healthy"."""
    corpus = MarkovCorpus(vocab_size=V)
    stream = torch.from_numpy(corpus.sample(40_000, np.random.default_rng(seed)))
    makers = {"healthy": _healthy, "A": _absorbing, "B": _underflowing, "C": _overflowing}
    with one_thread():
        return {name: _run(make, stream, seed, steps) for name, make in makers.items()}


def load_recorded_logs() -> dict[str, list[LogLine]]:
    """The recorded logs A, B, C and "healthy".

    Raises:
        CourseError: the record is missing or damaged.
    """
    first = load_record(NAME)["results"][0]
    return {name: [LogLine(**line) for line in lines] for name, lines in first["logs"].items()}


def _run(make: Callable, stream: Tensor, seed: int, steps: int) -> list[LogLine]:
    model = Transformer(TransformerConfig(V, T, layers=1, heads=2, width=32), seed)
    train, lines = make(model), []
    unmoved, zeros, skipped, losses = [], [], [], []
    for step in range(steps):
        inputs, targets = sample_windows(stream, B, T, generator_for(seed, step))
        loss = masked_cross_entropy(model(inputs), targets)
        before = [p.detach().clone() for p in model.parameters()]
        norm, zero, skip = train(loss)
        model.zero_grad()
        same = [
            torch.eq(a, p.detach()).float().mean() for a, p in zip(before, model.parameters(), strict=True)
        ]
        sizes = [p.numel() for p in model.parameters()]
        unmoved.append(float(np.average(same, weights=sizes)))
        zeros.append(zero)
        skipped.append(float(skip))
        losses.append(loss.item())
        if (step + 1) % EVERY == 0:
            recent = slice(-EVERY, None)
            lines.append(
                LogLine(
                    step + 1,
                    float(np.mean(losses[recent])),
                    norm if math.isfinite(norm) else None,
                    *(float(np.mean(values[recent])) for values in (unmoved, zeros, skipped)),
                )
            )
    return lines


def _healthy(model: Transformer) -> Callable[[Tensor], tuple[float, float, bool]]:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)

    def train(loss: Tensor) -> tuple[float, float, bool]:
        loss.backward()
        norm, zero = _norm(model), _zero_share(model)
        optimizer.step()
        return norm, zero, False

    return train


def _absorbing(model: Transformer) -> Callable[[Tensor], tuple[float, float, bool]]:
    """Adam with a learning rate that float32 would use well, on weights that are rounded after each step."""
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-5)
    _round(model)

    def train(loss: Tensor) -> tuple[float, float, bool]:
        loss.backward()
        norm, zero = _norm(model), _zero_share(model)
        optimizer.step()
        _round(model)
        return norm, zero, False

    return train


def _underflowing(model: Transformer) -> Callable[[Tensor], tuple[float, float, bool]]:
    """Gradients pass through float16 at a size as in the middle of a long average over very many tokens."""
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    shrink = 2.0**-18  # as a mean over some 250,000 times as many terms would

    def train(loss: Tensor) -> tuple[float, float, bool]:
        (loss * shrink).backward()
        _through_float16(model)
        norm, zero = _norm(model), _zero_share(model)
        optimizer.step()
        return norm, zero, False

    return train


def _overflowing(model: Transformer) -> Callable[[Tensor], tuple[float, float, bool]]:
    """A loss scale far too large, and a rule that skips but never lowers it."""
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

    def train(loss: Tensor) -> tuple[float, float, bool]:
        (loss * HUGE).backward()
        _through_float16(model)
        norm, zero = _norm(model), _zero_share(model)
        if not math.isfinite(norm):
            return norm, zero, True
        for parameter in model.parameters():
            parameter.grad.div_(HUGE)
        optimizer.step()
        return norm / HUGE, zero, False

    return train


def _round(model: nn.Module) -> None:
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(parameter.bfloat16().float())


def _through_float16(model: nn.Module) -> None:
    for parameter in model.parameters():
        parameter.grad = parameter.grad.half().float()


def _norm(model: nn.Module) -> float:
    return float(torch.nn.utils.get_total_norm([p.grad for p in model.parameters()]))


def _zero_share(model: nn.Module) -> float:
    gradients = torch.cat([p.grad.flatten() for p in model.parameters()])
    return float((gradients == 0).float().mean())


def main() -> None:
    """Print the last line of each log, or record them."""
    parser = argparse.ArgumentParser(description="Runs that suffer from a number format.")
    parser.add_argument("--record", action="store_true", help=f"write {record_path(NAME)}")
    arguments = parser.parse_args()
    logs = precision_logs()
    for name, lines in logs.items():
        print(name, lines[0], lines[-1], sep="\n  ")
    if arguments.record:
        result = {"seed": 0, "logs": {name: [asdict(line) for line in lines] for name, lines in logs.items()}}
        write_record(NAME, MADE_BY, {"torch": str(torch.__version__), "steps": STEPS}, [result])


if __name__ == "__main__":
    main()
