"""Which part of a corpus is held out: decided by each document's own text, or by its place at the end."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from lmcourse.data.shards import Record

TRAIN, VALIDATION = "train", "validation"
SPLITS = ("hash", "tail")


@dataclass(frozen=True)
class Part:
    """A text of one side; `ends` where its document ends with it."""

    side: str
    text: str
    ends: bool


def fractions(text: str) -> tuple[float, float]:
    """Two numbers in [0, 1), independent of each other, that are always the same for the same text."""
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return tuple(int.from_bytes(digest[i : i + 6], "big") / (1 << 48) for i in (0, 8))


class Splitter:
    """Gives each record, in order, its side.

    By hash: the share of documents with the smallest hashes of their text, so that the side of a document
    depends on nothing else, and copies of a document are on one side. By tail: what begins in the last share
    of the characters; a corpus of one text is cut at that character.
    """

    def __init__(self, kind: str, share: float, characters: int, documents: int) -> None:
        """
        Args:
            kind: "hash" or "tail".
            share: of the validation part.
            characters, documents: of the whole corpus.
        """
        self._by_hash, self._share = kind == "hash", share
        self._boundary, self._one_text = characters - int(characters * share), documents == 1
        self._seen, self._side = 0, ""  # characters before here; side of a document that goes on

    def parts(self, record: Record) -> Iterator[Part]:
        """The record, in two parts where the boundary of one long text lies in it."""
        begin, text = self._seen, record.text
        self._seen += len(text)
        side = self._side or (self._of(text) if self._by_hash else self._at(begin))
        self._side = "" if record.ends or self._one_text else side
        if self._one_text and not self._by_hash and begin < self._boundary < self._seen:
            cut = self._boundary - begin
            yield Part(TRAIN, text[:cut], False)
            side, text = VALIDATION, text[cut:]
        yield Part(side, text, record.ends)

    def state(self) -> list[Any]:
        """Plain values for `restore`."""
        return [self._seen, self._side]

    def restore(self, state: list[Any]) -> None:
        """Go on after the record after which `state` was taken."""
        self._seen, self._side = state

    def _of(self, text: str) -> str:
        return VALIDATION if fractions(text)[0] < self._share else TRAIN

    def _at(self, place: int) -> str:
        return VALIDATION if place >= self._boundary else TRAIN
