"""`autograde doctor`: what this machine has to confine student code with, and how to get the rest."""

from __future__ import annotations

import argparse

HELP = "say what confines student code on this machine, and how to get more"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--quick", action="store_true", help="try each means alone, without starting a worker"
    )


def run(args: argparse.Namespace) -> int:
    from autograde.sandbox import probe

    for means in probe.probe():
        print(f"{'ok     ' if means.works else 'missing'} {means.name:12} {means.found}")
        if means.advice:
            print(f"        {'':12} {means.advice}")
    if args.quick:
        return 0
    return _try_a_worker()


def _try_a_worker() -> int:
    """Start one as `autograde grade` does, and ask it what confines it."""
    from autograde.judge import launch
    from autograde.judge.ended import AnswerEnded
    from autograde.judge.limits import Limits
    from autograde.judge.remote import RemoteWorker
    from autograde.sandbox.confine import is_confined

    try:
        worker = RemoteWorker(Limits(allow_unconfined=True))
    except AnswerEnded as end:
        print(f"no worker starts: {end.message}")
        return 1
    isolation = worker.isolation
    worker.close()
    print(f"a worker runs in: {isolation}")
    if launch.why_cold():
        print(f"workers start cold: {launch.why_cold()}")
    if is_confined(isolation.split(" + ")):
        return 0
    print("that is not enough: `autograde grade` refuses without --allow-unconfined")
    return 1
