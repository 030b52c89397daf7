"""Standard output and error of student code: to a file, in any encoding, up to a cap; the rest is dropped."""

from __future__ import annotations

import io
import os
import sys

MAX_OUTPUT = 2**20  # bytes from one worker


class CappedRaw(io.RawIOBase):
    """Writes to a descriptor until the cap and swallows what comes after it, so printing never fails."""

    def __init__(self, descriptor: int, cap: int) -> None:
        super().__init__()
        self.descriptor = descriptor
        self.left = cap

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self.descriptor

    def write(self, data) -> int:
        size = len(data)
        kept = bytes(data[: self.left])
        self.left -= len(kept)
        if kept:
            os.write(self.descriptor, kept)
            if not self.left:
                os.write(self.descriptor, b"\n... output cut here ...\n")
        return size


def capture() -> None:
    """Put capped streams in place of sys.stdout and sys.stderr; sys.stdin is empty."""
    raw = CappedRaw(1, MAX_OUTPUT)
    for name in ("stdout", "stderr"):
        stream = io.TextIOWrapper(
            io.BufferedWriter(raw, 8192), encoding="utf-8", errors="backslashreplace", line_buffering=True
        )
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    sys.stdin = io.StringIO("")
