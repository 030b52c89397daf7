"""Nodes of a probabilistic grammar with bound variables, and sampling from it.

A grammar is a finite tree of nodes (shared parts allowed, recursion not). A derivation walks it from the
root, makes a random decision at each `Choice` and `Bind`, and writes the pieces of each `Text` and `Say`.
What was bound early decides what later `Say` and `Switch` nodes write: long-range dependence comes from
there.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

import numpy as np

from lmcourse.tokenizers.words import split_words


class Entity:
    """Something a variable can stand for: a person, a place; its attributes are short texts."""

    __slots__ = ("_pieces", "attributes")

    def __init__(self, attributes: Mapping[str, str]) -> None:
        self.attributes = dict(attributes)
        empty = [name for name, value in self.attributes.items() if not value]
        if empty:
            raise ValueError(f"attribute {empty[0]!r} is empty, so that saying it would write nothing")
        self._pieces: dict[tuple[str, bool, bool], tuple[str, ...]] = {}

    def pieces(self, attribute: str, capital: bool = False, lead: bool = False) -> tuple[str, ...]:
        """An attribute as word-level pieces, with a capital first letter and a leading space if asked."""
        key = (attribute, capital, lead)
        if key not in self._pieces:
            value = self.attributes[attribute]
            if capital:
                value = value[:1].upper() + value[1:]
            self._pieces[key] = tuple(split_words(" " + value if lead else value))
        return self._pieces[key]

    def __repr__(self) -> str:
        return f"Entity({self.attributes})"


@dataclass(frozen=True, eq=False)
class Pool:
    """The entities a variable is bound from, each equally likely unless weights say otherwise."""

    entities: tuple[Entity, ...]
    weights: tuple[float, ...] = ()
    probabilities: tuple[float, ...] = field(init=False)
    cumulative: tuple[float, ...] = field(init=False)

    def __post_init__(self) -> None:
        _set_probabilities(self, self.weights or (1.0,) * len(self.entities), len(self.entities))


@dataclass(frozen=True, eq=False)
class Node:
    """A part of a grammar. Nodes are equal only to themselves."""


@dataclass(frozen=True, eq=False)
class Text(Node):
    """Writes fixed pieces, perhaps none."""

    pieces: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Say(Node):
    """Writes an attribute of the entity that a variable is bound to."""

    variable: str
    attribute: str
    capital: bool = False
    lead: bool = False


@dataclass(frozen=True, eq=False)
class Series(Node):
    """Its parts, one after another."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, eq=False)
class Choice(Node):
    """One of its options, at random."""

    options: tuple[Node, ...]
    weights: tuple[float, ...] = ()
    probabilities: tuple[float, ...] = field(init=False)
    cumulative: tuple[float, ...] = field(init=False)

    def __post_init__(self) -> None:
        _set_probabilities(self, self.weights or (1.0,) * len(self.options), len(self.options))


@dataclass(frozen=True, eq=False)
class Bind(Node):
    """Binds a variable to a random entity of a pool and writes nothing."""

    variable: str
    pool: Pool


@dataclass(frozen=True, eq=False)
class Switch(Node):
    """The case named by an attribute of the entity that a variable is bound to."""

    variable: str
    attribute: str
    cases: Mapping[str, Node]


def _set_probabilities(target: Pool | Choice, weights: Sequence[float], count: int) -> None:
    if count == 0 or len(weights) != count or min(weights) <= 0:
        raise ValueError(f"{count} options need as many weights above 0; got {tuple(weights)}")
    total = math.fsum(weights)
    probabilities = tuple(weight / total for weight in weights)
    object.__setattr__(target, "probabilities", probabilities)
    object.__setattr__(target, "cumulative", tuple(accumulate(probabilities))[:-1])


def children(node: Node) -> tuple[Node, ...]:
    """The nodes directly below `node`."""
    match node:
        case Series(parts):
            return parts
        case Choice(options):
            return options
        case Switch(cases=cases):
            return tuple(cases.values())
    return ()


def all_nodes(root: Node) -> Iterator[Node]:
    """`root` and every node below it, each once, parents before children."""
    seen: set[Node] = set()
    stack = [root]
    while stack:
        node = stack.pop()
        if node not in seen:
            seen.add(node)
            yield node
            stack.extend(reversed(children(node)))


def derive(root: Node, rng: np.random.Generator) -> tuple[list[str], float]:
    """A random derivation: the pieces it writes, and its log-probability in nats.

    The log-probability is that of the derivation; where several derivations give the same text, that of the
    text is larger.
    """
    pieces: list[str] = []
    environment: dict[str, Entity] = {}
    log_probability = 0.0
    stack = [root]
    while stack:
        match stack.pop():
            case Text(written):
                pieces.extend(written)
            case Say(variable, attribute, capital, lead):
                pieces.extend(environment[variable].pieces(attribute, capital, lead))
            case Series(parts):
                stack.extend(reversed(parts))
            case Choice() as choice:
                index = bisect_right(choice.cumulative, rng.random())
                log_probability += math.log(choice.probabilities[index])
                stack.append(choice.options[index])
            case Bind(variable, pool):
                index = bisect_right(pool.cumulative, rng.random())
                log_probability += math.log(pool.probabilities[index])
                environment[variable] = pool.entities[index]
            case Switch(variable, attribute, cases):
                stack.append(cases[environment[variable].attributes[attribute]])
    return pieces, log_probability
