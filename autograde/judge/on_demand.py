"""Cells with figures and experiments are run only where an answer takes a name from them."""

from __future__ import annotations

import builtins

from nbformat import NotebookNode

from lmcourse.handin.code import defined_names, global_names

ON_DEMAND = ("show", "play")


class OnDemand:
    """The skipped cells so far, and which names the cells that ran have bound."""

    def __init__(self) -> None:
        self.skipped: list[tuple[int, NotebookNode]] = []
        self.bound: set[str] = set(dir(builtins))

    def skip(self, number: int, cell: NotebookNode) -> None:
        self.skipped.append((number, cell))

    def before(self, cell: NotebookNode) -> list[tuple[int, NotebookNode]]:
        """Skipped cells to run before this one, in order. They and `cell` count as run from now on."""
        wanted: list[tuple[int, NotebookNode]] = []
        names = global_names(cell.source)
        while missing := names - self.bound:
            source = self._last_that_binds(missing)
            if source is None:
                break
            self.skipped.remove(source)
            wanted.append(source)
            self.bound |= defined_names(source[1].source)
            names |= global_names(source[1].source)
        self.bound |= defined_names(cell.source)
        return sorted(wanted, key=lambda pair: pair[0])

    def _last_that_binds(self, names: set[str]) -> tuple[int, NotebookNode] | None:
        for number, cell in reversed(self.skipped):
            if defined_names(cell.source) & names:
                return number, cell
        return None
