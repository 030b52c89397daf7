"""Byte-level BPE, trained and run by the `tokenizers` library."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Self

import tokenizers
from tokenizers import decoders, models, pre_tokenizers, trainers

from lmcourse.errors import CourseError
from lmcourse.tokenizers.base import Tokenizer, check_text, check_texts

BYTES = 256
MAX_IDS = 1_000_000  # far more than any model of this course can embed; the library reserves memory for all


class BPETokenizer(Tokenizer):
    """Byte pair encoding over bytes, so that it spells every text.

    The vocabulary is the 256 bytes, the merges learned from the training texts, and the end of a document
    (Sennrich et al. 2016, *Neural machine translation of rare words with subword units*; over bytes: Radford
    et al. 2019, *Language models are unsupervised multitask learners*).
    """

    kind = "bpe"

    def __init__(self, library: tokenizers.Tokenizer) -> None:
        self._library = library
        alphabet = _byte_of_symbol()
        spellings = sorted(library.get_vocab().items(), key=lambda item: item[1])
        if [token_id for _, token_id in spellings] != list(range(len(spellings))):
            raise ValueError("ids have gaps")
        super().__init__([bytes(alphabet[symbol] for symbol in spelling) for spelling, _ in spellings])
        if len({piece for piece in self._bytes if len(piece) == 1}) != BYTES:
            raise ValueError("a byte has no id")

    @classmethod
    def train(cls, texts: Iterable[str], vocab_size: int = 512) -> Self:
        """Learn merges until there are `vocab_size` ids, the end of a document included.

        Fewer come out when the texts hold too few repeated pairs. The same texts give the same tokenizer.

        Raises:
            CourseError: no text, something that is no list of strings, or vocab_size outside 257..1,000,000.
        """
        texts = check_texts(texts)
        whole = isinstance(vocab_size, int) and not isinstance(vocab_size, bool)
        if not whole or not BYTES < vocab_size <= MAX_IDS:
            raise CourseError(
                f"vocab_size must be a whole number of at least {BYTES + 1} (256 bytes and the end of a "
                f"document) and at most {MAX_IDS:,}; got {vocab_size!r}"
            )
        library = tokenizers.Tokenizer(models.BPE())
        library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        library.decoder = decoders.ByteLevel()
        trainer = trainers.BpeTrainer(
            vocab_size=vocab_size - 1,
            min_frequency=2,
            initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
            show_progress=False,
        )
        library.train_from_iterator(texts, trainer)
        return cls(library)

    def encode(self, text: str) -> list[int]:
        check_text(text)
        return self._library.encode(text).ids

    def _content(self) -> dict[str, Any]:
        return {"kind": self.kind, "library": json.loads(self._library.to_str())}

    @classmethod
    def _from_content(cls, content: dict[str, Any]) -> Self:
        if content["library"].get("added_tokens"):
            raise ValueError("added tokens would come out of plain text")
        return cls(tokenizers.Tokenizer.from_str(json.dumps(content["library"])))


def _byte_of_symbol() -> dict[str, int]:
    """How the library spells bytes: as the character itself if it is visible, else one from U+0100 on."""
    visible = {*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    hidden = [byte for byte in range(BYTES) if byte not in visible]
    return {chr(byte): byte for byte in visible} | {chr(0x100 + i): byte for i, byte in enumerate(hidden)}
