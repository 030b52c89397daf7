"""The grammar engine against enumeration of all derivations: small grammars, bound and ambiguous ones too."""

import math
from collections import Counter, defaultdict

import numpy as np
import pytest

from lmcourse.corpora.grammar import Bind, Choice, Entity, Pool, Say, Series, Switch, Text, derive
from lmcourse.corpora.grammar_ambiguity import find_ambiguity, find_merged_pieces
from lmcourse.corpora.grammar_entropy import expectations
from lmcourse.corpora.grammar_filter import PrefixFilter
from lmcourse.corpora.grammar_template import compile_rules
from lmcourse.tokenizers.words import split_words

POOLS = {
    "children": Pool(
        (
            Entity({"name": "Ann", "he": "she", "kind": "girl"}),
            Entity({"name": "Bob", "he": "he", "kind": "boy"}),
            Entity({"name": "Cy", "he": "he", "kind": "boy"}),
        ),
        (1.0, 2.0, 5.0),
    ),
    "pets": Pool((Entity({"name": "Rex", "kind": "dog"}), Entity({"name": "old Tom", "kind": "cat"}))),
}


def grammar(**rules):
    return compile_rules(rules, POOLS, "root")


PLAIN = grammar(root="A[ big| red|3* small]{thing}.", thing="[ cat| dog[ and cat|]]")
BOUND = grammar(
    root="""{hero=children.name} met {friend=pets.name}.
         {hero.He} [{friend.kind?dog:{walk}|cat:sat}|slept[ well|]].
         // {hero.kind?girl:The girl|boy:{friend.name} and he} went home.""",
    walk="[ran|walked] {hero.kind?girl:away|boy:off}",
)
REBOUND = grammar(root="{x=children.name}[ saw {x=pets.name}|] and {x.name} left.")
# Two derivations of " cat": from the outer and from the inner bracket.
OVERLAP = grammar(root="A[2* cat| dog|{other}].", other="[ cat|3* bird]")
# The same words cut in two ways, apart for several words: " a b" " c" and " a" " b c".
SHIFTED = grammar(root="x[ a b| a]{y}", y="[ c| b c| d]")
# The hero's name does not show up in what is written.
HIDDEN = grammar(root="The {hero=children}{hero.kind?girl:girl|boy:boy} ran.")

UNAMBIGUOUS = {"plain": PLAIN, "bound": BOUND, "rebound": REBOUND}
AMBIGUOUS = {"overlap": OVERLAP, "shifted": SHIFTED, "hidden": HIDDEN}
ALL = UNAMBIGUOUS | AMBIGUOUS


def derivations(node, environment):
    """Every derivation as (pieces, probability, environment after it), from the definition of the nodes."""
    match node:
        case Text(pieces):
            yield pieces, 1.0, environment
        case Say(variable, attribute, capital, lead):
            value = environment[variable].attributes[attribute]
            value = value[0].upper() + value[1:] if capital else value
            yield tuple(split_words(" " * lead + value)), 1.0, environment
        case Choice(options):
            for option, probability in zip(options, node.probabilities, strict=True):
                for pieces, below, after in derivations(option, environment):
                    yield pieces, probability * below, after
        case Bind(variable, pool):
            for entity, probability in zip(pool.entities, pool.probabilities, strict=True):
                yield (), probability, environment | {variable: entity}
        case Switch(variable, attribute, cases):
            yield from derivations(cases[environment[variable].attributes[attribute]], environment)
        case Series(parts):
            if not parts:
                yield (), 1.0, environment
                return
            for head, first, between in derivations(parts[0], environment):
                for tail, second, after in derivations(Series(parts[1:]), between):
                    yield head + tail, first * second, after


def texts(node):
    law = defaultdict(float)
    for pieces, probability, _ in derivations(node, {}):
        law["".join(pieces)] += probability
    return dict(law)


@pytest.mark.parametrize("name", ALL)
def test_probabilities_of_all_texts_sum_to_one_and_equal_enumeration(name):
    law = texts(ALL[name])
    prefixes = PrefixFilter(ALL[name])
    found = {text: math.exp(-prefixes.nll(split_words(text)).sum()) for text in law}
    assert found == pytest.approx(law, rel=1e-12)
    assert math.fsum(found.values()) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("name", ALL)
def test_next_piece_law_equals_enumeration_at_every_prefix(name):
    law = {tuple(split_words(text)): p for text, p in texts(ALL[name]).items()}
    prefixes = PrefixFilter(ALL[name])
    for prefix in {pieces[:length] for pieces in law for length in range(len(pieces) + 1)}:
        expected = defaultdict(float)
        for pieces, probability in law.items():
            if pieces[: len(prefix)] == prefix:
                expected[(*pieces, None)[len(prefix)]] += probability
        total = sum(expected.values())
        hypotheses = prefixes.start()
        for piece in prefix:
            _, hypotheses = prefixes.observe(hypotheses, piece)
        found = prefixes.next_pieces(hypotheses)
        assert found == pytest.approx({piece: p / total for piece, p in expected.items()}, rel=1e-12)


def test_ambiguous_derivations_collapse():
    law = texts(OVERLAP)
    assert sum(1 for _ in derivations(OVERLAP, {})) == 4
    assert law == pytest.approx({"A cat.": 0.5 + 0.25 / 4, "A dog.": 0.25, "A bird.": 0.75 / 4})
    assert len(texts(SHIFTED)) == 5
    prefixes = PrefixFilter(SHIFTED)
    _, hypotheses = prefixes.observe(prefixes.start(), "x")
    assert len(hypotheses) == 2
    for piece in (" a", " b", " c"):
        _, hypotheses = prefixes.observe(hypotheses, piece)
    assert len(hypotheses) == 1  # both derivations are at the end: one hypothesis


@pytest.mark.parametrize("name", ALL)
def test_derivation_entropy_and_piece_counts_equal_enumeration(name):
    found = expectations(ALL[name])
    entropy, counts = 0.0, Counter()
    for pieces, probability, _ in derivations(ALL[name], {}):
        entropy -= probability * math.log(probability)
        for piece in pieces:
            counts[piece] += probability
    assert found.entropy == pytest.approx(entropy, abs=1e-12)
    assert {p: c for p, c in found.piece_counts.items() if c} == pytest.approx(dict(counts), abs=1e-12)


@pytest.mark.parametrize("name", UNAMBIGUOUS)
def test_unambiguous_grammars_are_recognized(name):
    root = UNAMBIGUOUS[name]
    assert find_ambiguity(root) is None
    law = texts(root)
    assert len(law) == sum(1 for _ in derivations(root, {}))
    text_entropy = -math.fsum(p * math.log(p) for p in law.values())
    assert expectations(root).entropy == pytest.approx(text_entropy, abs=1e-12)


@pytest.mark.parametrize("name", AMBIGUOUS)
def test_ambiguous_grammars_are_recognized(name):
    root = AMBIGUOUS[name]
    assert "two derivations" in find_ambiguity(root)
    law = texts(root)
    assert len(law) < sum(1 for _ in derivations(root, {}))
    text_entropy = -math.fsum(p * math.log(p) for p in law.values())
    assert text_entropy < expectations(root).entropy - 0.01


def test_ambiguity_far_after_the_decision_is_found():
    late = grammar(root="[one {hero=children.name} two|one {friend=children.name} two] three[ four|]")
    assert "one" in find_ambiguity(late)
    apart = grammar(root="[one {hero=children.name} two {hero.he}|one {hero=children.name} two they] three")
    assert find_ambiguity(apart) is None


@pytest.mark.parametrize("name", ALL)
def test_derive_follows_the_law(name):
    root = ALL[name]
    rng = np.random.default_rng(8)
    law = texts(root)
    drawn = Counter("".join(derive(root, rng)[0]) for _ in range(3000))
    assert set(drawn) <= set(law)
    # chi-square over texts that are expected at least five times; its mean is at most the number of cells
    cells = [(drawn[text], 3000 * p) for text, p in law.items() if 3000 * p >= 5]
    statistic = sum((seen - expected) ** 2 / expected for seen, expected in cells)
    assert statistic < len(cells) + 4 * math.sqrt(2 * len(cells)) + 8


@pytest.mark.parametrize("name", UNAMBIGUOUS)
def test_derive_reports_the_probability_of_what_it_wrote(name):
    root = UNAMBIGUOUS[name]
    prefixes = PrefixFilter(root)
    rng = np.random.default_rng(4)
    for _ in range(20):
        pieces, log_probability = derive(root, rng)
        assert pieces == split_words("".join(pieces))
        assert -prefixes.nll(pieces).sum() == pytest.approx(log_probability, abs=1e-12)


def test_text_outside_the_grammar_is_impossible_from_its_first_foreign_word_on():
    prefixes = PrefixFilter(PLAIN)
    for text, finite in (("A big cat", 3), ("A big cow.", 2), ("A big cat..", 4), ("", 0), ("Zebra", 0)):
        nll = prefixes.nll(split_words(text))
        assert nll.shape == (len(split_words(text)) + 1,)
        assert np.isfinite(nll[:finite]).all()
        assert np.isinf(nll[finite:]).all()


def test_merged_pieces_are_found():
    assert find_merged_pieces(BOUND) is None
    for root, words in (
        ({"root": "[un|]happy"}, "'un' and 'happy'"),
        ({"root": "big [cat |dog ]runs"}, "' cat' and 'runs'"),
        ({"root": "{hero=children.name}s ran"}, "'Ann' and 's'"),
        ({"root": "one[ // | two]// three"}, "neighbors"),
    ):
        assert words in find_merged_pieces(grammar(**root))


def test_template_spacing():
    assert set(texts(grammar(root="a[\n b|\n c | d]\n{x} ", x="\n e\n f"))) == {"ab e f", "ac e f", "a d e f"}
    assert set(texts(grammar(root="a [b|c d] e[, f|]\n   g //\n h"))) == {
        "a b e g\n\nh",
        "a b e, f g\n\nh",
        "a c d e g\n\nh",
        "a c d e, f g\n\nh",
    }
    assert set(texts(grammar(root='{hero=children}"Hi," said {hero.name}.'))) == {
        f'"Hi," said {name}.' for name in ("Ann", "Bob", "Cy")
    }


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        ({"root": "a {b}"}, "rule 'root': there is no rule 'b'"),
        ({"root": "a {b}", "b": "{c}", "c": "{b}"}, "rule 'b' is part of itself: root > b > c > b"),
        ({"root": "a", "b": "c"}, "rule 'b' is used by no other rule"),
        ({"root": "a [b|c"}, "a bracket is not closed"),
        ({"root": "a b]"}, "']' closes or separates nothing"),
        ({"root": "a|b"}, "'|' closes or separates nothing"),
        ({"root": "a {1}"}, "cannot read"),
        ({"root": "{x=nobody}"}, "there is no pool 'nobody'"),
        ({"root": "{x=pets}{x.kind?dog:a|dog:b}"}, "has no name of its own"),
        ({"root": "{x=pets}{x.kind?dog:a"}, "is not closed"),
        ({"root": "very [old|]"}, "put it inside the options"),
    ],
)
def test_malformed_rules_are_named(rules, words):
    with pytest.raises(ValueError) as caught:
        grammar(**rules)
    assert words in str(caught.value)


def test_unbound_variables_and_bad_weights_are_named():
    with pytest.raises(ValueError, match="'hero' is used where it may be unbound"):
        expectations(grammar(root="[{hero=children.name}|x] saw {hero.name}"))
    for weights in ((1.0,), (1.0, 0.0), (1.0, -1.0)):
        with pytest.raises(ValueError, match="weights above 0"):
            Choice((Text(("a",)), Text(("b",))), weights)
    with pytest.raises(ValueError, match="'name' is empty"):
        Entity({"name": ""})
