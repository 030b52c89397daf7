"""What a run trains on: two streams of ids, and what is known about them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from lmcourse.corpora import MarkovCorpus, RegimeDocs, StoryGrammar
from lmcourse.corpora.text_files import read_documents
from lmcourse.data.prepared import Prepared, open_prepared
from lmcourse.errors import CourseError
from lmcourse.packing import TokenStream, join_documents, split_tail
from lmcourse.packing.token_file import DTYPES, token_dtype
from lmcourse.tokenizers import BPETokenizer, CharTokenizer, Tokenizer, WordTokenizer
from lmcourse.trainer.config import TrainConfig

CORPUS_SEED = 20_240_601  # of the generated streams; a run's own seed changes the training, not the data

OPENING = 16  # tokens


@dataclass(frozen=True)
class TrainingData:
    """
    Attributes:
        train, validation: (N,) integer streams, arrays or `TokenStream`; documents are closed by `eos`.
        vocab_size: ids are 0..vocab_size-1.
        eos: the id that closes a document; None for one endless text.
        tokenizer: None where the tokens are bare numbers.
        oracle: (len(validation),) float64, the nats that the true distribution gives each validation token,
            knowing its document so far; None where the truth is not known.
        prepared: the folder that the streams stay in; None where they are the run's own.
    """

    train: np.ndarray | TokenStream
    validation: np.ndarray | TokenStream
    vocab_size: int
    eos: int | None
    tokenizer: Tokenizer | None
    oracle: np.ndarray | None
    prepared: Path | None = None

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 in hex over all ids and the oracle: equal for equal data, in memory or in files."""
        dtype = DTYPES[token_dtype(self.vocab_size)]
        digest = hashlib.sha256()
        for stream in (self.train, self.validation):
            if isinstance(stream, TokenStream):
                sha256 = stream.file.sha256
            else:
                sha256 = hashlib.sha256(np.ascontiguousarray(stream, dtype).data).hexdigest()
            digest.update(f"{len(stream)} {dtype.name} {sha256}\n".encode())
        if self.oracle is not None:
            digest.update(np.ascontiguousarray(self.oracle, "<f8").data)
        return digest.hexdigest()

    def unigram_entropy(self) -> float:
        """Nats per token of a model that knows only how frequent each id is in the training stream."""
        blocks = self.train.blocks() if isinstance(self.train, TokenStream) else [self.train]
        counts = sum(np.bincount(block, minlength=self.vocab_size) for block in blocks)
        share = counts / max(1, len(self.train))
        share = share[share > 0]
        return float(-(share * np.log(share)).sum())

    def opening(self) -> list[int]:
        """Ids to begin a sample with: the first of a validation document, or a few of an endless text."""
        if self.eos is None:
            return self.validation[:OPENING].tolist()
        starts = np.flatnonzero(self.validation[:-1] == self.eos) + 1
        start = int(starts[0]) if len(starts) else 0
        return [int(self.validation[start])]

    def describe(self, ids: list[int]) -> str:
        """Ids as text, or as numbers where there is no tokenizer."""
        return " ".join(map(str, ids)) if self.tokenizer is None else self.tokenizer.decode(ids)


def build_data(config: TrainConfig) -> TrainingData:
    """Generate, or read and encode, the corpus that a configuration names.

    Raises:
        CourseError: unreadable text, or a text that is too short for one validation window.
    """
    data = _BUILDERS[config.corpus](config)
    check_fits(config, data)
    return data


def check_fits(config: TrainConfig, data: TrainingData) -> None:
    """Refuse data with which the configured run could not take a step.

    Raises:
        CourseError: one line.
    """
    shorter = min(len(data.train), len(data.validation))
    if config.batches == "windows" and shorter <= config.context:
        raise CourseError(
            f"context: a window of {config.context} tokens does not fit in {len(data.train):,} training and "
            f"{len(data.validation):,} validation tokens; take a smaller context or a longer text"
        )
    if config.batches == "documents" and data.eos is None:
        raise CourseError("batches: this corpus is one endless text without documents; take 'windows'")
    if shorter < 2:
        raise CourseError(
            f"text: only {len(data.train)} training and {len(data.validation)} validation tokens"
        )


def _stories(config: TrainConfig) -> TrainingData:
    grammar = StoryGrammar()
    rng = np.random.default_rng(CORPUS_SEED)
    tokenizer = WordTokenizer.train(grammar.vocabulary)
    texts: list[str] = []
    docs: list[list[int]] = []
    tokens = 0
    while tokens < config.corpus_tokens:
        new = grammar.sample_documents(256, rng)
        texts += new
        docs += [tokenizer.encode(text) for text in new]
        tokens += sum(len(doc) + 1 for doc in docs[-len(new) :])
    train, validation = split_tail(docs, config.validation)
    oracle = np.concatenate([grammar.word_nll(text)[1] for text in texts[len(train) :]])
    return _joined(train, validation, tokenizer.vocab_size, tokenizer.eos_id, tokenizer, oracle)


def _regimes(config: TrainConfig) -> TrainingData:
    corpus = RegimeDocs()
    rng = np.random.default_rng(CORPUS_SEED)
    n = round(config.corpus_tokens / (corpus.mean_length + 1))
    train, validation = split_tail(corpus.sample_documents(n, rng), config.validation)
    oracle = np.concatenate(
        [np.append(corpus.oracle_nll(doc)[:1], corpus.oracle_nll_targets(doc)) for doc in validation]
    )
    return _joined(train, validation, corpus.vocab_size + 1, corpus.eos_id, None, oracle)


def _markov(config: TrainConfig) -> TrainingData:
    corpus = MarkovCorpus()
    stream = corpus.sample(config.corpus_tokens, np.random.default_rng(CORPUS_SEED))
    train, validation = split_tail(stream, config.validation)
    return TrainingData(
        train, validation, corpus.vocab_size, None, None, corpus.oracle_nll(stream)[len(train) :]
    )


def _text(config: TrainConfig) -> TrainingData:
    texts = read_documents(config.text)
    if config.tokenizer == "bpe":
        tokenizer = BPETokenizer.train(_head(texts, config.validation), vocab_size=config.vocabulary)
    else:  # of all the text: these have no id for what is unknown, so they would stop at it
        tokenizer = {"char": CharTokenizer, "word": WordTokenizer}[config.tokenizer].train(texts)
    docs = [tokenizer.encode(text) for text in texts]
    if len(docs) == 1:  # nothing to close: the tail of one text is cut off as it comes
        train, validation = split_tail(np.array(docs[0], dtype=np.int64), config.validation)
        return TrainingData(train, validation, tokenizer.vocab_size, None, tokenizer, None)
    stream = join_documents(docs, tokenizer.eos_id)[0].numpy()
    train, validation = split_tail(stream, config.validation)
    return TrainingData(train, validation, tokenizer.vocab_size, tokenizer.eos_id, tokenizer, None)


def _head(texts: list[str], held_out: float) -> list[str]:
    """The texts without a share of the characters at the end: no tokenizer learns from what is held out."""
    left = sum(map(len, texts)) - int(sum(map(len, texts)) * held_out)
    head = []
    for text in texts:
        head.append(text[:left])
        left = max(0, left - len(text))
    return head


def _prepared(config: TrainConfig) -> TrainingData:
    return data_of(open_prepared(config.data))


def data_of(prepared: Prepared) -> TrainingData:
    """The streams of prepared data, left on the disk."""
    train, validation = prepared.train, prepared.validation
    return TrainingData(
        train.stream,
        validation.stream,
        train.vocab_size,
        train.eos,
        prepared.tokenizer,
        None,
        prepared.folder,
    )


_BUILDERS = {
    "stories": _stories,
    "regimes": _regimes,
    "markov": _markov,
    "text": _text,
    "prepared": _prepared,
}


def _joined(train, validation, vocab_size: int, eos: int, tokenizer, oracle: np.ndarray) -> TrainingData:
    streams = [join_documents(docs, eos)[0].numpy() for docs in (train, validation)]
    return TrainingData(*streams, vocab_size, eos, tokenizer, oracle)
