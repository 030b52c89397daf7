"""Loading a saved tokenizer of any kind."""

from __future__ import annotations

from pathlib import Path

from lmcourse.errors import CourseError
from lmcourse.tokenizers.base import Tokenizer, read_content
from lmcourse.tokenizers.bpe import BPETokenizer
from lmcourse.tokenizers.lists import CharTokenizer, WordTokenizer

_KINDS: dict[str, type[Tokenizer]] = {cls.kind: cls for cls in (CharTokenizer, WordTokenizer, BPETokenizer)}


def load_tokenizer(path: str | Path) -> Tokenizer:
    """The tokenizer that `Tokenizer.save` wrote to `path`.

    Raises:
        CourseError: no such file, a damaged file, a file of another program, version or kind.
    """
    content = read_content(path)
    kind = content.get("kind")
    if kind not in _KINDS:
        raise CourseError(f"{path} has tokenizer kind {kind!r}; this lmcourse knows {', '.join(_KINDS)}")
    try:
        return _KINDS[kind]._from_content(content)
    except Exception as problem:  # the library raises bare Exception for a model it cannot build
        raise CourseError(f"{path} is damaged: it holds no {kind} tokenizer ({problem})") from problem
