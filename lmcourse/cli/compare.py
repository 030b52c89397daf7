"""`lmcourse compare`: runs side by side on the same held-out text, and what of the difference is noise."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from lmcourse.errors import CourseError

if TYPE_CHECKING:
    from lmcourse.cli.held_out import HeldOut
    from lmcourse.figures.comparison import Curve

HELP = "Compare runs on the same held-out text: a table, and curves with their noise as a picture."
SURE = 2.0  # standard errors
UNSEEN = (
    "seed",
    "evaluate_every",
    "save_every",
    "monitor_every",
    "loader_workers",
)  # by the comparison of seeds


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("runs", metavar="RUN", nargs="+", help="folders of runs, or their names below runs/")
    parser.add_argument(
        "--text", metavar="PATH", help="measure all of them on this text: UTF-8 files, .jsonl, or a folder"
    )
    parser.add_argument(
        "--out", metavar="PNG", default="compare.png", help="the picture (default: compare.png)"
    )


def run(args: argparse.Namespace) -> int:
    """Exit status 0.

    Raises:
        CourseError: fewer than two runs, or runs whose losses cannot be compared.
    """
    from lmcourse.cli.held_out import held_out
    from lmcourse.cli.train import find_run

    folders = [find_run(name) for name in args.runs]
    if len(folders) < 2 or len({folder.resolve() for folder in folders}) < len(folders):
        raise CourseError("RUN: name two different runs or more to compare")
    out = Path(args.out)
    if out.suffix.lower() != ".png":
        raise CourseError(f"--out: expected a file that ends with .png, got {args.out!r}")
    runs = [held_out(folder, args.text) for folder in folders]
    in_bytes = check_comparable(runs, args.text)
    print("\n".join(table(runs, in_bytes)))
    if args.text is not None:  # the curves are of what each run held out itself
        runs = [held_out(folder, None) for folder in folders]
    draw(runs, in_bytes, out)
    return 0


def check_comparable(runs: Sequence[HeldOut], text: str | None) -> bool:
    """Whether only bits per byte can be compared, since the tokenizers differ.

    Raises:
        CourseError: the runs were measured on different texts, or on bare numbers of different kinds.
    """
    first = runs[0]
    for other in runs[1:]:
        if other.text_hash != first.text_hash:
            hint = "with --text PATH all are measured on one" if first.units and other.units else ""
            raise CourseError(
                f"{first.run} and {other.run} hold out different texts, so their losses say nothing of each "
                f"other; {hint or 'compare runs on the same corpus'}"
            )
    return len({_kind_of_tokens(held) for held in runs}) > 1


def table(runs: Sequence[HeldOut], in_bytes: bool) -> list[str]:
    """The lines: each run's loss, and how far it is from the best one."""
    losses = [_loss(held, in_bytes) for held in runs]
    best = int(np.argmin(losses))
    unit = "bits/byte" if in_bytes else "nats/token"
    width = max(12, *(len(str(held.run)) for held in runs)) + 2
    lines = [f"{'':<{width}}{'targets':>10}{unit:>12}{'± error':>10}{'bits/byte':>11}  to the best"]
    for held, loss in zip(runs, losses, strict=True):
        error = _scale(held, in_bytes) * held.standard_error(held.nats)
        byte = f"{held.units.bits_per_byte(held.nats, held.targets):.4f}" if held.units else "-"
        gap = "best" if held is runs[best] else _gap(held, runs[best], in_bytes)
        lines.append(
            f"{held.run!s:<{width}}{len(held.targets):>10,}{loss:>12.4f}{error:>10.4f}{byte:>11}  {gap}"
        )
    if in_bytes:
        lines += ["", "The tokenizers differ, so only bits per byte can be compared."]
    return lines + _seeds(runs, losses, unit)


def draw(runs: Sequence[HeldOut], in_bytes: bool, out: Path) -> None:
    """Write the picture and say where it is.

    Raises:
        CourseError: more runs than can be told apart, or a file that cannot be written.
    """
    from lmcourse.figures.comparison import comparison_figure

    unit = "bits per byte, ends of documents charged" if in_bytes else "nats per token"
    figure, alt = comparison_figure([_curve(held, in_bytes) for held in runs], unit)
    try:
        figure.savefig(out, dpi=150)
    except OSError as error:
        raise CourseError(f"--out: {out} cannot be written ({error.strerror or error})") from None
    print(f"\n{out}: {alt}")


def _loss(held: HeldOut, in_bytes: bool) -> float:
    return held.units.bits_per_byte(held.nats, held.targets) if in_bytes else float(held.nats.mean())


def _gap(held: HeldOut, best: HeldOut, in_bytes: bool) -> str:
    """The difference with its noise: paired where both were measured on the same targets."""
    difference = _loss(held, in_bytes) - _loss(best, in_bytes)
    paired = not in_bytes and np.array_equal(held.places, best.places)
    if paired:
        error = held.standard_error(held.nats - best.nats)
    else:
        error = math.hypot(*(_scale(one, in_bytes) * one.standard_error(one.nats) for one in (held, best)))
    if not math.isfinite(error):
        return f"{difference:+.4f}"
    verdict = "" if difference > SURE * error else ", within the noise of the text"
    return f"{difference:+.4f} ± {error:.4f}{verdict}"


def _seeds(runs: Sequence[HeldOut], losses: Sequence[float], unit: str) -> list[str]:
    """A line for each group of runs that differ in nothing but the seed."""
    groups: dict[str, list[float]] = {}
    names: dict[str, list[str]] = {}
    for held, loss in zip(runs, losses, strict=True):
        key = repr([(k, v) for k, v in asdict(held.config).items() if k not in UNSEEN])
        groups.setdefault(key, []).append(loss)
        names.setdefault(key, []).append(held.run.name)
    lines = [
        f"{', '.join(names[key])}: {np.mean(group):.4f} {unit} over {len(group)} seeds, "
        f"standard deviation {np.std(group, ddof=1):.4f}"
        for key, group in groups.items()
        if len(group) > 1
    ]
    if lines:
        return ["", *lines]
    return ["", "One seed each: other seeds move a loss too, and the errors above do not know how far."]


def _curve(held: HeldOut, in_bytes: bool) -> Curve:
    from lmcourse.figures.comparison import Curve
    from lmcourse.figures.run_data import read_run

    log = read_run(held.run)
    seen, validation = log.column("tokens_seen"), log.column("validation_loss")
    measured = ~np.isnan(validation)
    scale = _scale(held, in_bytes)
    return Curve(
        held.run.name,
        seen,
        scale * log.smoothed_loss(),
        seen[measured],
        scale * validation[measured],
        SURE * scale * held.standard_error(held.nats),
    )


def _scale(held: HeldOut, in_bytes: bool) -> float:
    """From nats per token to bits per byte, with the ends of documents charged to the text."""
    if not in_bytes:
        return 1.0
    return len(held.targets) / math.log(2) / int(held.units.bytes[held.targets].sum())


def _kind_of_tokens(held: HeldOut) -> tuple[str, int]:
    tokenizer = held.data.tokenizer
    return (tokenizer.fingerprint if tokenizer else "", held.data.vocab_size)
