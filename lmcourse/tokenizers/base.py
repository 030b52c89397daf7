"""What all tokenizers share: a table of bytes, decoding, and one JSON file on disk."""

from __future__ import annotations

import hashlib
import json
import numbers
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from lmcourse.errors import CourseError

FORMAT = "lmcourse tokenizer"
VERSION = 1


class Tokenizer:
    """Text to ids and back, without loss: the bytes of the tokens, in order, are the text in UTF-8.

    Ids 0..vocab_size-2 stand for bytes; the last id, `eos_id`, ends a document, stands for no bytes, and
    never comes out of `encode`, whatever the text says.
    """

    kind: ClassVar[str]

    def __init__(self, token_bytes: Sequence[bytes]) -> None:
        self._bytes = (*token_bytes, b"")

    @property
    def vocab_size(self) -> int:
        """Number of ids, the end of a document included."""
        return len(self._bytes)

    @property
    def eos_id(self) -> int:
        """The id that ends a document: vocab_size - 1."""
        return len(self._bytes) - 1

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the saved content, in hex: equal for tokenizers that give equal ids."""
        return _digest(self._content())

    def encode(self, text: str) -> list[int]:
        """The ids of `text`, without an end token.

        Raises:
            CourseError: the vocabulary cannot spell something in `text`; the message names it and its place.
        """
        raise NotImplementedError

    def encode_array(self, text: str) -> np.ndarray:
        """The ids of `encode` as (N,) uint32, for much text at once."""
        return np.array(self.encode(text), np.uint32)

    def decode(self, ids: Iterable[int]) -> str:
        """The text of `ids`; ends of documents add nothing, bytes that are no UTF-8 become U+FFFD.

        Raises:
            CourseError: an id outside the vocabulary.
        """
        ids = [int(i) for i in ids]
        check_ids(ids, self.vocab_size)
        return b"".join(self._bytes[i] for i in ids).decode("utf-8", errors="replace")

    def token_bytes(self, token_id: int) -> bytes:
        """The bytes that `token_id` stands for (none for the end of a document).

        Raises:
            CourseError: an id outside the vocabulary.
        """
        check_ids([token_id], self.vocab_size)
        return self._bytes[int(token_id)]

    def save(self, path: str | Path) -> None:
        """Write the tokenizer as one JSON file; a file already there is replaced at once or not at all.

        Raises:
            CourseError: the file cannot be written.
        """
        path = Path(path)
        head = {"format": FORMAT, "version": VERSION, "sha256": self.fingerprint}
        text = json.dumps(head | self._content(), ensure_ascii=False, indent=1) + "\n"
        partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
        try:
            partial.write_text(text, encoding="utf-8")
            os.replace(partial, path)
        except OSError as problem:
            partial.unlink(missing_ok=True)
            raise CourseError(
                f"cannot save the tokenizer to {path}: {problem.strerror or problem}"
            ) from problem

    def _content(self) -> dict[str, Any]:
        """What is saved beside format, version and checksum: plain JSON values, `kind` among them."""
        raise NotImplementedError

    @classmethod
    def _from_content(cls, content: dict[str, Any]) -> Self:
        """The tokenizer that `_content` described; may raise anything for content of another form."""
        raise NotImplementedError


def read_content(path: str | Path) -> dict[str, Any]:
    """The content of a saved tokenizer, checked against its checksum.

    Raises:
        CourseError: no such file, no JSON, no tokenizer of this format and version, or changed content.
    """
    path = Path(path)
    try:
        saved = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise CourseError(f"there is no tokenizer file {path}") from None
    except OSError as problem:
        raise CourseError(f"cannot read the tokenizer {path}: {problem.strerror or problem}") from problem
    except (ValueError, RecursionError):
        raise CourseError(f"{path} is damaged or no tokenizer file: it is not JSON in UTF-8") from None
    if not isinstance(saved, dict) or saved.get("format") != FORMAT:
        raise CourseError(f"{path} is no tokenizer file of this course: it lacks format {FORMAT!r}")
    if saved.get("version") != VERSION:
        raise CourseError(
            f"{path} has tokenizer version {saved.get('version')!r}; this lmcourse reads version {VERSION}"
        )
    content = {key: value for key, value in saved.items() if key not in ("format", "version", "sha256")}
    if _digest(content) != saved.get("sha256"):
        raise CourseError(f"{path} is damaged: its content does not match its checksum; train it again")
    return content


def check_ids(ids: Iterable[int], vocab_size: int) -> None:
    """Check that all ids are whole numbers in 0..vocab_size-1.

    Args:
        ids: ids in any sequence, array or tensor; more dimensions than one are read in row order.
        vocab_size: number of ids of the vocabulary.

    Raises:
        CourseError: names the first bad id, its position and the vocabulary size.
    """
    flat = ids.reshape(-1) if hasattr(ids, "reshape") else ids
    if hasattr(flat, "tolist"):
        flat = flat.tolist()
    for position, token_id in enumerate(flat):
        if isinstance(token_id, bool) or not isinstance(token_id, numbers.Integral):
            raise CourseError(f"token ids must be whole numbers; got {token_id!r} at position {position}")
        if not 0 <= token_id < vocab_size:
            raise CourseError(
                f"token id {token_id} at position {position} is outside the vocabulary: "
                f"ids go from 0 to {vocab_size - 1} (vocabulary size {vocab_size})"
            )


def check_texts(texts: Iterable[str]) -> list[str]:
    """`texts` as a list of strings with something in it, each of them valid Unicode.

    Raises:
        CourseError: one string instead of several, another type, no text at all, or half a surrogate pair.
    """
    if isinstance(texts, str | bytes):
        raise CourseError("texts must be a list of strings; got one string, so write [text]")
    texts = list(texts)
    for index, text in enumerate(texts):
        check_text(text, f"texts[{index}]")
    if not any(texts):
        raise CourseError("texts must hold some text to train a tokenizer on; got none")
    return texts


def check_text(text: str, name: str = "text") -> bytes:
    """`text` in UTF-8.

    Raises:
        CourseError: no string, or half a surrogate pair, which UTF-8 cannot write.
    """
    if not isinstance(text, str):
        raise CourseError(f"{name} must be a string; got {type(text).__name__}")
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as problem:
        raise CourseError(
            f"{name} holds half a surrogate pair at character {problem.start}, which UTF-8 cannot write"
        ) from None


def _digest(content: dict[str, Any]) -> str:
    canonical = json.dumps(content, ensure_ascii=True, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode("ascii")).hexdigest()
