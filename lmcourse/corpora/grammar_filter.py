"""Exact probabilities of texts under a grammar: a filter over all derivations that agree with a prefix."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from lmcourse.corpora.grammar import Bind, Choice, Entity, Node, Say, Series, Switch, Text, all_nodes


class Frame:
    """What is still to be derived: a node, then the rest. Equal ones are the same object."""

    __slots__ = ("node", "rest")

    def __init__(self, node: Node, rest: Frame | None) -> None:
        self.node = node
        self.rest = rest


# A hypothesis: pieces being written, how many of them are out, the frame after them, the bound entities.
# It always has a next piece; END has none.
Hypothesis = tuple[tuple[str, ...], int, "Frame | None", tuple["Entity | None", ...]]
END: Hypothesis = ((), 0, None, ())


class PrefixFilter:
    """The law of the next piece given the pieces so far, summed over all derivations that give those pieces.

    The forward algorithm over the states of the derivation: hypotheses that agree on what is left to derive
    and on the bound entities are added up, so that a text gets the sum of the probabilities of its
    derivations.

    A filter is shared by any number of texts; each text has its own law of hypotheses, from `start` through
    `observe`.
    """

    def __init__(self, root: Node) -> None:
        variables = sorted({node.variable for node in all_nodes(root) if isinstance(node, Bind)})
        self._slot = {variable: index for index, variable in enumerate(variables)}
        self._frames: dict[tuple[Node, Frame | None], Frame] = {}
        self._start: dict[Hypothesis, float] = {}
        self._expand(self.frame(root, None), (None,) * len(variables), 1.0, self._start)

    def start(self) -> dict[Hypothesis, float]:
        """The hypotheses before the first piece, with probabilities that sum to 1."""
        return dict(self._start)

    def next_pieces(self, law: dict[Hypothesis, float]) -> dict[str | None, float]:
        """Probability of each possible next piece; None stands for the end of the text."""
        result: dict[str | None, float] = {}
        for (pieces, index, _, _), probability in law.items():
            piece = pieces[index] if pieces else None
            result[piece] = result.get(piece, 0.0) + probability
        return result

    def observe(
        self, law: dict[Hypothesis, float], piece: str | None
    ) -> tuple[float, dict[Hypothesis, float]]:
        """Probability of `piece` (None: the end), and the law of the hypotheses that remain after it.

        The law is empty when the piece is impossible, and after the end.
        """
        matching = [
            (hypothesis, probability)
            for hypothesis, probability in law.items()
            if (hypothesis[0][hypothesis[1]] if hypothesis[0] else None) == piece
        ]
        total = math.fsum(probability for _, probability in matching)
        after: dict[Hypothesis, float] = {}
        if piece is None or not matching:
            return total, after
        for (pieces, index, frame, environment), probability in matching:
            if index + 1 < len(pieces):
                hypothesis = (pieces, index + 1, frame, environment)
                after[hypothesis] = after.get(hypothesis, 0.0) + probability / total
            else:
                self._expand(frame, environment, probability / total, after)
        return total, after

    def nll(self, pieces: Iterable[str]) -> np.ndarray:
        """Nats of each piece given those before it, and of the end after them: float64 (len(pieces) + 1,).

        From the first piece on that no derivation can give, all entries are infinite.
        """
        observed = [*pieces, None]
        result = np.full(len(observed), np.inf)
        law = self._start
        for position, piece in enumerate(observed):
            probability, law = self.observe(law, piece)
            if probability == 0.0:
                break
            result[position] = -math.log(probability)
        return result

    def frame(self, node: Node, rest: Frame | None) -> Frame:
        """The frame that derives `node` and then `rest`."""
        key = (node, rest)
        if key not in self._frames:
            self._frames[key] = Frame(node, rest)
        return self._frames[key]

    def _expand(
        self,
        frame: Frame | None,
        environment: tuple[Entity | None, ...],
        probability: float,
        out: dict[Hypothesis, float],
    ) -> None:
        """Add to `out` all ways to reach the next piece from `frame`."""
        while frame is not None:
            node, rest = frame.node, frame.rest
            match node:
                case Series(parts):
                    for part in reversed(parts):
                        rest = self.frame(part, rest)
                    frame = rest
                case Text(pieces):
                    if pieces:
                        return _add(out, (pieces, 0, rest, environment), probability)
                    frame = rest
                case Say(variable, attribute, capital, lead):
                    pieces = environment[self._slot[variable]].pieces(attribute, capital, lead)
                    return _add(out, (pieces, 0, rest, environment), probability)
                case Switch(variable, attribute, cases):
                    entity = environment[self._slot[variable]]
                    frame = self.frame(cases[entity.attributes[attribute]], rest)
                case Choice(options):
                    for option, share in zip(options, node.probabilities, strict=True):
                        self._expand(self.frame(option, rest), environment, probability * share, out)
                    return None
                case Bind(variable, pool):
                    slot = self._slot[variable]
                    for entity, share in zip(pool.entities, pool.probabilities, strict=True):
                        bound = (*environment[:slot], entity, *environment[slot + 1 :])
                        self._expand(rest, bound, probability * share, out)
                    return None
        return _add(out, END, probability)


def _add(out: dict[Hypothesis, float], hypothesis: Hypothesis, probability: float) -> None:
    out[hypothesis] = out.get(hypothesis, 0.0) + probability
