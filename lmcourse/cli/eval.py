"""`lmcourse eval`: a run's loss on all of its held-out text, beside what simpler predictors reach."""

from __future__ import annotations

import argparse
import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from lmcourse.cli.held_out import HeldOut

HELP = "Measure a run on all of its held-out text, beside n-grams, xz and the floor."
LONGEST_GRAM = 5
MOST_TOKENS = 2_000_000  # of the end of the training stream, that n-grams count
MOST_BYTES = 8_000_000  # of the end of the training text, that xz sees


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", metavar="RUN", help="folder of a run, or its name below runs/")
    parser.add_argument(
        "--text", metavar="PATH", help="measure on this text instead: UTF-8 files, .jsonl, or a folder"
    )


def run(args: argparse.Namespace) -> int:
    """Exit status 0.

    Raises:
        CourseError: no sound run there, or a text that its tokenizer cannot spell.
    """
    from lmcourse.cli.held_out import held_out
    from lmcourse.cli.train import find_run

    print("\n".join(report(held_out(find_run(args.run), args.text), args.text)))
    return 0


def report(held: HeldOut, text: str | None) -> list[str]:
    """The lines of the table: from the simplest predictor to the model and the floor."""
    rows = "rows of whole documents" if held.config.batches == "documents" else "windows without overlap"
    lines = [
        f"{held.run}: {len(held.targets):,} targets of {text or 'the held-out text'}, in {rows} of "
        f"{held.config.context} tokens",
        "",
        _line("", "nats/token", "perplexity", "bits/char", "bits/byte"),
    ]
    V = held.data.vocab_size
    lines.append(_row(held, f"uniform, ln {V}", np.full(len(held.targets), math.log(V))))
    lines += [_row(held, name, nats) for name, nats in _ngrams(held)]
    lines.append(_compressed(held))
    lines.append(_row(held, "the model", held.nats))
    if held.data.oracle is not None:
        lines.append(_row(held, "floor (the truth)", held.data.oracle[held.places]))
    error = held.standard_error(held.nats)
    if math.isfinite(error):
        lines += [
            "",
            f"The model's loss is {held.nats.mean():.4f} ± {error:.4f}: the standard error over rows.",
        ]
    if held.data.eos is not None and held.units:
        lines.append("Bits leave out the ends of documents, which are no text.")
    return lines + _shortened(held)


def _ngrams(held: HeldOut) -> list[tuple[str, np.ndarray]]:
    from lmcourse.evaluation.ngram import NGram

    train = np.asarray(held.data.train[-MOST_TOKENS:])
    stream = np.asarray(held.data.validation[:])
    found = []
    for n in range(1, LONGEST_GRAM + 1):
        model = NGram(train, held.data.vocab_size, n, held.data.eos)
        found.append(("unigram" if n == 1 else f"{n}-gram", model.nats(stream)[held.places]))
    return found


def _compressed(held: HeldOut) -> str:
    """xz codes the whole held-out text; its nats are spread over the targets."""
    from lmcourse.evaluation.compression import stream_bytes, xz_bits

    data, units = held.data, held.units
    stream = np.asarray(data.validation[:])
    before = stream_bytes(np.asarray(data.train[-MOST_BYTES:]), data.vocab_size, data.tokenizer)[-MOST_BYTES:]
    bits = xz_bits(before, stream_bytes(stream, data.vocab_size, data.tokenizer))
    nats = bits * math.log(2) / len(held.targets)
    cells = (f"{nats:.4f}", f"{math.exp(min(nats, 700)):.2f}")
    if units is None:
        return _line("xz", *cells, "-", "-")
    size = units.characters[stream].sum(), units.bytes[stream].sum()
    return _line("xz", *cells, *(f"{bits / unit:.4f}" for unit in size))


def _row(held: HeldOut, name: str, nats: np.ndarray) -> str:
    mean = float(nats.mean())
    bits = ("-", "-")
    if held.units:
        bits = tuple(
            f"{value:.4f}"
            for value in (
                held.units.bits_per_character(nats, held.targets),
                held.units.bits_per_byte(nats, held.targets),
            )
        )
    return _line(name, f"{mean:.4f}", f"{math.exp(min(mean, 700)):.2f}", *bits)


def _line(name: str, *cells: str) -> str:
    return f"{name:<20}" + "".join(f"{cell:>12}" for cell in cells)


def _shortened(held: HeldOut) -> list[str]:
    if len(held.data.train) <= MOST_TOKENS:
        return []
    return [f"n-grams count the last {MOST_TOKENS:,} training tokens, xz sees the last {MOST_BYTES:,} bytes."]
