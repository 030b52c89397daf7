"""Every visible string of the widgets, by language, and the one template rule that Python and JavaScript
share.

`{name}` is replaced by the value; `{count:token|tokens}` by the number and the word that fits it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from lmcourse.errors import CourseError

Strings = Mapping[str, str]

FRAME = {
    "try": "Try this",
    "try.hint": "Each button sets the controls. First say what you expect, then press.",
    "reset": "Reset",
    "save": "Save picture",
    "copy": "Copy settings",
    "copied": "The settings are on the clipboard, as a line of Python.",
    "copy.failed": "The browser did not allow copying. The line is: {line}",
    "saved": "The picture is saved as {file}.",
    "panel.numbers": "Numbers",
    "panel.average": "Two averages",
    "panel.leaves": "What this toy leaves out",
    "range": "{label}, {low} to {high}",
    "range.problem": "Write a number from {low} to {high}.",
    "off": "{label} (not used here)",
    "shown": "Curves",
}

PACKING = {
    "title": "Packing and mask viewer",
    "question": "What may each token look at, and what counts in the loss?",
    "documents": "Documents, in tokens",
    "seed": "Seed of random lengths",
    "seed.new": "New seed",
    "window": "Window (tokens)",
    "mode": "Layout",
    "mode.pad": "pad",
    "mode.pack": "pack",
    "mode.pack + document mask": "pack + document mask",
    "strategy": "Strategy",
    "strategy.cut anywhere": "cut anywhere",
    "strategy.best fit": "best fit",
    "eos": "End token (eos)",
    "reset.positions": "Positions start again",
    "row": "Row (first is 0)",
    "selected": "Query token",
    "problem.bad": "“{item}” cannot be read; write a letter and a number, as B:9.",
    "problem.twice": "Two documents are called {item}; only the first is used.",
    "problem.long": "“{item}” is too long; a document has at most 200 tokens.",
    "problem.many": "More than 26 documents; the rest is left out.",
    "problem.none": "Write at least one document, as A:5.",
    "words.pad": "one document a row, padded",
    "words.pack": "packed without a document mask",
    "words.pack + document mask": "packed with a document mask",
    "more": "{shown} and {count:more|more}",
    "caption": "Row {row} of {rows}, {mode}. Filled: the query (down) may look at the key (across). "
    "Hatched: another document, blocked. Crossed: another document, allowed. Dots: padding.",
    "alt": "Attention mask, {window} by {window}, row {row} of {rows}, {mode}. "
    "Documents {documents}. {sees} {cross} of the allowed cells cross documents, "
    "{use} of the slots hold tokens, {kept:prediction counts|predictions count} in the loss.",
    "sees": "Token {index} ({letter}, position {position}) sees {count:token|tokens}: {names}.",
    "sees.padding": "Token {index} is padding and sees nothing.",
    "readout.crossing": "{count:belongs|belong} to another document.",
    "readout.kept": "It counts in the loss.",
    "readout.lost": "It does not count in the loss.",
    "readout.padding": "The softmax of nothing is NaN, so real masks let padding see itself.",
    "hover": "Query {query}, key {key}: {code}.",
    "code.0": "blocked, the key comes later",
    "code.1": "allowed",
    "code.2": "blocked, another document",
    "code.3": "allowed across documents: a leak",
    "code.4": "padding",
    "cell.0": "later",
    "cell.1": "yes",
    "cell.2": "other",
    "cell.3": "LEAK",
    "cell.4": "pad",
    "legend.1": "allowed",
    "legend.2": "blocked: other document",
    "legend.3": "leak: other document",
    "legend.4": "padding",
    "legend.eos": "end token",
    "strip.token": "token",
    "strip.position": "position",
    "strip.keep": "in loss",
    "axis.query": "query",
    "axis.key": "key",
    "padding": "pad",
    "number.use": "use of the window",
    "number.padding": "padding",
    "number.crossing": "cells across documents",
    "number.cut": "documents cut",
    "number.kept": "predictions in the loss",
    "number.rows": "rows",
    "value.tokens": "{count:token|tokens}",
    "value.of": "{part} of {whole}",
    "grid": "The mask: query down, key across, the first {size} of each",
    "grid.corner": "query",
    "average.intro": "Two micro-batches, each with the mean loss of its tokens. Which number do you report?",
    "first_tokens": "First batch: tokens",
    "first_loss": "First batch: loss (nats per token)",
    "second_tokens": "Second batch: tokens",
    "second_loss": "Second batch: loss (nats per token)",
    "average.per_token": "Per token: {value}. Every token weighs the same.",
    "average.of_means": "Mean of means: {value}. Every batch weighs the same, so a token of a short batch "
    "weighs more.",
    "try.1": "Pad",
    "try.1.text": "Each document has a row of its own. Read the use of the window, then choose “pack”.",
    "try.2": "Leak",
    "try.2.text": "The first token of B reads all of A. Choose “pack + document mask”: what is left?",
    "try.3": "Cut or fit",
    "try.3.text": "Some documents are cut. Choose “best fit”: what happens to cuts, padding and rows?",
    "leaves": "Heads, layers and the batch; sliding windows; fused kernels that never build the matrix. "
    "The last row is padded here so that you can see it; training drops it or reads on. Padding sees nothing "
    "here; real masks let it see itself and leave it out of the loss. The target of a row's last token is in "
    "no cell: it is the next token of the same document, and counts where there is one.",
}

WASTE = {
    "title": "The waste slider",
    "question": "How much of a batch is padding, and what does packing cost?",
    "row_length": "Row length (tokens)",
    "mean": "Mean length (tokens)",
    "spread": "Spread (s.d. of ln length)",
    "batch": "Documents in a bucket",
    "seed": "Seed",
    "seed.new": "New seed",
    "curve.padded": "padded rows",
    "curve.bucketed": "buckets",
    "curve.crossing": "leaking pairs",
    "curve.cut": "cut documents",
    "axis.x": "tokens (log scale): document length above, row length below",
    "axis.x.short": "tokens (log scale)",
    "axis.y": "share (%)",
    "axis.documents": "documents",
    "number.padded": "padding, one document a row",
    "number.bucketed": "padding, buckets of like length",
    "number.crossing": "pairs across documents, packed, no mask",
    "number.cut": "documents cut, packed",
    "number.mean": "mean length drawn",
    "number.longest": "longest document",
    "value.tokens": "{count:token|tokens}",
    "grid": "Shares in %, by row length",
    "grid.corner": "row length",
    "caption": "Above: lengths of {documents:document|documents}. Below: what each way to fill rows costs, "
    "against the row length. The vertical line is the chosen row length.",
    "readout": "Rows of {row_length:token|tokens}: {padded} padding, {bucketed} in buckets. Packed without a "
    "mask: {crossing} of the pairs leak, {cut} of the documents are cut.",
    "alt": "Four shares against row length, 16 to 4,096 tokens, for documents of mean length {mean}, spread "
    "{spread}. At {row_length:token|tokens} padding takes {padded}, in buckets {bucketed}; packed rows hold "
    "{crossing} pairs across documents and cut {cut} of the documents.",
    "try.1": "Like lengths",
    "try.1.text": "Spread 0: all documents are alike. Where do buckets waste nothing, and padded rows a lot?",
    "try.2": "Long tail",
    "try.2.text": "A few very long documents. Compare the two paddings, then move the row length.",
    "try.3": "Short rows",
    "try.3.text": "Rows shorter than documents: few pairs leak, most documents are cut. Which matters more?",
    "leaves": "Time: attention in a long row costs more than in a short one, and kernels skip some padding. "
    "End-of-document tokens. Best-fit packing, which cuts fewer documents. Real lengths often have heavier "
    "tails than a log-normal. {documents:document is|documents are} drawn, so shares move a little with the "
    "seed; draw a new one to see how much.",
}

DENOMINATOR = {
    "title": "The denominator slider",
    "question": "Two examples, two ways to average: how much does one token weigh?",
    "first_tokens": "Example A (tokens)",
    "first_loss": "Loss of A (nats/token)",
    "second_tokens": "Example B (tokens)",
    "second_loss": "Loss of B (nats/token)",
    "objective.token": "Token mean",
    "objective.example": "Example mean",
    "axis.weight": "weight of one token",
    "axis.tokens": "tokens of A, then of B",
    "value.mean": "{name}: {value} nats",
    "value.share": "{letter} weighs {share}",
    "readout": "Token mean {token}, example mean {example} nats. {ratio}",
    "ratio.equal": "The lengths are equal, so every token weighs the same in both.",
    "ratio.unequal": "In the example mean a token of {short} weighs {times} times a token of {long}.",
    "caption": "Each bar is a token, its height what that token weighs in the mean; all bars of a panel add "
    "up to 1. Above: every token weighs the same. Below: every example weighs the same.",
    "alt": "Weights of the tokens of two examples, A with {count:token|tokens} of loss {first}, B with "
    "{other:token|tokens} of loss {second}. Token mean {token}: A has {share} of the weight. "
    "Example mean {example}: half. {ratio}",
    "number.token": "token mean (nats)",
    "number.example": "example mean (nats)",
    "number.share": "share of A in the token mean",
    "number.times": "weight of a token of A over one of B, example mean",
    "grid": "Weight of one token",
    "grid.corner": "objective",
    "try.1": "Equal lengths",
    "try.1.text": "Five tokens each. Do the two means differ? Move one loss: do they differ now?",
    "try.2": "Short and long",
    "try.2.text": "An answer of 5 tokens beside one of 60. Who decides the update in each of the two means?",
    "try.3": "One token",
    "try.3.text": "A has a single token, and a high loss. How much of each mean comes from that one token?",
    "leaves": "Tokens of one example have different losses, and their gradients point in different "
    "directions; here each example has one number. Real batches hold many examples, in several "
    "micro-batches, perhaps on several machines; the denominator must then be "
    "counted over all of them before the division.",
}

TEXT: Mapping[str, Mapping[str, Strings]] = {
    "en": {"frame": FRAME, "packing": PACKING, "waste": WASTE, "denominator": DENOMINATOR}
}

PLACE = re.compile(r"\{(\w+)(?::([^|{}]*)\|([^{}]*))?\}")


def strings(language: str, kind: str) -> dict[str, str]:
    """The strings of the common frame and of one widget.

    Raises:
        CourseError: the language is not there.
    """
    if language not in TEXT:
        raise CourseError(f"language: {language!r} is not there; the widgets speak {', '.join(TEXT)}")
    return {**TEXT[language]["frame"], **TEXT[language][kind]}


def fill(template: str, **values: Any) -> str:
    """Put values into a template: `fill("{n:token|tokens}", n=1)` is "1 token"."""

    def put(match: re.Match[str]) -> str:
        name, one, many = match.groups()
        value = values[name]
        shown = f"{value:,}" if isinstance(value, int) else str(value)
        return shown if one is None else f"{shown} {one if value == 1 else many}"

    return PLACE.sub(put, template)


def percent(part: int, whole: int) -> str:
    """A share as "12.3 %" with a no-break space, rounded half up in integers as in JavaScript."""
    tenths = (2000 * part + whole) // (2 * whole) if whole else 0
    return f"{tenths // 10}.{tenths % 10}\u00a0%"


def decimal(value: float, digits: int) -> str:
    """A number of at least 0 with a fixed number of digits, halves rounded up; NaN is an en dash."""
    if value != value:
        return "–"
    whole, rest = divmod(int(value * 10**digits + 0.5), 10**digits)
    return f"{whole}.{rest:0{digits}d}"
