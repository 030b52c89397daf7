"""A first pass over a corpus: how much there is, and the tokenizer that fits it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from lmcourse.data.progress import ByteProgress
from lmcourse.data.report import ReadReport
from lmcourse.data.shards import Record, read_shard
from lmcourse.data.split import TRAIN, Splitter, fractions
from lmcourse.errors import CourseError
from lmcourse.tokenizers import BPETokenizer, CharTokenizer, Tokenizer, WordTokenizer

SAMPLE = 32_000_000  # characters that a BPE tokenizer is trained on at most; more changes few merges
LISTED: dict[str, type[CharTokenizer] | type[WordTokenizer]] = {"char": CharTokenizer, "word": WordTokenizer}


@dataclass(frozen=True)
class Survey:
    """
    Attributes:
        documents, characters: of the good records.
        lowest, highest: of the first hash fraction of a document.
        pieces: all characters or words, sorted; empty where nobody asked for them.
    """

    documents: int
    characters: int
    lowest: float
    highest: float
    pieces: tuple[str, ...] = ()


def survey(shards: Sequence[Path], field: str, tokenizer: str, stream: TextIO) -> Survey:
    """Read everything once.

    Args:
        shards: files.
        field: that holds the text.
        tokenizer: "char" or "word" collects these.
        stream: for the progress.

    Raises:
        CourseError: a damaged file, or no text in any of them.
    """
    report, pieces = ReadReport(), set()
    documents = characters = 0
    lowest, highest, begins = 1.0, 0.0, True
    with ByteProgress("reading", sum(shard.stat().st_size for shard in shards), stream) as progress:
        before = 0
        for shard in shards:
            size, read = shard.stat().st_size, 0
            for record in read_shard(shard, report, field):
                characters += len(record.text)
                documents += record.ends
                if begins:
                    fraction = fractions(record.text)[0]
                    lowest, highest = min(lowest, fraction), max(highest, fraction)
                begins = record.ends
                if tokenizer in LISTED:
                    pieces.update(LISTED[tokenizer].split(record.text))
                read = min(size, read + len(record.text))
                progress.reach(before + read)
            before += size
            progress.reach(before)
    if not documents:
        why = f" ({report.bad:,} bad records, the first: {report.examples[0]})" if report.bad else ""
        raise CourseError(f"{shards[0]}: there is no text in it{why}")
    return Survey(documents, characters, lowest, highest, tuple(sorted(pieces)))


def tokenizer_for(
    kind: str, vocabulary: int, found: Survey, shards: Sequence[Path], field: str, splitter: Splitter
) -> tuple[Tokenizer, str]:
    """A new tokenizer, and in words what it was trained on.

    Args:
        kind: "char", "word" or "bpe".
        vocabulary: ids of a BPE tokenizer.
        found: the survey of the same files.
        shards, field: where the text is.
        splitter: at the corpus's beginning; BPE is trained on the training side alone.

    Raises:
        CourseError: as `BPETokenizer.train`.
    """
    if kind in LISTED:
        unit = LISTED[kind].unit
        words = f"all {len(found.pieces):,} {unit}s of the corpus, held-out text included: none is unknown"
        return LISTED[kind](found.pieces), words
    texts: list[str] = []
    report, share = ReadReport(), SAMPLE / found.characters
    for shard in shards:
        for record in read_shard(shard, report, field):
            texts += _chosen(record, splitter, share)
    taken = sum(map(len, texts))
    return BPETokenizer.train(texts, vocabulary), f"{taken:,} characters of the training part"


def _chosen(record: Record, splitter: Splitter, share: float) -> list[str]:
    parts = [part.text for part in splitter.parts(record) if part.side == TRAIN]
    return parts if share >= 1 or fractions(record.text)[1] < share else []
