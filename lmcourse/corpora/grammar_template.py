"""A short notation for grammars: rules as text with holes.

    {rule}                     another rule
    {hero=children}            bind the variable hero from the pool children, and write nothing
    {hero.name} {hero.He}      an attribute of what hero is bound to; He is the attribute he with a capital
    {hero=children.name}       bind and write at once
    {hero.kind?girl:..|boy:..} the text of the case that the attribute names
    [one|two|three]            one of several texts, equally likely
    [3*often|once]             with weights; an option may be empty
    //                         a new paragraph

White space is dropped around `//`, at the ends of a rule, before `|`, `]` and `}`, and around the name of a
case; any other run of it, line breaks included, is one space, but a run with a line break after `[` or `|` is
none. A space before a hole or a bracket belongs to the first word written after it (a word-level piece takes
its space with it), so an option that may be empty carries its own: `was[ very|] happy`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from lmcourse.corpora.grammar import Bind, Choice, Node, Pool, Say, Series, Switch, Text
from lmcourse.tokenizers.words import split_words

_NAME = r"[A-Za-z_]\w*"
_HOLE = re.compile(rf"\{{({_NAME})(?:=({_NAME}))?(?:\.({_NAME}))?(\?)?")
_WEIGHT = re.compile(r"(\d+)\*")
_CASE = re.compile(rf" ?({_NAME}): ?")
_LITERAL = re.compile(r"[^][{}|]+")


def compile_rules(rules: Mapping[str, str], pools: Mapping[str, Pool], root: str) -> Node:
    """The grammar that begins with the rule `root`.

    Raises:
        ValueError: a rule that is not well formed, unknown, part of itself, or used by nobody; the message
            names the rule.
    """
    compiler = _Compiler(rules, pools)
    node = compiler.rule(root, lead=False)
    unused = sorted(set(rules) - {name for name, _ in compiler.done})
    if unused:
        raise ValueError(f"rule {unused[0]!r} is used by no other rule")
    return node


class _Compiler:
    def __init__(self, rules: Mapping[str, str], pools: Mapping[str, Pool]) -> None:
        self.rules = rules
        self.pools = pools
        self.done: dict[tuple[str, bool], Node] = {}
        self.open: list[str] = []

    def rule(self, name: str, lead: bool) -> Node:
        """The node of a rule, with a space before its first piece if `lead`."""
        if (name, lead) not in self.done:
            if name not in self.rules:
                where = f"rule {self.open[-1]!r}: " if self.open else ""
                raise ValueError(f"{where}there is no rule {name!r}")
            if name in self.open:
                raise ValueError(f"rule {name!r} is part of itself: {' > '.join([*self.open, name])}")
            self.open.append(name)
            text = re.sub(r"(?<=[\[|])\s*\n\s*", "", self.rules[name])
            text = re.sub(" ?// ?", "\n\n", " ".join(text.split()))
            text = re.sub(r" (?=[]|}])", "", text)
            self.done[name, lead] = _Parser(self, name, text).whole(lead)
            self.open.pop()
        return self.done[name, lead]


class _Parser:
    """Recursive descent over one rule. `lead` says that a space is due before the next piece."""

    def __init__(self, compiler: _Compiler, name: str, text: str) -> None:
        self.compiler = compiler
        self.name = name
        self.text = text
        self.at = 0

    def whole(self, lead: bool) -> Node:
        node = self.series(lead)
        if self.at < len(self.text):
            raise self.wrong(f"{self.text[self.at]!r} closes or separates nothing")
        return node

    def series(self, lead: bool) -> Node:
        parts: list[Node] = []
        while self.at < len(self.text) and self.text[self.at] not in "|]}":
            if literal := _LITERAL.match(self.text, self.at):
                self.at = literal.end()
                written = " " * lead + literal[0]
                lead = written.endswith(" ") and self.text[self.at : self.at + 1] in ("{", "[")
                pieces = split_words(written[:-1] if lead else written)
                if pieces:
                    parts.append(Text(tuple(pieces)))
                continue
            part = self.choice(lead) if self.text[self.at] == "[" else self.hole(lead)
            parts.append(part)
            lead = lead and isinstance(part, Bind)
        if lead:
            raise self.wrong("a space comes before something that may be empty; put it inside the options")
        return parts[0] if len(parts) == 1 else Series(tuple(parts))

    def choice(self, lead: bool) -> Node:
        self.at += 1
        options: list[Node] = []
        weights: list[float] = []
        while True:
            weight = _WEIGHT.match(self.text, self.at)
            self.at = weight.end() if weight else self.at
            weights.append(float(weight[1]) if weight else 1.0)
            options.append(self.series(lead))
            if self.take("]"):
                return Choice(tuple(options), tuple(weights))
            if not self.take("|"):
                raise self.wrong("a bracket is not closed")

    def hole(self, lead: bool) -> Node:
        hole = _HOLE.match(self.text, self.at)
        if not hole:
            raise self.wrong(f"cannot read {self.text[self.at : self.at + 20]!r}")
        self.at = hole.end()
        name, pool, attribute, is_switch = hole.groups()
        if is_switch and attribute and not pool:
            return self.switch(name, attribute, lead)
        if is_switch or not self.take("}"):
            raise self.wrong(f"cannot read {hole[0]!r}")
        if pool and pool not in self.compiler.pools:
            raise self.wrong(f"there is no pool {pool!r}")
        say = attribute and Say(name, attribute[0].lower() + attribute[1:], attribute[0].isupper(), lead)
        if pool:
            bind = Bind(name, self.compiler.pools[pool])
            return Series((bind, say)) if say else bind
        return say or self.compiler.rule(name, lead)

    def switch(self, variable: str, attribute: str, lead: bool) -> Node:
        cases: dict[str, Node] = {}
        while True:
            case = _CASE.match(self.text, self.at)
            if not case or case[1] in cases:
                raise self.wrong(f"a case of {variable}.{attribute} has no name of its own")
            self.at = case.end()
            cases[case[1]] = self.series(lead)
            if self.take("}"):
                return Switch(variable, attribute, cases)
            if not self.take("|"):
                raise self.wrong(f"the switch on {variable}.{attribute} is not closed")

    def take(self, character: str) -> bool:
        found = self.text.startswith(character, self.at)
        self.at += found
        return found

    def wrong(self, what: str) -> ValueError:
        return ValueError(f"rule {self.name!r}, character {self.at}: {what}")
