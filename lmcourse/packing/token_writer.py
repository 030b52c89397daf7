"""Writing token files: at once, or piece by piece with places from which a killed writer can go on."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from lmcourse.errors import CourseError
from lmcourse.packing.token_file import BLOCK, DTYPES, HEADER_BYTES, VERSION, header_bytes, token_dtype


class TokenFileWriter:
    """A stream that grows; under another name until it is complete, so that no reader finds half of it.

    Attributes:
        count: ids so far. documents: of them closed by `eos`.
    """

    def __init__(
        self, partial: Path, vocab_size: int, fingerprint: str = "", eos: int | None = None, keep: int = 0
    ) -> None:
        """
        Args:
            partial: file to write meanwhile; an old one is replaced, but for what is kept.
            vocab_size: ids of the tokenizer; chooses the type.
            fingerprint: of the tokenizer, so that a reader can refuse another one's ids.
            eos: the id that closes a document; None for one endless text.
            keep: ids of the old file that stay, as `commit` returned them.

        Raises:
            CourseError: the old file holds less than it should keep.
            OSError: the disk's own errors.
        """
        self.count = self.documents = 0
        self._partial, self._name = partial, token_dtype(vocab_size)
        self._vocab_size, self._fingerprint, self._eos = vocab_size, fingerprint, eos
        self._dtype = DTYPES[self._name]
        self._digest = hashlib.sha256()
        self._file = open(partial, "r+b" if keep else "w+b")  # noqa: SIM115 - closed by finish or close
        self._file.write(b"\0" * HEADER_BYTES)
        while self.count < keep:
            block = self._file.read(min(BLOCK, keep - self.count) * self._dtype.itemsize)
            if not block:
                self.close()
                raise CourseError(f"{partial}: shorter than its writer left it; remove it and begin anew")
            self._note(np.frombuffer(block, self._dtype))
        self._file.truncate()

    def append(self, tokens: Sequence[int] | np.ndarray) -> None:
        """Add ids to the end.

        Raises:
            CourseError: an id outside the vocabulary; nothing is added then, since a cast would wrap 70,000
                to 4,464.
            OSError: the disk's own errors.
        """
        ids = np.asarray(tokens)
        if ids.ndim != 1 or (ids.size and not np.issubdtype(ids.dtype, np.integer)):
            raise CourseError(f"tokens: expected a flat sequence of integers, got {ids.dtype} {ids.shape}")
        if not ids.size:
            return
        low, high = int(ids.min()), int(ids.max())
        if not 0 <= low <= high < self._vocab_size:
            worst = high if high >= self._vocab_size else low
            raise CourseError(f"tokens: id {worst} is outside the vocabulary 0..{self._vocab_size - 1}")
        ids = np.ascontiguousarray(ids, self._dtype)
        self._file.write(ids.data)
        self._note(ids)

    def commit(self) -> int:
        """Wait until the disk has all ids so far; their number is what a later writer can keep."""
        self._file.flush()
        os.fsync(self._file.fileno())
        return self.count

    def finish(self, path: Path) -> None:
        """Complete the file and give it its name."""
        self._file.seek(0)
        self._file.write(
            header_bytes(
                {
                    "version": VERSION,
                    "dtype": self._name,
                    "vocab_size": int(self._vocab_size),
                    "fingerprint": self._fingerprint,
                    "count": self.count,
                    "eos": self._eos,
                    "documents": self.documents,
                    "sha256": self._digest.hexdigest(),
                }
            )
        )
        self.commit()
        self._file.close()
        os.replace(self._partial, path)

    def close(self) -> None:
        """Stop; what was committed can be kept."""
        self._file.close()

    def _note(self, ids: np.ndarray) -> None:
        self._digest.update(ids.data)
        self.count += len(ids)
        if self._eos is not None:
            self.documents += int(np.count_nonzero(ids == self._eos))


def write_token_file(
    path: str | Path,
    tokens: Sequence[int] | np.ndarray,
    vocab_size: int,
    fingerprint: str = "",
    eos: int | None = None,
) -> None:
    """Write a stream; the file appears complete or not at all.

    Args:
        path: file to write; an older one is replaced.
        tokens: (N,) integer ids, each in 0..vocab_size-1.
        vocab_size, fingerprint, eos: as in `TokenFileWriter`.

    Raises:
        CourseError: an id outside the vocabulary; nothing is written then.
        OSError: the disk's own errors.
    """
    path = Path(path)
    partial = path.with_name(f"{path.name}.tmp-{os.getpid()}")
    writer = TokenFileWriter(partial, vocab_size, fingerprint, eos)
    try:
        writer.append(tokens)
        writer.finish(path)
    finally:
        writer.close()
        partial.unlink(missing_ok=True)
