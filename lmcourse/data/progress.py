"""How far a long piece of work is: a bar on a terminal, a few plain lines anywhere else."""

from __future__ import annotations

from types import TracebackType
from typing import Self, TextIO

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

LINES = 5  # plain lines in one piece of work


class ByteProgress:
    """Counts bytes or characters up to a total that is known, or about known."""

    def __init__(self, title: str, total: int | None, stream: TextIO) -> None:
        """
        Args:
            title: what is being done.
            total: bytes of all of it; None where nobody says.
            stream: where to write; a bar is drawn where this is a terminal.
        """
        self._title, self._total = title, total
        self._console = Console(file=stream, highlight=False, soft_wrap=True)
        self._said = 0
        self._bar: Progress | None = None
        if self._console.is_terminal:
            self._bar = Progress(
                TextColumn("{task.description}"),
                BarColumn(bar_width=None),
                DownloadColumn(),
                TimeRemainingColumn(compact=True),
                console=self._console,
            )
            self._task = self._bar.add_task(title, total=total)

    def reach(self, done: int) -> None:
        """`done` of the total is done."""
        if self._bar is not None:
            self._bar.update(self._task, completed=done)
        elif self._total and done * LINES // self._total > self._said:
            self._said = done * LINES // self._total
            share = min(100, round(100 * done / self._total))
            self._console.print(f"{self._title}: {share} % of {self._total / 1e6:,.1f} MB", markup=False)

    def __enter__(self) -> Self:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
