"""StoryGrammar: children's stories with an exact probability."""

from __future__ import annotations

import math
from functools import cached_property
from typing import NamedTuple

import numpy as np

from lmcourse.corpora.arguments import whole_number
from lmcourse.corpora.grammar import Node, derive
from lmcourse.corpora.grammar_entropy import Expectations, expectations
from lmcourse.corpora.grammar_filter import PrefixFilter
from lmcourse.corpora.grammar_template import compile_rules
from lmcourse.corpora.stories import baby, broken, frame, garden, gift, lost, night
from lmcourse.corpora.stories.pools import POOLS
from lmcourse.errors import CourseError
from lmcourse.tokenizers.words import split_words

END = "<|endoftext|>"
RULES = {
    name: rule
    for part in (frame, lost, night, gift, baby, broken, garden)
    for name, rule in part.RULES.items()
}


class PositionFloor(NamedTuple):
    """Oracle loss by position in a document, estimated from sampled stories.

    Attributes:
        mean: nats of word 1, 2, ... given the words before it, over the stories that long; the end of a story
            counts as its last word. float64 (positions,).
        standard_error: of each mean, float64 (positions,); NaN where one story is that long.
        stories: how many stories are that long, int64 (positions,).
    """

    mean: np.ndarray
    standard_error: np.ndarray
    stories: np.ndarray


class StoryGrammar:
    """Children's stories from a probabilistic grammar, with the exact probability of every text.

    A story keeps its hero, friend, home and weakness from the first paragraph to the last; what goes wrong,
    and why, decides how it ends. Words are the pieces of `lmcourse.tokenizers.split_words`: words and
    punctuation with the space before them, and paragraph breaks; `WordTokenizer` splits in the same way. No
        two
    derivations give one text (the tests prove it with `find_ambiguity`), so that the entropy below is that of
    the text.

    There is nothing to seed: the grammar is fixed, and sampling uses the generator that it is given.
    """

    @cached_property
    def root(self) -> Node:
        """The grammar itself."""
        return compile_rules(RULES, POOLS, "story")

    def sample_documents(self, n: int, rng: np.random.Generator) -> list[str]:
        """`n` independent stories."""
        return ["".join(derive(self.root, rng)[0]) for _ in range(whole_number("n", n, 0))]

    def log_prob(self, text: str) -> float:
        """Exact log-probability of the whole story in nats; -inf for a text that the grammar cannot give."""
        return -float(self.word_nll(text)[1].sum())

    def parses(self, text: str) -> bool:
        """Whether `text` is a story of the grammar, from its first word to its end."""
        return math.isfinite(self.log_prob(text))

    def word_nll(self, text: str) -> tuple[list[str], np.ndarray]:
        """The words of `text` and the end, and the nats of each given all before it.

        Returns:
            The pieces of `split_words(text)` and "<|endoftext|>", and a float64 array as long. From the first
            word on that the grammar cannot give, the entries are infinite.
        """
        words = split_words(_checked(text))
        return [*words, END], self._filter.nll(words)

    def next_words(self, prefix: str) -> dict[str, float]:
        """Exact probabilities of the words that may follow `prefix`, the likeliest first.

        "<|endoftext|>" stands for the end of the story. `prefix` ends with a whole word.

        Raises:
            CourseError: no story begins like this; the message names the first word that cannot come.
        """
        hypotheses = self._filter.start()
        for number, word in enumerate(split_words(_checked(prefix)), start=1):
            _, hypotheses = self._filter.observe(hypotheses, word)
            if not hypotheses:
                raise CourseError(f"no story begins like this: word {number}, {word!r}, cannot come here")
        law = self._filter.next_pieces(hypotheses)
        ranked = sorted(law.items(), key=lambda item: -item[1])
        return {END if word is None else word: probability for word, probability in ranked}

    def floor_by_position(self, stories: list[str]) -> PositionFloor:
        """Oracle loss at each position of a document, averaged over `stories`.

        Estimated, with standard errors, because the stories differ in length; its average over all positions,
        weighted by `stories`, estimates `floor_per_token`, which is exact.

        Raises:
            CourseError: no stories, or one that the grammar cannot give.
        """
        losses = [self.word_nll(story)[1] for story in stories]
        foreign = [index for index, nll in enumerate(losses) if not np.isfinite(nll).all()]
        if not losses or foreign:
            what = f"stories[{foreign[0]}] is no story of this grammar" if foreign else "stories is empty"
            raise CourseError(f"{what}; give stories from sample_documents")
        table = np.full((len(losses), max(map(len, losses))), np.nan)
        for row, nll in zip(table, losses, strict=True):
            row[: len(nll)] = nll
        count = np.isfinite(table).sum(axis=0)
        mean = np.nanmean(table, axis=0)
        spread = np.nansum((table - mean) ** 2, axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            error = np.sqrt(spread / (count - 1) / count)
        return PositionFloor(mean, error, count)

    @property
    def entropy(self) -> float:
        """Nats per story, in closed form."""
        return self._expectations.entropy

    @property
    def mean_words(self) -> float:
        """Expected words per story (words, punctuation marks, paragraph breaks), without the end."""
        return math.fsum(self._expectations.piece_counts.values())

    @property
    def mean_bytes(self) -> float:
        """Expected bytes per story in UTF-8; the end has none."""
        counts = self._expectations.piece_counts
        return math.fsum(count * len(piece.encode()) for piece, count in counts.items())

    @property
    def floor_per_token(self) -> float:
        """Exact nats per word, the end of a story counted as one word."""
        return self.entropy / (self.mean_words + 1)

    @property
    def target_floor(self) -> float:
        """Exact nats per counted target of a packed stream: all words but the first of a story, and the end.

        The first word of a story is no target there: its input would be the end of another story.
        """
        first = np.array([*self._filter.next_pieces(self._filter.start()).values()])
        return (self.entropy + float((first * np.log(first)).sum())) / self.mean_words

    @property
    def floor_per_byte(self) -> float:
        """Exact nats per byte of text: the floor that all tokenizers share."""
        return self.entropy / self.mean_bytes

    @property
    def unigram_entropy(self) -> float:
        """Nats per word of a model that knows only how frequent each word is, the end of a story included."""
        counts = np.array([*self._expectations.piece_counts.values(), 1.0])
        share = counts[counts > 0] / counts.sum()
        return float(-(share * np.log(share)).sum())

    @property
    def vocabulary(self) -> tuple[str, ...]:
        """Every word that a story may hold, sorted, without the end."""
        return tuple(word for word, count in self._expectations.piece_counts.items() if count > 0)

    @cached_property
    def _filter(self) -> PrefixFilter:
        return PrefixFilter(self.root)

    @cached_property
    def _expectations(self) -> Expectations:
        return expectations(self.root)


def _checked(text: str) -> str:
    if not isinstance(text, str):
        raise CourseError(f"text must be a string; got {type(text).__name__}")
    return text
