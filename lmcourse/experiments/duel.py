"""AdamW against Muon, equally tuned: week 4's experiment.

One small model on stories, the same data and the same grid of learning rates for both optimizers, several
seeds. Muon's updates are sized as AdamW's are (scale "match_adamw"), so that one grid is fair to both; the
parameters that are no hidden matrices follow AdamW at the same rate.
`python -m lmcourse.experiments.duel --record` runs the grid and writes data/runs/duel.json.
"""

from __future__ import annotations

import argparse

import numpy as np
import torch

from lmcourse.corpora import StoryGrammar
from lmcourse.experiments.records import load_record, record_path, write_record
from lmcourse.model import Transformer, TransformerConfig
from lmcourse.objective import masked_cross_entropy
from lmcourse.optimizers import OptimizerSettings, make_optimizer, set_learning_rate
from lmcourse.packing import sample_windows
from lmcourse.schedules import warmup_cosine
from lmcourse.threads import one_thread
from lmcourse.tokenizers import WordTokenizer
from lmcourse.trainer.batches import generator_for

NAME = "duel"
MADE_BY = "python -m lmcourse.experiments.duel --record"
OPTIMIZERS = ("adamw", "muon")
RATES = (3e-3, 1e-2, 3e-2, 1e-1)
SEEDS = (0, 1)
B, T = 16, 48  # rows in a batch, tokens in a row
STEPS = 200
WARMUP = 20
STORIES, HELD_OUT = 1_500, 64  # documents, and rows of T targets
WEIGHT_DECAY = 0.1
VALIDATION_SEED = 1_000  # of the held-out rows, the same for all runs


def duel_run(name: str, lr: float, seed: int, steps: int = STEPS) -> float:
    """Validation loss in nats per token after training one model.

    Args:
        name: "adamw" or "muon".
        lr: peak learning rate.
        seed: of weights and order of data; the stories stay the same.
    """
    with one_thread():
        train, held_out, vocab_size = _stories()
        model = Transformer(TransformerConfig(vocab_size, T, layers=2, heads=2, width=48), seed)
        settings = OptimizerSettings(name, lr, WEIGHT_DECAY, newton_schulz="fp32")
        optimizer = make_optimizer(model, settings)
        for step in range(steps):
            inputs, targets = sample_windows(train, B, T, generator_for(seed, step))
            masked_cross_entropy(model(inputs), targets).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            set_learning_rate(optimizer, warmup_cosine(step, peak=1.0, floor=0.1, warmup=WARMUP, total=steps))
            optimizer.step()
            optimizer.zero_grad()
        inputs, targets = sample_windows(
            held_out, HELD_OUT, T, torch.Generator().manual_seed(VALIDATION_SEED)
        )
        with torch.no_grad():
            return masked_cross_entropy(model(inputs), targets).item()


def load_recorded_duel() -> list[dict[str, float | int | str]]:
    """One entry a run: {"optimizer", "lr", "seed", "loss"}, the loss in nats per token on held-out stories.

    Raises:
        CourseError: the record is missing or damaged.
    """
    return load_record(NAME)["results"]


def _stories() -> tuple[torch.Tensor, torch.Tensor, int]:
    """Tokens for training, tokens held out, and the size of the vocabulary."""
    grammar = StoryGrammar()
    tokenizer = WordTokenizer.train(grammar.vocabulary)
    texts = grammar.sample_documents(STORIES, np.random.default_rng(0))
    parts = texts[: -STORIES // 10], texts[-STORIES // 10 :]
    train, held_out = (
        torch.tensor([t for text in part for t in (*tokenizer.encode(text), tokenizer.eos_id)])
        for part in parts
    )
    return train, held_out, tokenizer.vocab_size


def main() -> None:
    """Print the grid, or record it."""
    parser = argparse.ArgumentParser(description="AdamW against Muon, equally tuned")
    parser.add_argument("--record", action="store_true", help=f"write {record_path(NAME)}")
    arguments = parser.parse_args()
    results = []
    for name in OPTIMIZERS:
        for lr in RATES:
            for seed in SEEDS:
                loss = round(duel_run(name, lr, seed), 4)
                print(f"{name:6} rate {lr:<6g} seed {seed}  {loss:.4f}", flush=True)
                results.append({"optimizer": name, "lr": lr, "seed": seed, "loss": loss})
    if arguments.record:
        settings = {"unit": "nats per token on held-out stories", "torch": str(torch.__version__),
                    "steps": STEPS, "rates": RATES}  # fmt: skip
        write_record(NAME, MADE_BY, settings, results)


if __name__ == "__main__":
    main()
