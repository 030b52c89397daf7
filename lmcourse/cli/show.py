"""`lmcourse show`: a run in one picture and a page of text."""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import TYPE_CHECKING

from lmcourse.errors import CourseError

if TYPE_CHECKING:
    from rich.table import Table

    from lmcourse.figures.run_data import RunData

HELP = "Show a run: one picture of its curves, and its figures by layer."
PICTURE = "run.png"  # in the folder of the run


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", metavar="RUN", help="folder of a run, or its name below runs/")
    parser.add_argument("--png", metavar="FILE", help=f"where the picture goes (default: RUN/{PICTURE})")
    parser.add_argument("--dark", action="store_true", help="the picture on a dark background")


def run(args: argparse.Namespace) -> int:
    """Exit status 0.

    Raises:
        CourseError: no run there, none of its steps is done, or the picture cannot be written.
    """
    from rich.console import Console

    from lmcourse.cli.train import find_run
    from lmcourse.figures.live import run_picture
    from lmcourse.figures.run_data import read_run

    data = read_run(find_run(args.run))
    target = Path(args.png) if args.png else data.folder / PICTURE
    try:
        target.write_bytes(run_picture(data, "dark" if args.dark else "light").png)
    except OSError as error:
        raise CourseError(f"--png: cannot write {target} ({error.strerror or error})") from None
    console = Console(highlight=False)
    for line in summary(data):
        console.print(line, markup=False, soft_wrap=True)
    if data.tables:
        console.print(layer_table(data))
    console.print(f"picture           {target}", markup=False, soft_wrap=True)
    return 0


def summary(run: RunData) -> list[str]:
    """What the picture says, in lines."""
    last = run.records[-1]
    at, validation = run.validation()
    lines = [
        f"run               {run.folder}, {last.step} of {run.config.steps} steps, "
        f"{last.tokens_seen:,} tokens",
        f"training loss     {run.smoothed_loss()[-1]:.4f} nats per token, mean of the last steps",
    ]
    if len(validation):
        lines.append(f"validation loss   {validation[-1]:.4f} after step {at[-1]:.0f}")
    lines += [f"{name:17} {value:.4f}" for name, value in run.lines.items()]
    if run.tables:
        lines.append(
            f"clipped           {run.tables[-1]['clip_share']:.0%} of the steps, at norm {run.config.clip:g}"
        )
    passed = [event for event in run.events if event["outcome"] in ("skip", "roll_back")]
    if passed:
        back = sum(event["outcome"] == "roll_back" for event in passed)
        numbers = ", ".join(str(event["batch"]) for event in passed[:8]) + (
            ", ..." if len(passed) > 8 else ""
        )
        lines.append(
            f"passed over       {len(passed)} batches ({numbers}), {back} roll-backs; see events.jsonl"
        )
    seconds, tokens = run.column("seconds").sum(), run.column("tokens").sum()
    if seconds > 0:
        processed = (run.column("rows") * run.column("row_tokens")).sum()
        padded = "" if processed == tokens else f" ({processed / seconds:,.0f} with padding)"
        lines.append(f"speed             {tokens / seconds:,.0f} tokens/s{padded}")
    return lines


def layer_table(run: RunData) -> Table:
    """The newest table of the monitor."""
    from rich.table import Table

    newest = run.tables[-1]
    title = (
        f"step {newest['step']}: norms, share of zero gradients, update by weights, largest logit, dead units"
    )
    table = Table(title=title, title_justify="left")
    for heading in ("layer", "gradient", "zero", "weights", "update", "logit", "dead"):
        table.add_column(heading, justify="left" if heading == "layer" else "right")
    for name, row in newest["layers"].items():
        block = name.rpartition(".")[0]
        logits = newest["attention_logits"].get(block) if name.endswith(".attention") else None
        dead = newest["dead_units"].get(block) if name.endswith(".mlp") else None
        table.add_row(
            name,
            f"{row['gradient_norm']:.3g}",
            f"{row['zero_gradient_share']:.1%}",
            f"{row['weight_norm']:.3g}",
            f"{row['update_ratio'] or math.nan:.1e}",
            "" if logits is None else f"{max(logits):.1f}",
            "" if dead is None else f"{dead:.1%}",
        )
    return table
