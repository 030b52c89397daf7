"""Token streams on disk: a small header, then the ids, read through a memory map.

Layout: 8 bytes magic, 4 bytes little-endian length of the header, the header as JSON, padded with spaces to
byte 512, then the ids, little-endian. The header says all that a reader has to know (type, vocabulary,
tokenizer, counts, checksum), so that a reader never guesses a type: uint32 ids read as uint16 look like ids
too.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from lmcourse.errors import CourseError

MAGIC = b"LMTOKENS"
VERSION = 2
HEADER_BYTES = 512
DTYPES = {"uint16": np.dtype("<u2"), "uint32": np.dtype("<u4")}
BLOCK = 1 << 22  # ids read at once where all are read


def token_dtype(vocab_size: int) -> str:
    """The smallest type that holds every id below `vocab_size`: "uint16" up to 65,536 ids, else "uint32".

    Raises:
        CourseError: `vocab_size` is not in 1..2**32.
    """
    if not 1 <= vocab_size <= 1 << 32:
        raise CourseError(f"vocab_size: expected 1 to 2**32 ids, got {vocab_size}")
    return "uint16" if vocab_size <= 1 << 16 else "uint32"


class TokenFile:
    """A stream on disk. The header is read and checked at once; the ids are mapped at their first use.

    Attributes:
        path, vocab_size: `len(file)` is the number of tokens.
        fingerprint: of the tokenizer, "" where there is none.
        eos: the id that closes a document; None where the stream is one endless text.
        documents: closed ones in the stream.
        sha256: of the ids as they stand in the file, in hex.
        dtype: uint16 or uint32.
    """

    def __init__(self, path: str | Path, fingerprint: str | None = None) -> None:
        """
        Args:
            path: a file of `write_token_file` or `TokenFileWriter`.
            fingerprint: refuse the file unless it was written with this tokenizer.

        Raises:
            CourseError: no such file, no token file, damaged, cut short, of another version or tokenizer.
        """
        self.path = Path(path)
        header = _read_header(self.path)
        self.vocab_size: int = header["vocab_size"]
        self.fingerprint: str = header["fingerprint"]
        self.eos: int | None = header["eos"]
        self.documents: int = header["documents"]
        self.sha256: str = header["sha256"]
        self.dtype = DTYPES[header["dtype"]]
        self._count: int = header["count"]
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
            self._tokens = self.map()
        return self._tokens

    @property
    def stream(self) -> TokenStream:
        """The same ids for reading here and there in a long run: memory stays flat."""
        return TokenStream(self)

    def map(self) -> np.ndarray:
        """A new map of the ids, (N,), read-only."""
        if not self._count:  # an empty map is an error of the operating system
            return np.empty(0, self.dtype)
        return np.memmap(self.path, self.dtype, "r", HEADER_BYTES, (self._count,))

    def __getstate__(self) -> dict:
        return {**self.__dict__, "_tokens": None}  # a worker process opens its own map

    def check(self) -> None:
        """Read every id once, with flat memory.

        Raises:
            CourseError: an id outside the vocabulary that the header promises, or another checksum.
        """
        digest = hashlib.sha256()
        for block in self.stream.blocks():
            digest.update(block.data)
            if int(block.max()) >= self.vocab_size:
                raise CourseError(
                    f"{self.path}: damaged, holds id {block.max()}, its vocabulary is {self.vocab_size}"
                )
        if digest.hexdigest() != self.sha256:
            raise CourseError(f"{self.path}: damaged, the ids differ from their checksum")


class TokenStream:
    """The ids of a file as a read-only array of one dimension, mapped anew for each access.

    Pages of a map that stays open count as memory of the process until it ends: after many random windows
    that is the whole file. What an access gives is a copy, so nothing keeps the map open.
    """

    ndim = 1

    def __init__(self, file: TokenFile) -> None:
        self.file = file
        self.dtype = file.dtype
        self.shape = (len(file),)

    def __len__(self) -> int:
        return len(self.file)

    def __getitem__(self, index):
        """What a numpy array of the ids gives for this index, as a copy."""
        return self.file.map()[index].copy()

    def __array__(self, dtype=None, copy=None) -> np.ndarray:
        return np.array(self.file.map(), dtype=dtype)

    def blocks(self, size: int = BLOCK) -> Iterator[np.ndarray]:
        """All ids in order, in arrays of at most `size`."""
        for start in range(0, len(self), size):
            yield np.asarray(self[start : start + size])


def header_bytes(header: dict) -> bytes:
    """The first HEADER_BYTES of a file."""
    text = json.dumps(header).encode().ljust(HEADER_BYTES - len(MAGIC) - 4)
    return MAGIC + len(text).to_bytes(4, "little") + text


def _read_header(path: Path) -> dict:
    try:
        with open(path, "rb") as file:
            start = file.read(HEADER_BYTES)
        size = path.stat().st_size
    except OSError as error:
        raise CourseError(f"{path}: cannot read the token file ({error.strerror})") from None
    if start[: len(MAGIC)] != MAGIC:
        raise CourseError(f"{path}: not a token file (it does not start with {MAGIC.decode()})")
    try:
        length = int.from_bytes(start[len(MAGIC) : len(MAGIC) + 4], "little")
        header = json.loads(start[len(MAGIC) + 4 : len(MAGIC) + 4 + length].decode())
        if header["version"] != VERSION:
            raise CourseError(
                f"{path}: token file version {header['version']}, expected {VERSION}; encode the text again"
            )
        dtype = DTYPES[header["dtype"]]
        numbers = (header["count"], header["vocab_size"], header["documents"])
        sound = (
            all(isinstance(number, int) and number >= 0 for number in numbers)
            and token_dtype(header["vocab_size"]) == header["dtype"]
            and isinstance(header["fingerprint"], str)
            and (header["eos"] is None or 0 <= header["eos"] < header["vocab_size"])
            and len(header["sha256"]) == 64
        )
    except (ValueError, KeyError, TypeError):
        raise CourseError(f"{path}: damaged token file, unreadable header; encode the text again") from None
    if not sound:
        raise CourseError(f"{path}: damaged token file, contradictory header; encode the text again")
    expected = HEADER_BYTES + header["count"] * dtype.itemsize
    if size != expected:
        raise CourseError(
            f"{path}: damaged token file, {size:,} bytes instead of {expected:,}; encode the text again"
        )
    return header
