"""`lmcourse trace`: where the values of a run stopped being finite."""

from __future__ import annotations

import argparse
import sys

from lmcourse.errors import CourseError

HELP = "Say where a NaN of a run began, and try the kept batch again."
SHOWN_TOKENS = 40


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", metavar="RUN", help="folder of a run, or its name below runs/")
    parser.add_argument("--batch", metavar="N", help="number of the batch (default: all that were kept)")


def run(args: argparse.Namespace) -> int:
    """Exit status 0 where no batch was kept, 1 where there is something to read.

    Raises:
        CourseError: no run there, or no such batch.
    """
    from lmcourse.cli.train import find_run
    from lmcourse.monitor.nan_trace import find_non_finite
    from lmcourse.trainer.loop import load_model
    from lmcourse.trainer.run_folder import open_run
    from lmcourse.trainer.traces import read_traces

    folder = find_run(args.run)
    open_run(folder)
    traces = read_traces(folder)
    if args.batch is not None:
        traces = [trace for trace in traces if str(trace.batch) == args.batch]
        if not traces:
            raise CourseError(f"--batch: no batch {args.batch} was kept in {folder}")
    if not traces:
        print(f"{folder}: every loss and every gradient was finite")
        return 0
    try:
        model, data = load_model(folder, lambda line: print(line, file=sys.stderr))
    except CourseError as error:
        model = data = None
        print(f"the batches are not tried again: {error}")
    for trace in traces:
        print(f"batch {trace.batch}: loss {trace.loss}, gradient norm {trace.norm}")
        for line in trace.report.words():
            print(f"  {line}")
        if model is None:
            continue
        again = find_non_finite(model, None, trace.batches)
        state = "finite" if not again.rows else f"not finite, first in {again.module or 'the loss'}"
        print(f"  tried again with the weights of the last checkpoint: {state}")
        for row in trace.report.rows[:2]:
            ids = [token for batch in trace.batches for token in batch.inputs.tolist()][row]
            print(f"  row {row} begins: {data.describe(ids[:SHOWN_TOKENS])}")
    return 1
