"""What a person sees of a run: a bar on a terminal, plain lines anywhere else."""

from __future__ import annotations

from collections import deque
from types import TracebackType
from typing import Self, TextIO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from lmcourse.trainer.log import LogRecord

LINES = 10  # plain lines in a run
AVERAGED = 20  # steps


class RunProgress:
    """Shows loss beside floor, tokens per second and the time left.

    The loss and the speed shown are means over the last 20 steps; a single step of a small batch says little.
    """

    def __init__(self, steps: int, done: int, floor: float | None, stream: TextIO) -> None:
        """
        Args:
            steps: of the whole run.
            done: steps that were done before.
            floor: nats per token, or None where it is not known.
            stream: where to write; a bar is drawn where this is a terminal.
        """
        self._steps, self._floor = steps, floor
        self._recent: deque[LogRecord] = deque(maxlen=AVERAGED)
        self._console = Console(file=stream, highlight=False, soft_wrap=True)
        self._every = max(1, steps // LINES)
        self._bar: Progress | None = None
        if self._console.is_terminal:
            self._bar = Progress(
                TextColumn("step"),
                MofNCompleteColumn(),
                BarColumn(bar_width=None),
                TextColumn("{task.fields[news]}"),
                TimeRemainingColumn(compact=True),
                console=self._console,
            )
            self._task = self._bar.add_task("", total=steps, completed=done, news="")

    def step(self, record: LogRecord) -> None:
        """One step is done."""
        self._recent.append(record)
        if self._bar is not None:
            self._bar.update(self._task, completed=record.step, news=self._news())
        elif record.step % self._every == 0 or record.step == self._steps:
            counter = f"{record.step:>{len(str(self._steps))}}/{self._steps}"
            self.say(f"step {counter}  {self._news()}{self._left(record)}")

    def say(self, line: str) -> None:
        """One line for the person, above the bar."""
        self._console.print(line, markup=False)

    def __enter__(self) -> Self:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def _news(self) -> str:
        loss = sum(r.loss for r in self._recent) / len(self._recent)
        floor = "" if self._floor is None else f"  floor {self._floor:.3f}"
        return f"loss {loss:.3f}{floor}  {self._speed():,.0f} tokens/s"

    def _left(self, record: LogRecord) -> str:
        seconds = sum(r.seconds for r in self._recent) / len(self._recent) * (self._steps - record.step)
        return f"  {seconds:.0f} s left" if seconds else ""

    def _speed(self) -> float:
        return sum(r.tokens for r in self._recent) / max(1e-9, sum(r.seconds for r in self._recent))
