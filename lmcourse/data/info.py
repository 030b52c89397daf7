"""Prepared data and token files in words."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np

from lmcourse.data.prepared import SUMMARY, TOKENIZER, open_prepared
from lmcourse.errors import CourseError
from lmcourse.packing import TokenFile
from lmcourse.tokenizers import Tokenizer, load_tokenizer

SHOWN = 400  # tokens of a document at most
SEARCHED = 1 << 20  # tokens that are searched for documents to show


def describe_folder(folder: Path, documents: int = 0, verify: bool = False) -> list[str]:
    """Lines about prepared data.

    Args:
        folder: of `prepare`.
        documents: training documents to show.
        verify: compare the checksums too.

    Raises:
        CourseError: as `open_prepared`; with `verify`, also changed ids.
    """
    data = open_prepared(folder)
    summary, tokenizer = data.summary, data.tokenizer
    lines = [
        f"{folder}: {summary['documents']:,} documents, {summary['characters']:,} characters, "
        f"from {len(summary['sources'])} files",
        f"tokenizer   {tokenizer.kind}, {tokenizer.vocab_size:,} ids, trained on {summary['trained_on']}",
        f"held out    {summary['share']:.3g} of it, by {summary['split']}",
    ]
    for name, file in (("training", data.train), ("validation", data.validation)):
        lines.append(f"{name:<11} {_counts(file)}")
    if summary["empty"]:
        lines.append(f"left out    {summary['empty']:,} records without text")
    if summary["bad"]:
        lines.append(f"left out    {summary['bad']:,} bad records, the first of them:")
        lines += [f"  {example}" for example in summary["examples"]]
    if verify:
        data.train.check()
        data.validation.check()
        lines.append("checksums   right")
    return lines + _documents(data.train, tokenizer, documents)


def describe_file(path: Path, documents: int = 0, verify: bool = False) -> list[str]:
    """Lines about one token file; documents are shown as text where its tokenizer is beside it.

    Raises:
        CourseError: no sound token file; with `verify`, also changed ids.
    """
    if path.name == SUMMARY:
        return describe_folder(path.parent, documents, verify)
    file = TokenFile(path)
    lines = [f"{path}: {_counts(file)}", f"vocabulary  {file.vocab_size:,} ids"]
    lines.append(f"tokenizer   {file.fingerprint[:16] or 'none'}")
    if verify:
        file.check()
        lines.append("checksum    right")
    return lines + _documents(file, _tokenizer_of(file), documents)


def _counts(file: TokenFile) -> str:
    documents = "one endless text" if file.eos is None else f"{file.documents:,} documents"
    size = len(file) * file.dtype.itemsize / 1e6
    return f"{len(file):,} tokens, {documents}, {file.dtype.name}, {size:,.1f} MB"


def _tokenizer_of(file: TokenFile) -> Tokenizer | None:
    for folder in (file.path.parent, file.path.parent.parent):  # of prepared data, of a run
        try:
            tokenizer = load_tokenizer(folder / TOKENIZER)
        except CourseError:
            continue
        if tokenizer.fingerprint == file.fingerprint:
            return tokenizer
    return None


def _documents(file: TokenFile, tokenizer: Tokenizer | None, n: int) -> list[str]:
    if not n:
        return []
    start = file.stream[:SEARCHED]
    ends = [] if file.eos is None else np.flatnonzero(start == file.eos)[:n].tolist()
    places = list(pairwise([-1, *ends])) or [(-1, len(start))]
    lines = []
    for before, end in places:
        ids = start[before + 1 : end][:SHOWN].tolist()
        more = " ..." if end - before - 1 > SHOWN else ""
        text = " ".join(map(str, ids)) if tokenizer is None else tokenizer.decode(ids)
        lines += ["", f"{text.rstrip()}{more}"]
    return lines
