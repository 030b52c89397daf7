"""What a leak between packed documents costs, or seems to give: week 1's experiment.

Two models are trained on the same packed rows of `RegimeDocs`, one with the document mask and positions that
start again in each document, one without. Both are then measured on held-out documents twice: in the order of
the corpus, where twelve neighbors share a regime, and shuffled, where neighbors say nothing. Each loss is
compared with the exact floor of a document seen alone, target by target, so that the gap has no noise from
the choice of documents. A gap below zero is possible only for a model that reads other documents.

`python -m lmcourse.experiments.leak --record` runs it for several seeds and writes data/runs/leak.json.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from lmcourse.corpora import RegimeDocs
from lmcourse.evaluation import evaluate
from lmcourse.experiments.leak_record import NAME, RUNS, SEEDS, load_recorded_leak, write_record
from lmcourse.model import Transformer, TransformerConfig
from lmcourse.optimizers import adamw
from lmcourse.packing import Batch, document_batch, pack
from lmcourse.schedules import warmup_cosine
from lmcourse.threads import one_thread
from lmcourse.trainer.batches import generator_for
from lmcourse.trainer.step import training_step

__all__ = ["LeakResult", "leak_experiment", "load_recorded_leak"]

T = 64  # tokens per row: about eleven documents
B = 16  # rows per step
STEPS = 1000
WARMUP = 50
LEARNING_RATE = 1e-2
VALIDATION_DOCUMENTS = 6000
GAPS = ("in_order_masked", "in_order_unmasked", "shuffled_masked", "shuffled_unmasked")


@dataclass(frozen=True)
class LeakResult:
    """
    Attributes:
        run: neighboring documents that share a regime.
        gaps: nats per target above (+) or below (-) the exact floor, by order of the validation documents and
            training: in_order_masked, in_order_unmasked, shuffled_masked, shuffled_unmasked.
        floor: exact expected nats per counted target of a document seen alone.
        targets: counted in each measurement.
        seconds: of both trainings and all measurements.
    """

    run: int
    seed: int
    steps: int
    gaps: dict[str, float]
    floor: float
    targets: int
    seconds: float


def leak_experiment(seed: int = 0, steps: int = STEPS, run: int = 12) -> LeakResult:
    """Train with and without the document mask, measure in order and shuffled.

    Computes on one thread, and gives torch its threads back: such small models gain nothing from two, and the
    numbers are then the same on a busy machine.

    Args:
        seed: of the documents, the weights and the order of the rows; the language itself stays the same.
        steps: optimizer steps of each of the two models.
        run: neighboring documents that share a regime; 1 makes them independent.
    """
    began = time.perf_counter()
    corpus = RegimeDocs(run=run)
    rng = np.random.default_rng((seed, run))
    documents = int(steps * B * (T + 1) / (corpus.mean_length + 1)) + 100
    rows, _ = pack(corpus.sample_documents(documents, rng), T, corpus.eos_id)
    in_order = corpus.sample_documents(VALIDATION_DOCUMENTS, rng)
    shuffled = [in_order[i] for i in rng.permutation(len(in_order))]
    validation = {"in_order": _validation(corpus, in_order), "shuffled": _validation(corpus, shuffled)}

    gaps = {}
    with one_thread():
        for name, masked in (("masked", True), ("unmasked", False)):
            model = _train(corpus, rows, steps, seed, masked)
            for order, (batches, floor) in validation.items():
                result = evaluate(model, (_view(batch, masked) for batch in batches))
                gaps[f"{order}_{name}"] = result.loss - floor
    targets = sum(batch.count for batch in validation["in_order"][0])
    gaps = {key: gaps[key] for key in GAPS}
    return LeakResult(run, seed, steps, gaps, corpus.target_floor, targets, time.perf_counter() - began)


def _train(corpus: RegimeDocs, rows: Tensor, steps: int, seed: int, masked: bool) -> Transformer:
    # Learned positions too: rotary ones tell distances only, and a masked document has no mark at its start,
    # so a document of equal tokens looks the same at every length, and its end cannot be foreseen.
    shape = TransformerConfig(corpus.vocab_size + 1, T, layers=2, heads=2, width=32, positions="both")
    model = Transformer(shape, seed)
    optimizer = adamw(model, LEARNING_RATE)
    order = torch.randperm(len(rows), generator=generator_for(seed))
    for step in range(steps):
        batch = _view(document_batch(rows[order[step * B : (step + 1) * B]], corpus.eos_id), masked)
        factor = warmup_cosine(step, peak=1.0, floor=0.1, warmup=WARMUP, total=steps)
        training_step(model, optimizer, [batch], factor, clip=1.0)
    return model


def _view(batch: Batch, masked: bool) -> Batch:
    """The same inputs and the same counted targets, with or without what keeps documents apart."""
    return batch if masked else Batch(batch.inputs, batch.targets, batch.keep)


def _validation(corpus: RegimeDocs, documents: list[np.ndarray]) -> tuple[list[Batch], float]:
    """Batches, and the mean of the exact nats over their counted targets.

    The first document of a row may have begun in the row before, and the floor knows its whole past: its
    targets do not count.
    """
    rows, _ = pack(documents, T, corpus.eos_id)
    nats = np.concatenate([np.append(np.nan, corpus.oracle_nll_targets(doc)) for doc in documents])
    nats = torch.from_numpy(nats[: rows.numel()]).view_as(rows)
    batches, exact = [], []
    for part, part_nats in zip(rows.split(4 * B), nats.split(4 * B), strict=True):
        batch = document_batch(part, corpus.eos_id)
        begun_here = (batch.inputs == corpus.eos_id).cumsum(1) > 0
        keep = batch.keep & begun_here
        batches.append(Batch(batch.inputs, batch.targets, keep, batch.positions, batch.doc_id))
        exact.append(part_nats[:, 1:][keep])
    return batches, float(torch.cat(exact).mean())


def main() -> None:
    """Print the four gaps for several seeds of both corpora, or record them."""
    parser = argparse.ArgumentParser(description="What a leak between packed documents costs.")
    parser.add_argument("--record", action="store_true", help=f"write {NAME}")
    parser.add_argument(
        "--seeds", type=int, default=len(SEEDS), help="number of seeds (default: %(default)s)"
    )
    arguments = parser.parse_args()
    results = []
    for run in RUNS:
        for seed in range(arguments.seeds):
            results.append(leak_experiment(seed, run=run))
            shown = "  ".join(f"{key} {gap:+.3f}" for key, gap in results[-1].gaps.items())
            print(f"run {run:2} seed {seed}  {shown}  {results[-1].seconds:.0f} s", flush=True)
    if arguments.record:
        settings = {"torch": str(torch.__version__), "T": T, "B": B, "learning_rate": LEARNING_RATE}
        write_record(results, settings, NAME)


if __name__ == "__main__":
    main()
