"""The `lmcourse` command: finds the subcommand's module and turns a user's mistake into one line."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn

from lmcourse import __version__
from lmcourse.errors import CourseError

COMMANDS = ("data", "train", "eval", "compare", "sample", "show", "trace", "params", "check", "doctor")
NO_MEMORY = "can't allocate memory"  # torch has no exception of its own for this on a processor


class _Parser(argparse.ArgumentParser):
    """Says a mistake in one line; the whole usage, which can fill a screen, is one `--help` away."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}; see {self.prog} --help\n")


def dispatch(prog: str, description: str, package: str, commands: Sequence[str], argv: Sequence[str]) -> int:
    """Run one subcommand; each is a module with `HELP`, `add_arguments(parser)` and `run(args) -> int`.

    Only the module that is asked for does its heavy imports, inside `run`, so that `--help` stays quick.
    Exit status: what `run` returns; 1 when standard output is closed; 2 for a user's mistake, which includes
    asking for more memory than there is; 130 when interrupted.
    """
    parser = _Parser(prog=prog, description=description)
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
    except (MemoryError, RuntimeError) as error:
        if not isinstance(error, MemoryError) and NO_MEMORY not in str(error):
            raise
        print(f"{prog}: not enough memory; ask for something smaller ({_first_line(error)})", file=sys.stderr)
        return 2
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nor can Python's last flush fail
        print(f"{prog}: standard output was closed, so the command ended", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"\n{prog}: interrupted", file=sys.stderr)
        return 130


def _first_line(error: BaseException) -> str:
    """Of a message that may be long: from where it says what was asked for."""
    text = str(error)
    return (text[max(0, text.find("you tried")) :].splitlines() or ["MemoryError"])[0].rstrip(". ")


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
