"""Runs cells as a notebook would, in one IPython shell inside this process: magics, display, no front end."""

from __future__ import annotations

import builtins
import os
import site
from typing import Any, NoReturn

from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.text import LSString, SList
from traitlets.config import Config

from .calls import describe

NO_PROGRAMS = "other programs cannot be started while a notebook is graded"
NO_INPUT = "input() waits for a person, and none is there while a notebook is graded: write the value instead"


class NotebookShell(InteractiveShell):
    """IPython without terminal and front end: nothing to draw on, nothing to leave."""

    def enable_gui(self, gui: str | None = None) -> None:
        """`%matplotlib inline` and its kind are fine; figures are drawn and shown to nobody."""

    def ask_exit(self) -> None:
        """`exit` and `quit` end nothing, as in a notebook whose next cell is run anyway."""

    def system(self, cmd: str) -> None:
        """`!pip list` and its kind do nothing: there are no programs here, and no answer needs one."""
        print(NO_PROGRAMS)
        self.user_ns["_exit_code"] = 127

    def getoutput(self, cmd: str, split: bool = True, depth: int = 0) -> SList | LSString:
        return SList() if split else LSString("")


class Shell:
    """The student's namespace. Nothing is put into it but what IPython itself puts there."""

    def __init__(self) -> None:
        config = Config()
        config.HistoryManager.enabled = False
        config.InteractiveShell.colors = "nocolor"
        for setup in (site.setquit, site.setcopyright, site.sethelper):  # skipped by `python -S`
            setup()
        builtins.input = _no_input
        os.environ.setdefault("MPLBACKEND", "Agg")
        self.shell = NotebookShell.instance(config=config)

    def run(self, source: str) -> dict:
        """Run one cell: `{"error": None}`, or the error in words where one came up before its end."""
        try:
            result = self.shell.run_cell(source, store_history=True)
            error = result.error_before_exec or result.error_in_exec
        except BaseException as escaped:  # a student can break the shell itself
            error = escaped
        return {"error": None if error is None else describe(error)}

    @property
    def names(self) -> dict[str, Any]:
        """Everything that the notebook has defined so far."""
        return self.shell.user_ns

    def forget(self) -> None:
        """The state before the first cell."""
        self.shell.reset(new_session=True)
        self.shell.execution_count = 1

    def has(self, name: str) -> bool:
        return name in self.shell.user_ns

    def get(self, name: str) -> Any:
        return self.shell.user_ns[name]


def _no_input(prompt: object = "", /) -> NoReturn:
    raise RuntimeError(NO_INPUT)
