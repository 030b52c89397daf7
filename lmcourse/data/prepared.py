"""A folder of prepared data: token files, their tokenizer, and how they came about."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lmcourse.errors import CourseError
from lmcourse.packing import TokenFile
from lmcourse.tokenizers import Tokenizer, load_tokenizer

SUMMARY, TOKENIZER = "data.json", "tokenizer.json"


@dataclass(frozen=True)
class Prepared:
    """
    Attributes:
        folder: where all of it is.
        train, validation: the streams; documents are closed by `tokenizer.eos_id`, unless `train.eos` is
            None: then they are one endless text.
        tokenizer: of the streams.
        summary: documents, characters, split, share, trained_on, bad, empty, examples, sources.
    """

    folder: Path
    train: TokenFile
    validation: TokenFile
    tokenizer: Tokenizer
    summary: dict[str, Any]


def open_prepared(folder: str | Path) -> Prepared:
    """Open what `lmcourse data prepare` made; the headers are read, no ids.

    Raises:
        CourseError: no such folder, not complete, damaged, or files that do not belong together.
    """
    folder = Path(folder)
    if not (folder / SUMMARY).exists():
        if (folder / "prepare.json").exists():
            raise CourseError(f"{folder}: not complete; give the same lmcourse data prepare command again")
        raise CourseError(f"{folder}: no prepared data there; make them with: lmcourse data prepare")
    try:
        summary = json.loads((folder / SUMMARY).read_text(encoding="utf-8"))
        split, share = summary["split"], summary["share"]
    except (OSError, ValueError, KeyError, TypeError) as problem:
        raise CourseError(f"{folder / SUMMARY}: damaged ({problem}); prepare the data again") from None
    tokenizer = load_tokenizer(folder / TOKENIZER)
    train, validation = (
        TokenFile(folder / name, fingerprint=tokenizer.fingerprint)
        for name in ("train.tokens", "validation.tokens")
    )
    if train.vocab_size != tokenizer.vocab_size or train.eos != validation.eos:
        raise CourseError(f"{folder}: its files do not belong together ({split}, {share}); prepare again")
    return Prepared(folder, train, validation, tokenizer, summary)
