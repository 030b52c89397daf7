"""Losses in units that do not depend on a tokenizer: bits per byte and bits per character."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from lmcourse.tokenizers import Tokenizer


@dataclass(frozen=True)
class TextUnits:
    """How much text each token stands for.

    From the bytes of the tokens and not from decoded text: a token may be a part of a character, which
    decodes to a replacement of another length.

    Attributes:
        bytes: (V,) int64; 0 for the end of a document, which is in no text.
        characters: (V,) int64, the bytes that begin a character, so that the sum over a text is its length.
    """

    bytes: np.ndarray
    characters: np.ndarray

    @classmethod
    def of(cls, tokenizer: Tokenizer) -> TextUnits:
        spelled = [tokenizer.token_bytes(i) for i in range(tokenizer.vocab_size)]
        return cls(
            np.array([len(b) for b in spelled], dtype=np.int64),
            np.array([sum(byte & 0xC0 != 0x80 for byte in b) for b in spelled], dtype=np.int64),
        )

    def bits_per_byte(self, nats: np.ndarray, targets: np.ndarray) -> float:
        """Bits of the targets that stand for text by the bytes of these; ends of documents count in neither.

        Args:
            nats: (M,) loss of each target.
            targets: (M,) ids.

        Returns:
            nan where no target stands for text.
        """
        return _ratio(nats, targets, self.bytes, self.bytes)

    def bits_per_character(self, nats: np.ndarray, targets: np.ndarray) -> float:
        """As `bits_per_byte`, by characters."""
        return _ratio(nats, targets, self.bytes, self.characters)


def _ratio(nats: np.ndarray, targets: np.ndarray, text: np.ndarray, unit: np.ndarray) -> float:
    size = int(unit[targets].sum())
    return float(nats[text[targets] > 0].sum()) / math.log(2) / size if size else math.nan
