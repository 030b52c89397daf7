"""Expectations over all derivations of a grammar in closed form, by dynamic programming over its nodes."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from lmcourse.corpora.grammar import Bind, Choice, Node, Pool, Say, Series, Switch, Text, all_nodes, children

# How far a bound entity matters for what is derived later: its pool and the attributes that switches ask for.
# Entities of one class are exchangeable, so the one in a `Say` is averaged over the class.
EntityClass = tuple[Pool, tuple[str, ...]]
Bindings = tuple[tuple[str, EntityClass], ...]  # sorted by variable


@dataclass(frozen=True)
class Expectations:
    """Exact expectations of one derivation.

    Attributes:
        entropy: nats of all decisions together; the entropy of the text if the grammar is unambiguous.
        piece_counts: expected occurrences of each piece in a text.
    """

    entropy: float
    piece_counts: dict[str, float]


@dataclass(frozen=True)
class _Part:
    entropy: float
    counts: np.ndarray  # expected occurrences by piece
    bound: dict[Bindings, float]  # law of the classes that the part binds


def expectations(root: Node) -> Expectations:
    """Entropy and expected piece counts of the derivations of `root`.

    Raises:
        ValueError: a `Say` or `Switch` of a variable that may be unbound there.
        KeyError: an attribute or a switch case that an entity asks for is missing.
    """
    analysis = _Analysis(root)
    whole = analysis.of(root, {})
    counts = {piece: float(whole.counts[index]) for piece, index in analysis.index.items()}
    return Expectations(whole.entropy, counts)


class _Analysis:
    def __init__(self, root: Node) -> None:
        nodes = list(all_nodes(root))
        self.asked: dict[str, tuple[str, ...]] = {}  # attributes that switches ask of a variable
        for node in nodes:
            if isinstance(node, Switch):
                self.asked[node.variable] = tuple(
                    sorted({*self.asked.get(node.variable, ()), node.attribute})
                )
        self.index = {piece: i for i, piece in enumerate(sorted(_pieces(nodes)))}
        self.reads: dict[Node, frozenset[str]] = {}
        for node in _children_first(root):
            below = frozenset().union(*(self.reads[child] for child in children(node)))
            self.reads[node] = below | {node.variable} if isinstance(node, Say | Switch) else below
        self.memo: dict[tuple[Node, Bindings], _Part] = {}

    def of(self, node: Node, known: dict[str, EntityClass]) -> _Part:
        """What `node` is expected to do when the classes `known` are bound."""
        reads = self.reads[node]
        key = (node, tuple(sorted((v, c) for v, c in known.items() if v in reads)))
        return self.memo.get(key) or self.memo.setdefault(key, self._of(node, known))

    def _of(self, node: Node, known: dict[str, EntityClass]) -> _Part:
        match node:
            case Text(pieces):
                return _Part(0.0, self._count(pieces), {(): 1.0})
            case Say(variable, attribute, capital, lead):
                counts = np.zeros(len(self.index))
                for entity, share in self._members(variable, known):
                    counts += share * self._count(entity.pieces(attribute, capital, lead))
                return _Part(0.0, counts, {(): 1.0})
            case Switch(variable, attribute, cases):
                entity, _ = self._members(variable, known)[0]
                return self.of(cases[entity.attributes[attribute]], known)
            case Bind(variable, pool):
                law: dict[Bindings, float] = defaultdict(float)
                for entity, share in zip(pool.entities, pool.probabilities, strict=True):
                    law[((variable, self._class(variable, pool, entity)),)] += share
                return _Part(_entropy(pool.probabilities), np.zeros(len(self.index)), dict(law))
            case Choice(options):
                parts = [self.of(option, known) for option in options]
                return self._mix(node.probabilities, parts, _entropy(node.probabilities))
            case Series(parts):
                return self._series(parts, known)
        raise TypeError(f"no node of a grammar: {node!r}")

    def _mix(self, probabilities: tuple[float, ...], parts: list[_Part], entropy: float) -> _Part:
        counts = np.zeros(len(self.index))
        law: dict[Bindings, float] = defaultdict(float)
        for probability, part in zip(probabilities, parts, strict=True):
            entropy += probability * part.entropy
            counts += probability * part.counts
            for bindings, share in part.bound.items():
                law[bindings] += probability * share
        return _Part(entropy, counts, dict(law))

    def _series(self, parts: tuple[Node, ...], known: dict[str, EntityClass]) -> _Part:
        entropy = 0.0
        counts = np.zeros(len(self.index))
        law: dict[Bindings, float] = {(): 1.0}
        for part in parts:
            after: dict[Bindings, float] = defaultdict(float)
            for bindings, probability in law.items():
                result = self.of(part, known | dict(bindings))
                entropy += probability * result.entropy
                counts += probability * result.counts
                for new, share in result.bound.items():
                    merged = tuple(sorted((dict(bindings) | dict(new)).items())) if new else bindings
                    after[merged] += probability * share
            law = after
        return _Part(entropy, counts, dict(law))

    def _count(self, pieces: tuple[str, ...]) -> np.ndarray:
        counts = np.zeros(len(self.index))
        for piece in pieces:
            counts[self.index[piece]] += 1.0
        return counts

    def _class(self, variable: str, pool: Pool, entity) -> EntityClass:
        return pool, tuple(entity.attributes[name] for name in self.asked.get(variable, ()))

    def _members(self, variable: str, known: dict[str, EntityClass]) -> list:
        """The entities of a variable's class with their shares of it."""
        if variable not in known:
            raise ValueError(f"variable {variable!r} is used where it may be unbound")
        pool = known[variable][0]
        members = [
            (entity, share)
            for entity, share in zip(pool.entities, pool.probabilities, strict=True)
            if self._class(variable, pool, entity) == known[variable]
        ]
        total = sum(share for _, share in members)
        return [(entity, share / total) for entity, share in members]


def _pieces(nodes: list[Node]) -> set[str]:
    """Every piece that some derivation may write."""
    found = {piece for node in nodes if isinstance(node, Text) for piece in node.pieces}
    pools: dict[str, set[Pool]] = defaultdict(set)
    for node in nodes:
        if isinstance(node, Bind):
            pools[node.variable].add(node.pool)
    for node in nodes:
        if isinstance(node, Say):
            for pool in pools[node.variable]:
                for entity in pool.entities:
                    if node.attribute in entity.attributes:
                        found.update(entity.pieces(node.attribute, node.capital, node.lead))
    return found


def _children_first(root: Node) -> list[Node]:
    order: list[Node] = []
    seen: set[Node] = set()

    def visit(node: Node) -> None:
        if node not in seen:
            seen.add(node)
            for child in children(node):
                visit(child)
            order.append(node)

    visit(root)
    return order


def _entropy(probabilities: tuple[float, ...]) -> float:
    law = np.array(probabilities)
    return float(-(law * np.log(law)).sum())
