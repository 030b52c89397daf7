"""StoryGrammar: exact probabilities, closed forms against samples, and stories that hold together."""

import math
import re
from functools import cache

import numpy as np
import pytest

from lmcourse.corpora import StoryGrammar
from lmcourse.corpora.grammar import derive
from lmcourse.corpora.grammar_ambiguity import find_ambiguity, find_merged_pieces
from lmcourse.errors import CourseError
from lmcourse.tokenizers import WordTokenizer, split_words

END = "<|endoftext|>"


@cache
def stories():
    return StoryGrammar()


@cache
def sample(n=1000, seed=17):
    return tuple(stories().sample_documents(n, np.random.default_rng(seed)))


@cache
def losses():
    return tuple(stories().word_nll(story)[1] for story in sample())


def test_no_two_derivations_give_one_story():
    assert find_ambiguity(stories().root) is None


def test_words_do_not_merge():
    assert find_merged_pieces(stories().root) is None


def test_text_probability_equals_that_of_the_one_derivation_behind_it():
    rng = np.random.default_rng(3)
    for _ in range(100):
        pieces, log_probability = derive(stories().root, rng)
        assert stories().log_prob("".join(pieces)) == pytest.approx(log_probability, abs=1e-9)


def test_entropy_and_length_in_closed_form_equal_a_sample():
    grammar = stories()
    totals = np.array([nll.sum() for nll in losses()])
    words = np.array([len(nll) - 1 for nll in losses()])
    size = np.array([len(story.encode()) for story in sample()])
    first = np.array([nll[0] for nll in losses()])
    for values, expected in (
        (totals, grammar.entropy),
        (words, grammar.mean_words),
        (size, grammar.mean_bytes),
        (totals - grammar.floor_per_token * (words + 1), 0.0),
        (totals - grammar.floor_per_byte * size, 0.0),
        (totals - first - grammar.target_floor * words, 0.0),
    ):
        assert abs(values.mean() - expected) < 3 * values.std(ddof=1) / math.sqrt(len(values))
    assert grammar.floor_per_token == pytest.approx(grammar.entropy / (grammar.mean_words + 1))
    assert grammar.floor_per_token < grammar.unigram_entropy < math.log(len(grammar.vocabulary) + 1)


def test_unigram_entropy_is_that_of_a_sample():
    words = [word for story in sample() for word in (*split_words(story), END)]
    _, counts = np.unique(words, return_counts=True)
    share = counts / counts.sum()
    assert -(share * np.log(share)).sum() == pytest.approx(stories().unigram_entropy, abs=0.02)


def test_vocabulary_is_closed_and_rich():
    vocabulary = stories().vocabulary
    assert list(vocabulary) == sorted(set(vocabulary))
    assert len({word.strip().lower() for word in vocabulary if word.strip().isalpha()}) >= 400
    seen = {word for story in sample() for word in split_words(story)}
    assert seen <= set(vocabulary)
    assert len(seen) > 0.98 * len(vocabulary)


def test_the_word_tokenizer_splits_in_the_same_way():
    tokenizer = WordTokenizer.train(stories().vocabulary)
    assert tokenizer.vocab_size == len(stories().vocabulary) + 1
    for story, nll in zip(sample()[:50], losses(), strict=False):
        ids = tokenizer.encode(story)
        assert len(ids) == len(nll) - 1
        assert tokenizer.decode(ids) == story


def test_stories_are_clean_text_of_varied_length():
    lengths = [len(story.split()) for story in sample()]
    assert 60 <= min(lengths) < 120
    assert 180 < max(lengths) <= 200
    for story in sample():
        assert story.isascii()
        assert story.count('"') % 2 == 0
        assert not re.search(r"  | [.,!?]|[.,!?][A-Za-z]|[.!?] [a-z]|\ba [aeiou]|\ban [^aeiou]|\n \n", story)
        assert re.search(r'[.!?]"?$', story)
        assert story == story.strip()


def test_a_story_keeps_its_hero():
    for story in sample()[:200]:
        girl = re.search(r" girl (?:named|called) (\w+)\.", story)
        hero = (girl or re.search(r" boy (?:named|called) (\w+)\.", story))[1]
        assert story.count(hero) >= 3
        other = "Tom" if girl else "Lily"
        last = story.rindex(hero)
        assert not stories().parses(story[:last] + other + story[last + len(hero) :])
        pronoun, wrong = (" she ", " he ") if girl else (" he ", " she ")
        if pronoun in story:
            assert not stories().parses(wrong.join(story.rsplit(pronoun, 1)))


def test_an_early_choice_fixes_a_late_word():
    story = next(s for s in sample() if re.search(r"held the red (kite|hat|scarf|balloon|flag|umbrella) ", s))
    place = story.rindex(" red ")
    law = stories().next_words(story[:place])
    assert law == pytest.approx({" red": 1.0})
    assert not stories().parses(story[:place] + " blue" + story[place + 4 :])


def test_next_words_are_the_law_behind_the_losses():
    story = sample()[0]
    words, nll = stories().word_nll(story)
    assert words == [*split_words(story), END]
    for position in range(0, len(words), 7):
        law = stories().next_words("".join(words[:position]))
        assert math.fsum(law.values()) == pytest.approx(1.0, abs=1e-12)
        assert -math.log(law[words[position]]) == pytest.approx(nll[position], abs=1e-12)
        assert list(law.values()) == sorted(law.values(), reverse=True)
    assert END in stories().next_words(story)


def test_texts_outside_the_grammar():
    story = sample()[1]
    half = story[: len(story) // 2].rsplit(" ", 1)[0]
    for text in (
        "",
        "Hello there.",
        story.lower(),
        half,
        story + " The end.",
        story + "\n",
        " " + story,
        "\ud800",
    ):
        assert not stories().parses(text)
        assert stories().log_prob(text) == -math.inf
    assert stories().parses(story)
    _, nll = stories().word_nll(half)
    assert np.isfinite(nll[:-1]).all()
    assert np.isinf(nll[-1])
    with pytest.raises(CourseError, match=r"word 3, ' pig', cannot come here"):
        stories().next_words("Once upon pig")
    with pytest.raises(CourseError, match="text must be a string; got bytes"):
        stories().parses(b"Once upon a time")


def test_floor_by_position_averages_to_the_total():
    floor = stories().floor_by_position(list(sample()[:300]))
    used = losses()[:300]
    assert len(floor.mean) == len(floor.standard_error) == len(floor.stories) == max(map(len, used))
    assert (floor.mean * floor.stories).sum() == pytest.approx(sum(nll.sum() for nll in used))
    assert floor.stories[0] == 300
    assert floor.mean[0] == pytest.approx(np.mean([nll[0] for nll in used]))
    for bad in ([], ["no story"]):
        with pytest.raises(CourseError, match="give stories from sample_documents"):
            stories().floor_by_position(bad)


def test_sampling_depends_on_its_generator_alone():
    first, second = (stories().sample_documents(5, np.random.default_rng(1)) for _ in range(2))
    assert first == second
    assert first != stories().sample_documents(5, np.random.default_rng(2))
    assert stories().sample_documents(0, np.random.default_rng(1)) == []
    with pytest.raises(CourseError, match="n must be a whole number"):
        stories().sample_documents(-1, np.random.default_rng(1))
