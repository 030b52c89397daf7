"""Proof that a grammar gives each of its texts by one derivation only: text and derivation entropy agree.

Two derivations of one text agree up to some decision and differ there. So it is enough to look at each
decision that can be reached, and at each pair of its alternatives, and to follow both in step for as long
as they write the same pieces: a text is ambiguous only if a pair never parts. What was bound before the
decision is not looked up but taken to be anything (each side on its own), which can only report too much,
never too little. The method is the test for unambiguous automata by their square (Book, Even, Greibach and
Ott, *Ambiguity in graphs and expressions*, 1971).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import combinations, pairwise

from lmcourse.corpora.grammar import Bind, Choice, Entity, Node, Pool, Say, Series, Switch, Text, all_nodes
from lmcourse.corpora.grammar_filter import Frame, PrefixFilter
from lmcourse.tokenizers.words import split_words

Known = tuple[tuple[str, Entity], ...]  # what a side has bound since the decision, sorted by variable
Side = tuple[
    tuple[str, ...], "Frame | None", Known
]  # pieces still to write, what follows; () and None: the end


def find_ambiguity(root: Node) -> str | None:
    """How two alternatives of one decision may give the same text, or None: the grammar is unambiguous."""
    return _Search(root).ambiguity()


def find_merged_pieces(root: Node) -> str | None:
    """Two neighboring pieces that would be read as other pieces once they are joined, or None.

    Without such a pair `split_words` gives back exactly the pieces that a derivation wrote.
    """
    return _Search(root).merged_pieces()


class _Search:
    def __init__(self, root: Node) -> None:
        self.frames = PrefixFilter(root)
        self.root = self.frames.frame(root, None)
        self.pools: dict[str, list[Pool]] = defaultdict(list)
        for node in all_nodes(root):
            if isinstance(node, Bind) and node.pool not in self.pools[node.variable]:
                self.pools[node.variable].append(node.pool)

    def ambiguity(self) -> str | None:
        for frame in self.reachable():
            for first, second in combinations(self.alternatives(frame), 2):
                text = self.common_text(first, second)
                if text is not None:
                    return f"two derivations give the text that goes on with {''.join(text)!r}"
        return None

    def merged_pieces(self) -> str | None:
        checked: set[tuple[str, str]] = set()
        for frame in self.reachable():
            if isinstance(frame.node, Say) or (isinstance(frame.node, Text) and frame.node.pieces):
                for pieces, rest, known in self.expand(frame, ()):
                    for follower, _, _ in self.expand(rest, known):
                        checked.update(pairwise((*pieces, *follower[:1])))
        for left, right in sorted(checked):
            if split_words(left + right) != [left, right]:
                return f"{left!r} and {right!r} are neighbors, but read as {split_words(left + right)}"
        return None

    def reachable(self) -> list[Frame]:
        """All frames that some derivation may come to, with any choice and any binding."""
        seen = {self.root}
        todo = [self.root]
        while todo:
            for following in self.successors(todo.pop()):
                if following is not None and following not in seen:
                    seen.add(following)
                    todo.append(following)
        return sorted(seen, key=lambda frame: isinstance(frame.node, Series))

    def successors(self, frame: Frame) -> Iterator[Frame | None]:
        match frame.node:
            case Series(parts):
                rest = frame.rest
                for part in reversed(parts):
                    rest = self.frames.frame(part, rest)
                yield rest
            case Choice(options):
                yield from (self.frames.frame(option, frame.rest) for option in options)
            case Switch(cases=cases):
                yield from (self.frames.frame(case, frame.rest) for case in cases.values())
            case _:
                yield frame.rest

    def alternatives(self, frame: Frame) -> list[tuple[Frame | None, Known]]:
        """Where each alternative of the decision at `frame` goes on; none where nothing is decided."""
        match frame.node:
            case Choice(options):
                return [(self.frames.frame(option, frame.rest), ()) for option in options]
            case Bind(variable, pool):
                return [(frame.rest, ((variable, entity),)) for entity in pool.entities]
        return []

    def common_text(self, first: tuple[Frame | None, Known], second: tuple[Frame | None, Known]):
        """Pieces that both alternatives can write up to the end or to a shared continuation, or None."""
        todo = [(left, right, ()) for left, right in _pairs(self.expand(*first), self.expand(*second))]
        seen: set[tuple[Side, Side]] = set()
        while todo:
            left, right, text = todo.pop()
            if left == right:
                return (*text, *left[0])
            if (left, right) in seen:
                continue
            seen.add((left, right))
            text = (*text, left[0][0])
            todo.extend((a, b, text) for a, b in _pairs(self.after_piece(left), self.after_piece(right)))
        return None

    def after_piece(self, side: Side) -> list[Side]:
        pieces, rest, known = side
        return [(pieces[1:], rest, known)] if len(pieces) > 1 else self.expand(rest, known)

    def expand(self, frame: Frame | None, known: Known) -> list[Side]:
        """All ways to reach the next piece; an unbound variable may be anything its pools hold."""
        if frame is None:
            return [((), None, ())]
        rest = frame.rest
        match frame.node:
            case Text(pieces) if pieces:
                return [(pieces, rest, known)]
            case Say(variable, attribute, capital, lead):
                return [
                    (entity.pieces(attribute, capital, lead), rest, _bound(known, variable, entity))
                    for entity in self.possible(variable, known)
                    if attribute in entity.attributes
                ]
            case Bind(variable, pool):
                sides = [self.expand(rest, _bound(known, variable, entity)) for entity in pool.entities]
            case Switch(variable, attribute, cases):
                values = {e.attributes.get(attribute) for e in self.possible(variable, known)}
                sides = [
                    self.expand(self.frames.frame(cases[value], rest), known)
                    for value in sorted(values & cases.keys())
                ]
            case _:
                sides = [self.expand(following, known) for following in self.successors(frame)]
        return list(dict.fromkeys(side for group in sides for side in group))

    def possible(self, variable: str, known: Known) -> list[Entity]:
        for name, entity in known:
            if name == variable:
                return [entity]
        return [entity for pool in self.pools[variable] for entity in pool.entities]


def _bound(known: Known, variable: str, entity: Entity) -> Known:
    return tuple(sorted((dict(known) | {variable: entity}).items(), key=lambda item: item[0]))


def _pairs(first: list[Side], second: list[Side]) -> Iterator[tuple[Side, Side]]:
    """Pairs of sides with the same next piece, or both at the end."""
    by_piece: dict[tuple[str, ...], list[Side]] = defaultdict(list)
    for side in second:
        by_piece[side[0][:1]].append(side)
    for side in first:
        for other in by_piece.get(side[0][:1], ()):
            yield side, other
