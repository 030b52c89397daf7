"""Tokenizers whose vocabulary is a list: characters, or words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Self

import numpy as np

from lmcourse.errors import CourseError
from lmcourse.tokenizers.base import Tokenizer, check_text, check_texts
from lmcourse.tokenizers.words import split_words


class _ListTokenizer(Tokenizer):
    unit: str  # what a piece is called in messages

    def __init__(self, pieces: Sequence[str]) -> None:
        super().__init__([piece.encode("utf-8") for piece in pieces])
        self.pieces = tuple(pieces)
        self._ids = {piece: index for index, piece in enumerate(self.pieces)}

    @staticmethod
    def split(text: str) -> Sequence[str]:
        """The pieces of `text`; joined they give it back."""
        raise NotImplementedError

    @classmethod
    def train(cls, texts: Iterable[str]) -> Self:
        """The tokenizer of all pieces that occur in `texts`, in sorted order.

        Raises:
            CourseError: no text, or something that is no list of strings.
        """
        return cls(sorted({piece for text in check_texts(texts) for piece in cls.split(text)}))

    def encode(self, text: str) -> list[int]:
        check_text(text)
        pieces = self.split(text)
        try:
            return [self._ids[piece] for piece in pieces]
        except KeyError:
            index, piece = next((i, p) for i, p in enumerate(pieces) if p not in self._ids)
            place = sum(len(p) for p in pieces[:index])
            raise CourseError(
                f"{self.unit} {piece!r} at character {place} is not among the {len(self.pieces)} of the "
                f"{self.kind} vocabulary; train on this text too, or use BPE, which spells any text"
            ) from None

    def _content(self) -> dict[str, Any]:
        return {"kind": self.kind, "pieces": list(self.pieces)}

    @classmethod
    def _from_content(cls, content: dict[str, Any]) -> Self:
        pieces = content["pieces"]
        if len(set(pieces)) != len(pieces) or any(list(cls.split(piece)) != [piece] for piece in pieces):
            raise ValueError(f"not a list of {cls.unit}s")
        return cls(pieces)


class CharTokenizer(_ListTokenizer):
    """One id a character (Unicode code point), and one for the end of a document.

    There is no id for unknown characters: they raise CourseError, because a loss that hides part of the text
    behind one symbol cannot be compared.
    """

    kind = "char"
    unit = "character"

    def __init__(self, pieces: Sequence[str]) -> None:
        super().__init__(pieces)
        size = max(map(ord, pieces), default=0) + 2
        self._table = np.full(size, len(pieces), np.uint32)  # id by code point
        self._table[[ord(piece) for piece in pieces]] = np.arange(len(pieces))

    def encode_array(self, text: str) -> np.ndarray:
        check_text(text)
        points = np.frombuffer(text.encode("utf-32-le"), "<u4")
        ids = self._table[np.minimum(points, len(self._table) - 1)]
        if (ids == len(self.pieces)).any():
            self.encode(text)  # names what is unknown
        return ids

    @staticmethod
    def split(text: str) -> Sequence[str]:
        return text


class WordTokenizer(_ListTokenizer):
    """One id a word-level piece (see `split_words`), and one for the end of a document.

    There is no id for unknown words: they raise CourseError, for the reason given in `CharTokenizer`.
    """

    kind = "word"
    unit = "word"

    @staticmethod
    def split(text: str) -> Sequence[str]:
        return split_words(text)
