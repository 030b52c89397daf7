"""Who notices a forgotten division by K? Week 2's experiment.

The same model is trained with the right accumulation and with one that forgets to divide by the number of
micro-batches, so that every gradient is K times too large: under SGD, under AdamW, and under AdamW with
clipping. `python -m lmcourse.experiments.accumulation --record` runs it for several seeds and writes
data/runs/accumulation.json.
"""

from __future__ import annotations

import argparse
import math
import statistics
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch

from lmcourse.corpora import MarkovCorpus
from lmcourse.experiments.records import load_record, record_path, write_record
from lmcourse.model import Transformer, TransformerConfig
from lmcourse.objective import masked_cross_entropy
from lmcourse.packing import sample_windows
from lmcourse.threads import one_thread
from lmcourse.trainer.batches import generator_for

NAME = "accumulation"
MADE_BY = "python -m lmcourse.experiments.accumulation --record"
SEEDS = range(5)
K, B, T = 4, 4, 32  # micro-batches a step, rows in each, tokens in a row
STEPS = 400
LAST = 50  # steps that the final loss is a mean of
CORPUS_TOKENS = 200_000
CLIP = 1.0
SETUPS = ("sgd", "adamw", "adamw_clip")
RATES = {"sgd": 1.0, "adamw": 3e-3, "adamw_clip": 3e-3}
NOT_FINITE = 1e9  # stands for a loss that is no longer a number, so that records stay plain JSON


@dataclass(frozen=True)
class Training:
    """One model: nats per token of each step, and the share of steps whose gradient was clipped."""

    losses: tuple[float, ...]
    clipped: float

    @property
    def final(self) -> float:
        """Mean loss of the last steps; infinite for a run that blew up."""
        last = self.losses[-LAST:]
        mean = statistics.fmean(last)
        return mean if math.isfinite(mean) and mean < NOT_FINITE else math.inf


def accumulation_experiment(seed: int = 0, steps: int = STEPS) -> dict[str, Training]:
    """Train six models: keys `sgd_right`, `sgd_forgot`, `adamw_right` and so on.

    Args:
        seed: of weights and data order; the language stays the same.
        steps: optimizer steps of each model.
    """
    corpus = MarkovCorpus(vocab_size=16)
    stream = torch.from_numpy(corpus.sample(CORPUS_TOKENS, np.random.default_rng(seed)))
    results = {}
    with one_thread():
        for setup in SETUPS:
            for name, divide in (("right", K), ("forgot", 1)):
                results[f"{setup}_{name}"] = _train(setup, stream, seed, steps, divide)
    return results


def floor() -> float:
    """Entropy rate of the language, in nats per token."""
    return MarkovCorpus(vocab_size=16).entropy_rate


def load_recorded_accumulation() -> list[dict[str, dict[str, float]]]:
    """For each recorded seed: run -> {"final", "clipped"}; `final` is infinite where the run blew up.

    Raises:
        CourseError: the record is missing or damaged.
    """
    results = load_record(NAME)["results"]
    return [
        {run: {"final": math.inf if r["final"] is None else r["final"], "clipped": r["clipped"]}
         for run, r in result["runs"].items()}
        for result in results
    ]  # fmt: skip


def _train(setup: str, stream: torch.Tensor, seed: int, steps: int, divide: int) -> Training:
    model = Transformer(TransformerConfig(16, T, layers=1, heads=2, width=32), seed)
    optimizer = _optimizer(setup, model)
    limit = CLIP if setup.endswith("clip") else math.inf
    losses, clipped = [], 0
    for step in range(steps):
        loss = 0.0
        for inputs, targets in _micro_batches(stream, seed, step):
            part = masked_cross_entropy(model(inputs), targets) / divide
            part.backward()
            loss += part.item() * divide / K
        norm = float(torch.nn.utils.clip_grad_norm_(model.parameters(), limit))
        clipped += norm > limit
        losses.append(loss)
        if not math.isfinite(loss):
            break
        optimizer.step()
        optimizer.zero_grad()
    return Training(tuple(losses), clipped / len(losses))


def _optimizer(setup: str, model: Transformer) -> torch.optim.Optimizer:
    if setup == "sgd":
        return torch.optim.SGD(model.parameters(), lr=RATES[setup])
    return torch.optim.AdamW(model.parameters(), lr=RATES[setup], betas=(0.9, 0.95), weight_decay=0.0)


def _micro_batches(stream: torch.Tensor, seed: int, step: int) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    generator = generator_for(seed, step)
    for _ in range(K):
        yield sample_windows(stream, B, T, generator)


def main() -> None:
    """Print final losses for several seeds, or record them."""
    parser = argparse.ArgumentParser(description="Who notices a forgotten division by K?")
    parser.add_argument("--record", action="store_true", help=f"write {record_path(NAME)}")
    parser.add_argument(
        "--seeds", type=int, default=len(SEEDS), help="number of seeds (default: %(default)s)"
    )
    arguments = parser.parse_args()
    results = []
    for seed in range(arguments.seeds):
        runs = accumulation_experiment(seed)
        shown = "  ".join(f"{run} {t.final:.4f} ({t.clipped:.0%})" for run, t in runs.items())
        print(f"seed {seed}  {shown}", flush=True)
        finals = {run: {"final": t.final if math.isfinite(t.final) else None, "clipped": t.clipped}
                  for run, t in runs.items()}  # fmt: skip
        results.append({"seed": seed, "runs": finals})
    if arguments.record:
        settings = {"unit": "nats per token, mean of the last steps", "torch": str(torch.__version__), "K": K,
                    "rates": RATES, "steps": STEPS, "floor": floor()}  # fmt: skip
        write_record(NAME, MADE_BY, settings, results)


if __name__ == "__main__":
    main()
