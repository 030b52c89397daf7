"""The `lmcourse` command: finds the subcommand's module and turns a user's mistake into one line."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module

from lmcourse import __version__
from lmcourse.errors import CourseError

COMMANDS = ("train", "sample", "check")


def dispatch(prog: str, description: str, package: str, commands: Sequence[str], argv: Sequence[str]) -> int:
    """Run one subcommand; each is a module with `HELP`, `add_arguments(parser)` and `run(args) -> int`.

    Only the module that is asked for does its heavy imports, inside `run`, so that `--help` stays quick.
    Exit status: what `run` returns; 2 for a user's mistake; 130 when interrupted.
    """
    parser = argparse.ArgumentParser(prog=prog, description=description)
    parser.add_argument("--version", action="version", version=f"{prog} {__version__}")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    modules = {}
    for name in commands:
        module = import_module(f"{package}.{name}")
        module.add_arguments(subparsers.add_parser(name, help=module.HELP, description=module.HELP))
        modules[name] = module
    args = parser.parse_args(argv)
    try:
        return modules[args.command].run(args)
    except CourseError as error:
        print(f"{prog}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"\n{prog}: interrupted", file=sys.stderr)
        return 130


def main(argv: Sequence[str] | None = None) -> int:
    return dispatch(
        "lmcourse",
        "Train, watch and check small language models.",
        "lmcourse.cli",
        COMMANDS,
        sys.argv[1:] if argv is None else argv,
    )


if __name__ == "__main__":
    sys.exit(main())
