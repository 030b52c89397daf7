"""Token streams on disk: a small header, then the ids, read through a memory map.

Layout: 8 bytes magic, 4 bytes little-endian length of the header, the header as JSON, zero bytes up to a
multiple of 64, then the ids, little-endian. The header says all that a reader has to know (type, vocabulary,
tokenizer, count), so that a reader never guesses a type: uint32 ids read as uint16 look like ids too.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from lmcourse.errors import CourseError

MAGIC = b"LMTOKENS"
VERSION = 1
ALIGNMENT = 64
MAX_HEADER = 1 << 16
DTYPES = {"uint16": np.dtype("<u2"), "uint32": np.dtype("<u4")}


def token_dtype(vocab_size: int) -> str:
    """The smallest type that holds every id below `vocab_size`: "uint16" up to 65,536 ids, else "uint32".

    Raises:
        CourseError: `vocab_size` is not in 1..2**32.
    """
    if not 1 <= vocab_size <= 1 << 32:
        raise CourseError(f"vocab_size: expected 1 to 2**32 ids, got {vocab_size}")
    return "uint16" if vocab_size <= 1 << 16 else "uint32"


def write_token_file(
    path: str | Path, tokens: Sequence[int] | np.ndarray, vocab_size: int, fingerprint: str = ""
) -> None:
    """Write a stream; the file appears complete or not at all.

    Args:
        path: file to write; an older one is replaced.
        tokens: (N,) integer ids, each in 0..vocab_size-1.
        vocab_size: ids of the tokenizer; chooses the type.
        fingerprint: of the tokenizer, so that a reader can refuse another one's ids.

    Raises:
        CourseError: an id outside the vocabulary. Nothing is written then: a cast would wrap 70,000 to 4,464.
        OSError: the disk's own errors.
    """
    path, ids = Path(path), np.asarray(tokens)
    name = token_dtype(vocab_size)
    if ids.ndim != 1 or (ids.size and not np.issubdtype(ids.dtype, np.integer)):
        raise CourseError(f"tokens: expected a flat sequence of integers, got {ids.dtype} {ids.shape}")
    if ids.size and not 0 <= int(ids.min()) <= int(ids.max()) < vocab_size:
        worst = int(ids.max()) if int(ids.max()) >= vocab_size else int(ids.min())
        raise CourseError(f"tokens: id {worst} is outside the vocabulary 0..{vocab_size - 1}")
    header = json.dumps(
        {
            "version": VERSION,
            "dtype": name,
            "vocab_size": int(vocab_size),
            "fingerprint": fingerprint,
            "count": int(ids.size),
        }
    ).encode()
    prefix = MAGIC + len(header).to_bytes(4, "little") + header
    prefix += b"\0" * (-len(prefix) % ALIGNMENT)
    partial = path.with_name(f"{path.name}.tmp-{os.getpid()}")
    try:
        with open(partial, "wb") as file:
            file.write(prefix)
            file.write(ids.astype(DTYPES[name]).data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


class TokenFile:
    """A stream on disk. The header is read and checked at once; the ids are mapped at their first use.

    Attributes:
        path, vocab_size, fingerprint; `len(file)` is the number of tokens.
    """

    def __init__(self, path: str | Path, fingerprint: str | None = None) -> None:
        """
        Args:
            path: a file of `write_token_file`.
            fingerprint: refuse the file unless it was written with this tokenizer.

        Raises:
            CourseError: no such file, no token file, damaged, cut short, of another version or tokenizer.
        """
        self.path = Path(path)
        header, self._offset = _read_header(self.path)
        self.vocab_size: int = header["vocab_size"]
        self.fingerprint: str = header["fingerprint"]
        self._count: int = header["count"]
        self._dtype = DTYPES[header["dtype"]]
        self._tokens: np.ndarray | None = None
        if fingerprint is not None and fingerprint != self.fingerprint:
            raise CourseError(
                f"{self.path}: written with another tokenizer (fingerprint {self.fingerprint or 'none'}, "
                f"expected {fingerprint}); encode the text again"
            )

    def __len__(self) -> int:
        return self._count

    @property
    def tokens(self) -> np.ndarray:
        """(N,) uint16 or uint32, read-only, mapped and not loaded."""
        if self._tokens is None:
            if self._count:
                self._tokens = np.memmap(self.path, self._dtype, "r", self._offset, (self._count,))
            else:  # an empty map is an error of the operating system
                self._tokens = np.empty(0, self._dtype)
        return self._tokens

    def __getstate__(self) -> dict:
        return {**self.__dict__, "_tokens": None}  # a worker process opens its own map

    def check_ids(self) -> None:
        """Read every id once.

        Raises:
            CourseError: an id outside the vocabulary that the header promises.
        """
        block = 1 << 22
        for start in range(0, self._count, block):
            top = int(self.tokens[start : start + block].max())
            if top >= self.vocab_size:
                raise CourseError(
                    f"{self.path}: damaged, holds id {top}, its vocabulary is {self.vocab_size}"
                )


def _read_header(path: Path) -> tuple[dict, int]:
    """The checked header and the offset of the first id."""
    try:
        with open(path, "rb") as file:
            start = file.read(len(MAGIC) + 4)
            length = int.from_bytes(start[len(MAGIC) :], "little")
            text = file.read(min(length, MAX_HEADER))
        size = path.stat().st_size
    except OSError as error:
        raise CourseError(f"{path}: cannot read the token file ({error.strerror})") from None
    if start[: len(MAGIC)] != MAGIC:
        raise CourseError(f"{path}: not a token file (it does not start with {MAGIC.decode()})")
    try:
        header = json.loads(text.decode())
        if header["version"] != VERSION:
            raise CourseError(f"{path}: token file version {header['version']}, expected {VERSION}")
        dtype = DTYPES[header["dtype"]]
        count, vocab_size = header["count"], header["vocab_size"]
        sound = (
            isinstance(count, int)
            and count >= 0
            and isinstance(vocab_size, int)
            and token_dtype(vocab_size) == header["dtype"]
            and isinstance(header["fingerprint"], str)
        )
    except (ValueError, KeyError, TypeError):
        raise CourseError(f"{path}: damaged token file, unreadable header; encode the text again") from None
    if not sound:
        raise CourseError(f"{path}: damaged token file, contradictory header; encode the text again")
    offset = len(MAGIC) + 4 + len(text)
    offset += -offset % ALIGNMENT
    expected = offset + count * dtype.itemsize
    if size != expected:
        raise CourseError(
            f"{path}: damaged token file, {size:,} bytes instead of {expected:,}; encode the text again"
        )
    return header, offset
