"""A general compressor as a yardstick: whoever predicts better, codes shorter."""

from __future__ import annotations

import lzma

import numpy as np

from lmcourse.tokenizers import Tokenizer

PRESET = 9 | lzma.PRESET_EXTREME


def xz_bits(before: bytes, text: bytes) -> float:
    """Bits that xz needs for `text` when it has seen `before`: the difference of two archives.

    An upper bound of what it could do, since it takes whole bytes and learns `before` again for each archive.
    """
    return 8.0 * (_size(before + text) - _size(before))


def stream_bytes(tokens: np.ndarray, vocab_size: int, tokenizer: Tokenizer | None) -> bytes:
    """What a compressor sees of a stream: its text, or the ids in as few bytes each as they need."""
    if tokenizer is None:
        width = next(width for width in (1, 2, 4, 8) if vocab_size <= 256**width)
        return np.ascontiguousarray(tokens, dtype=f"<u{width}").tobytes()
    spelled = [tokenizer.token_bytes(i) for i in range(tokenizer.vocab_size)]
    return b"".join(map(spelled.__getitem__, tokens.tolist()))


def _size(content: bytes) -> int:
    return len(lzma.compress(content, format=lzma.FORMAT_XZ, preset=PRESET))
