"""How text splits into words, so that nothing is lost when the pieces are joined again."""

from __future__ import annotations

import re

_PIECE = re.compile(r"['’]\w+| ?\w+| ?[^\w\s]|\n+|\s")


def split_words(text: str) -> list[str]:
    """The word-level pieces of `text`, in order; `"".join(pieces) == text` for every string.

    A word or a punctuation mark takes the one space before it with it (`" Lily"`), so that spacing needs no
    rule when the pieces are joined, and an opening quotation mark (`' "'`) differs from a closing one
    (`'"'`). A contraction is a piece of its own (`"don"`, `"'t"`), and so is a run of line breaks; any other
    white space is one piece a character.
    """
    return _PIECE.findall(text)
