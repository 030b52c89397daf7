"""How near a small model comes to the floor, and that nothing honest goes below it.

Prints two tables and writes them to benchmarks/floor.md: what the true distribution itself scores on held-out
samples, against the closed form; and a small model trained to rest on MarkovCorpus, once with its causal mask
and once with a mask that lets it see one token too many.

    python -m benchmarks.floor
"""

from __future__ import annotations

import math
import os
import platform
import time
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from lmcourse.corpora import MarkovCorpus, RegimeDocs, StoryGrammar
from lmcourse.model import Transformer
from lmcourse.packing import Batch
from lmcourse.schedules import factor
from lmcourse.trainer import TrainConfig, configure, training_step
from lmcourse.trainer.data import TrainingData, build_data
from lmcourse.trainer.planned import batches_of
from lmcourse.trainer.state import new_state

SEEDS = (0, 1, 2)
OUTPUT = Path(__file__).with_suffix(".md")


def main() -> None:
    torch.set_num_threads(min(2, os.cpu_count() or 1))
    sections = [machine(), oracle_table(), model_table()]
    text = "\n\n".join(["# Losses and floors", *sections]) + "\n"
    print(text)
    OUTPUT.write_text(text, encoding="utf-8")


def machine() -> str:
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    return (
        f"Measured on {platform.machine()} with {os.cpu_count()} cores, {torch.get_num_threads()} threads, "
        f"load {load:.1f} at the start; Python {platform.python_version()}, torch {torch.__version__}. "
        "Losses in nats per token; SE is the standard error."
    )


def oracle_table() -> str:
    """The true distribution on held-out samples, against the closed form, seed by seed."""
    lines = [
        "## The true distribution on a held-out sample",
        "",
        *header("corpus", "seed", "tokens", "sample", "SE", "closed form", "difference in SE"),
    ]
    for name, closed, sample in corpora():
        for seed in SEEDS:
            nats, tokens = sample(np.random.default_rng((seed, 17)))
            mean, error = ratio(nats, tokens)
            shown = [f"{int(tokens.sum()):,}", f"{mean:.4f}", f"{error:.4f}", f"{closed:.4f}"]
            lines.append(row(name, seed, *shown, f"{(mean - closed) / error:+.1f}"))
    return "\n".join(lines)


def corpora():
    """Name, closed form, and a sampler of (nats, tokens) per independent piece, for each corpus."""

    def markov(corpus: MarkovCorpus):
        def sample(rng: np.random.Generator):
            nats = corpus.oracle_nll(corpus.sample(200_000, rng)).reshape(200, -1).sum(1)
            return nats, np.full(200, 1000)

        return sample

    def regimes(corpus: RegimeDocs):
        def sample(rng: np.random.Generator):
            documents = corpus.sample_documents(24_000, rng)
            nats = np.array([corpus.oracle_nll_targets(d).sum() for d in documents])
            tokens = np.array([len(d) for d in documents])  # tokens 2..n and the end
            return nats.reshape(-1, corpus.run).sum(1), tokens.reshape(-1, corpus.run).sum(1)

        return sample

    def stories(grammar: StoryGrammar):
        def sample(rng: np.random.Generator):
            nats = [grammar.word_nll(text)[1] for text in grammar.sample_documents(1000, rng)]
            return np.array([n.sum() for n in nats]), np.array([len(n) for n in nats])

        return sample

    for order, vocab_size in ((1, 16), (2, 8)):
        corpus = MarkovCorpus(vocab_size=vocab_size, order=order)
        yield f"MarkovCorpus(V={vocab_size}, order={order})", corpus.entropy_rate, markov(corpus)
    for run in (1, 12):
        corpus = RegimeDocs(run=run)
        yield f"RegimeDocs(run={run}), counted targets", corpus.target_floor, regimes(corpus)
    grammar = StoryGrammar()
    yield "StoryGrammar, words and end", grammar.floor_per_token, stories(grammar)


def ratio(nats: np.ndarray, tokens: np.ndarray) -> tuple[float, float]:
    """Mean nats per token over independent pieces, and its standard error by the delta method."""
    mean = nats.sum() / tokens.sum()
    residual = nats - mean * tokens
    return float(mean), float(residual.std(ddof=1) * math.sqrt(len(nats)) / tokens.sum())


def model_table() -> str:
    """A small model trained to rest on MarkovCorpus(V=16), its mask whole and broken, against the floor."""
    lines = [
        "## A small model on MarkovCorpus(V=16), trained to rest",
        "",
        "Loss over the whole validation set, and what the true distribution scores on the same targets;",
        "their difference is paired, so its SE has no noise from the choice of text. Broken: each query",
        "also sees the next token, which is its target.",
        "",
        *header("mask", "seed", "loss", "floor", "difference", "SE", "seconds of training"),
    ]
    for broken in (False, True):
        for seed in SEEDS:
            config = configure("markov", seed=seed, precision="fp32")
            data = build_data(config)
            model, seconds = train(config, data, broken)
            _, validation = batches_of(config, data)
            exact = data.oracle[validation.places[:, 1:][validation.counted].numpy()]
            own = target_nats(model, validation)
            blocks = np.array_split(own - exact, 100)
            gap, error = ratio(np.array([b.sum() for b in blocks]), np.array([len(b) for b in blocks]))
            shown = [f"{own.mean():.4f}", f"{exact.mean():.4f}", f"{gap:+.4f}", f"{error:.4f}"]
            lines.append(row("broken" if broken else "whole", seed, *shown, f"{seconds:.1f}"))
    lines += ["", f"{config.steps} steps of {config.batch} windows of {config.context} tokens."]
    return "\n".join(lines)


def header(*names: str) -> list[str]:
    return [row(*names), row(*["---"] * len(names))]


def row(*cells: object) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def train(config: TrainConfig, data: TrainingData, broken: bool) -> tuple[Transformer, float]:
    state = new_state(config, data)
    if broken:
        state.model.plan = lambda tokens, doc_id: off_by_one
    batch_at, _ = batches_of(config, data)
    began = time.perf_counter()
    for step in range(config.steps):
        rate = factor(config.lr_schedule(), step)
        training_step(state.model, state.optimizer, [batch_at(step)], rate, config.clip)
    return state.model, time.perf_counter() - began


def off_by_one(q: Tensor, k: Tensor, v: Tensor, dropout: float) -> Tensor:
    """Causal attention gone wrong: query i may attend to keys up to i+1."""
    T = q.shape[1]
    q, k, v = (x.transpose(1, 2) for x in (q, k, v))
    mask = torch.ones(T, T, dtype=torch.bool).tril(1)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=dropout).transpose(1, 2)


def target_nats(model: Transformer, batches: Iterable[Batch]) -> np.ndarray:
    """Nats of every counted target, in order."""
    model.eval()
    with torch.inference_mode():
        parts = []
        for batch in batches:
            logits = model(batch.inputs, batch.positions, batch.doc_id).double()  # (B, T, V)
            nats = -logits.log_softmax(-1).gather(2, batch.targets[..., None])[..., 0]
            parts.append(nats[batch.keep])
    return torch.cat(parts).numpy()


if __name__ == "__main__":
    main()
