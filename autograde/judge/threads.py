"""One thread for torch while an answer is judged, so that results repeat and busy machines do not stall."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def one_thread() -> Iterator[None]:
    """Threads that wait for each other on a machine with other work made a two-second test take forty."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
