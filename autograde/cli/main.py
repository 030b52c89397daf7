"""The `autograde` command: build the notebooks, prove the hidden tests, grade a class."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from lmcourse.cli.main import dispatch

COMMANDS = ("build", "execute", "matrix", "grade", "doctor")


def main(argv: Sequence[str] | None = None) -> int:
    return dispatch(
        "autograde",
        "Build the course's notebooks, prove their hidden tests, and grade submissions.",
        "autograde.cli",
        COMMANDS,
        sys.argv[1:] if argv is None else argv,
    )


if __name__ == "__main__":
    sys.exit(main())
