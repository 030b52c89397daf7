"""A progress line on stderr while a notebook runs; nothing where stderr is no terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn


@contextmanager
def cell_progress() -> Iterator[Callable[[int, int, str], None]]:
    """Yield a function `(cells done, cells in all, label of the next cell)` that moves the bar."""
    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("starting the kernel", total=None)
        yield lambda done, total, label: bar.update(
            task, completed=done, total=total, description=escape(label)
        )
