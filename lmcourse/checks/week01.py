"""Property rows and pictures of week 1: what a table of expected values cannot show."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure
from torch import Tensor

from lmcourse import packing
from lmcourse.checks.compare import describe
from lmcourse.checks.examined import ACCEPTED, verdict_of
from lmcourse.checks.rows import Names, Row, outcome, picture, property_row
from lmcourse.experiments.leak_record import MARGIN, load_recorded_leak
from lmcourse.figures import packing as pictures
from lmcourse.model import Transformer, TransformerConfig

TEXT = "the cat sat on the mat"
ORDERS = ("in_order", "shuffled")


# W1.1


@property_row("W1.1", case="a window of 8 on a sentence", checks="targets are the text, one place further on")
def _(names: Names) -> Row:
    letters = sorted(set(TEXT))
    tokens = torch.tensor([letters.index(character) for character in TEXT])
    x, y = _batch(names["sample_windows"](tokens, 1, 8, _generator(5)))
    read, asked = (_spell(part[0], letters) for part in (x, y))
    start = TEXT.find(read) if len(read) == 8 else -1
    if start < 0:
        raise AssertionError(f"x reads {read!r}, which is not a piece of 8 characters of {TEXT!r}")
    right = TEXT[start + 1 : start + 9]
    message = "" if asked == right else _about_targets(x[0], y[0], tokens, start)
    return outcome(f"x  {read}\ny  {asked}", f"x  {read}\ny  {right}", asked == right, message)


@property_row("W1.1", case="3 windows of 5", checks="shapes and dtypes")
def _(names: Names) -> Row:
    x, y = _batch(names["sample_windows"](torch.arange(100, 140), 3, 5, _generator(1)))
    yours = f"x {_kind(x)}\ny {_kind(y)}"
    expected = "x int64 [3, 5]\ny int64 [3, 5]"
    return outcome(yours, expected, yours == expected, "The contract asks for (B, T) and int64, twice.")


@property_row(
    "W1.1", case="1,000 windows of 3 in a stream of 7", checks="every start comes up, both ends too"
)
def _(names: Names) -> Row:
    tokens = torch.tensor([50, 20, 70, 10, 60, 30, 40])  # all different, so that a window tells its start
    x, _y = _batch(names["sample_windows"](tokens, 1_000, 3, _generator(2)))
    counts = {start: int((x[:, 0] == token).sum()) for start, token in enumerate(tokens.tolist())}
    found = {start: count for start, count in counts.items() if count or start < 4}
    ok = set(found) == {0, 1, 2, 3} and all(150 < count < 350 for count in found.values())
    yours = "\n".join(f"start {start}: {count} times" for start, count in found.items())
    return outcome(yours, "starts 0 to 3, about 250 times each", ok, "" if ok else _about_starts(found))


@property_row(
    "W1.1", case="the same generator state twice", checks="the generator is the only source of chance"
)
def _(names: Names) -> Row:
    tokens = torch.arange(500).flip(0)
    draws = [_batch(names["sample_windows"](tokens, 6, 4, _generator(seed)))[0] for seed in (3, 3, 17)]
    same, other = torch.equal(draws[0], draws[1]), torch.equal(draws[0], draws[2])
    yours = f"same state: {_same(same)}\nother state: {_same(other)}"
    message = ""
    if not same:
        message = "Chance comes from somewhere else: pass `generator=generator` to every draw."
    elif other:
        message = "The batch does not depend on the generator at all."
    expected = "same state: the same batch\nother state: another batch"
    return outcome(yours, expected, same and not other, message)


def _about_targets(x: Tensor, y: Tensor, tokens: Tensor, start: int) -> str:
    """Which known slip turns the window into these targets."""
    if torch.equal(y, x):
        return "y equals x: the model would only have to copy. The target is the next token."
    if torch.equal(y, x + 1):
        return "y is x + 1: you increased the token ids. Move the position, not the id."
    if start + 10 <= len(tokens) and torch.equal(y, tokens[start + 2 : start + 10]):
        return "y is shifted by two: y[b, i] is the token right after x[b, i]."
    if start and torch.equal(y, tokens[start - 1 : start + 7]):
        return "y is the token before x, not the one after it."
    if torch.equal(y, x.roll(-1)):
        return "The last target is the window's own first token; it must be the token behind the window."
    if any(torch.equal(y, tokens[s : s + 8]) for s in range(len(tokens) - 7)):
        return "y is another piece of the text: draw the starts once, and use them for x and for y."
    return "Each y[b, i] is the token of the stream right after x[b, i]."


def _about_starts(found: dict[int, int]) -> str:
    if max(found.values()) == 1_000:
        return "All rows have the same start: draw one start for each row."
    if found[3] == 0:
        return (
            "The last start, N - T - 1 = 3, never comes up: is the upper end of your draw left out already?"
        )
    if found[0] == 0:
        return "Start 0 never comes up, so the first token of the stream is never read."
    if max(found) > 3:
        return "A start beyond N - T - 1 = 3 comes up: its last target would lie behind the end."
    return "The starts are not equally likely."


# W1.2


@property_row("W1.2", case="overlap_share", checks="windows of 128 that start at 1000 and 1001")
def _(names: Names) -> Row:
    given = names["overlap_share"]
    if isinstance(given, str):
        raise AssertionError(f"overlap_share is the text {given!r}; give the number itself")
    share = float(given)
    common = set(range(1000, 1128)) & set(range(1001, 1129))
    ok = abs(share - len(common) / 128) < 5e-4  # three digits will do
    slips = {
        126 / 128: "one too few: list the first and the last token of each window",
        127 / 129: "that is the share of the tokens in either window; asked is the share of one window's 128",
        1 / 128: "that is the share that the two windows do not have in common",
        1.0: "the windows are not the same",
        127.0: "that is a number of tokens; asked is the share of the window's 128",
        100 * 127 / 128: "that is in percent; asked is a share between 0 and 1",
    }
    message = next((text for value, text in slips.items() if abs(share - value) < 5e-5), "count once more")
    message = "" if ok else f"Not quite: {message}."
    return outcome(f"{share:.6g}", "tokens in both, divided by 128", ok, message)


# W1.3


@property_row("W1.3", case="fewer tokens than one row", checks="no row, with the shapes of no row")
def _(names: Names) -> Row:
    tokens, doc_id = _pair(names["pack"]([[4, 4], [7]], 6, 0), "(tokens, doc_id)")
    yours = f"tokens {_kind(tokens)}\ndoc_id {_kind(doc_id)}"
    expected = "tokens int64 [0, 7]\ndoc_id int64 [0, 7]"
    message = "Five tokens do not fill a row of seven; the remainder is dropped, not padded."
    if tokens.is_floating_point() or doc_id.is_floating_point():
        message = "A tensor made of an empty list holds floats, unless you name its dtype."
    return outcome(yours, expected, yours == expected, message)


@picture("W1.3")
def _(names: Names) -> tuple[Figure, str]:
    docs, T, eos = [[5, 6, 7], [8, 9], [4, 4, 4, 3, 2], [], [1, 3]], 5, 0
    yours = _pair(names["pack"]([list(doc) for doc in docs], T, eos), "(tokens, doc_id)")
    right = packing.pack(docs, T, eos)
    panels = {"yours": yours}
    if not all(torch.equal(a, b) for a, b in zip(yours, right, strict=True)):
        panels["definition"] = right
    return pictures.rows_figure(panels, eos)


# W1.4


@picture("W1.4")
def _(names: Names) -> tuple[Figure, str]:
    ids = torch.tensor([[4, 4, 4, 9, 9, 2, 2, 2], [1, 6, 6, 6, 6, 3, 3, 5]])
    yours = names["document_mask"](ids.clone())
    return pictures.mask_figure(yours[0], packing.document_mask(ids)[0], ids[0])


# W1.5


@property_row("W1.5", case="the row as a table", checks="positions restart; which predictions count")
def _(names: Names) -> Row:
    ids = torch.tensor([[6, 6, 1, 1, 1, 1, 8, 3, 3]])
    ends = torch.tensor([[False, True, False, False, False, True, True, False, False]])
    pos, keep = _pair(names["positions_and_loss_mask"](ids.clone(), ends.clone()), "(pos, keep)")
    right_pos, right_keep = packing.positions_and_loss_mask(ids, ends)
    ok = _equal(pos, right_pos) and _equal(keep, right_keep)
    message = "" if ok else _about_seams(pos, keep, right_pos, right_keep)
    return outcome(_table(ids, ends, pos, keep), _table(ids, ends, right_pos, right_keep), ok, message)


def _table(ids: Tensor, ends: Tensor, pos: Tensor, keep: Tensor) -> str:
    lines = {"document": ids, "eos": ends, "pos": pos, "keep": keep}
    return "\n".join(
        f"{name:8} {' '.join(map(_cell, row.flatten().tolist()))}" for name, row in lines.items()
    )


def _cell(value: Any) -> str:
    return {True: "1", False: "."}[value] if isinstance(value, bool) else str(value)


def _about_seams(pos: Tensor, keep: Tensor, right_pos: Tensor, right_keep: Tensor) -> str:
    for name, part, right in (("pos", pos, right_pos), ("keep", keep, right_keep)):
        if _kind(part) != _kind(right):
            return f"{name} must be {_kind(right)}; yours is {_kind(part)}."
    if not _equal(pos, right_pos):
        return "pos counts from 0 at the start of the row and wherever the id changes."
    more, fewer = (keep & ~right_keep).any(), (~keep & right_keep).any()
    if more and not fewer:
        return "A prediction is kept whose target belongs to another document."
    if fewer and not more:
        return "A prediction is missing that should count; the one of an eos, made just before it, counts."
    return "keep seems to be shifted: it speaks of the prediction made at i, of token i + 1."


# W1.6


@property_row("W1.6", case="40 documents, bins of 32", checks="each once, no bin too full; fill rate")
def _(names: Names) -> Row:
    lengths, T = _lengths(40, 36), 32
    bins = names["ffd_pack"](list(lengths), T)
    placed = sorted(int(index) for group in bins for index in group)
    if placed and not 0 <= placed[0] <= placed[-1] < len(lengths):
        raise AssertionError(f"the bins hold indices from 0 to {len(lengths) - 1}; yours go to {placed[-1]}")
    fits = [index for index, length in enumerate(lengths) if length <= T]
    full = max((sum(lengths[i] for i in group) for group in bins), default=0)
    right = packing.ffd_pack(lengths, T)
    message = ""
    if placed != fits:
        message = "Each document that fits must be placed exactly once, and longer ones left out."
    elif full > T:
        message = f"A bin holds {full} tokens, but its capacity is {T}."
    elif len(bins) > len(right):
        message = "The rule needs fewer bins here: longest first, each into the first bin with room."
    yours, expected = _fill(bins, lengths, T), _fill(right, lengths, T)
    return outcome(yours, expected, not message, message)


@picture("W1.6")
def _(names: Names) -> tuple[Figure, str]:
    lengths, T = _lengths(14, 18), 16
    yours, right = names["ffd_pack"](list(lengths), T), packing.ffd_pack(lengths, T)
    panels = {"yours": yours} if yours == right else {"yours": yours, "first-fit decreasing": right}
    return pictures.bins_figure(panels, lengths, T)


def _lengths(count: int, longest: int) -> list[int]:
    return np.random.default_rng(102).integers(1, longest, size=count, endpoint=True).tolist()


def _fill(bins: list, lengths: list[int], T: int) -> str:
    used = sum(lengths[index] for group in bins for index in group)
    return f"{len(bins)} bins, {used} tokens, {used / (T * max(1, len(bins))):.1%} filled"


# W1.7


@property_row("W1.7", case="the course's model with the document mask", checks="your test accepts it")
def _(names: Names) -> Row:
    verdict = verdict_of(names["test_no_leak"], _model_fn(masked=True))
    message = "This model does not leak; your test asks for something that a right model need not do."
    return outcome(verdict, "accepted", verdict == ACCEPTED, message)


@property_row("W1.7", case="the same model without it", checks="your test rejects it")
def _(names: Names) -> Row:
    verdict = verdict_of(names["test_no_leak"], _model_fn(masked=False))
    message = "This model leaks from each document into all later ones. When you hand in, subtler ones come."
    return outcome(verdict, "rejected", verdict != ACCEPTED, message)


def _model_fn(masked: bool) -> Callable[..., Tensor]:
    config = TransformerConfig(vocab_size=32, context=64, layers=2, heads=2, width=32)
    model = Transformer(config, seed=0)

    def model_fn(tokens: Tensor, doc_id: Tensor, training: bool = True) -> Tensor:
        model.train(training)
        with torch.no_grad():
            return model(tokens, doc_id=doc_id if masked else None)

    return model_fn


# W1.8


def _compare_with_recorded(names: Names, order: str) -> Row:
    record = load_recorded_leak()
    recorded = record.gaps
    keys = [f"{order}_masked", f"{order}_unmasked"]
    leak = names["leak"]
    if not isinstance(leak, Mapping):
        raise AssertionError(f"leak is {describe(leak)}; expected a dictionary with four names")
    missing = [key for key in keys if key not in leak]
    if missing:
        raise AssertionError(f"leak has no entry {missing[0]!r}")
    yours = {key: float(leak[key]) for key in keys}
    bands = {key: record.bands[key] for key in keys}
    ok = all(low - MARGIN <= yours[key] <= high + MARGIN for key, (low, high) in bands.items())
    ok = ok and (yours[keys[0]] < yours[keys[1]]) == (recorded[keys[0]] < recorded[keys[1]])
    message = "" if ok else "Far from the recorded runs: loss minus floor, in nats per token, for run=12?"
    return outcome(
        *("\n".join(f"{key} {gaps[key]:+.3f}" for key in keys) for gaps in (yours, recorded)), ok, message
    )


@property_row("W1.8", case="validation in order", checks="near the recorded runs")
def _(names: Names) -> Row:
    return _compare_with_recorded(names, "in_order")


@property_row("W1.8", case="validation shuffled", checks="near the recorded runs")
def _(names: Names) -> Row:
    return _compare_with_recorded(names, "shuffled")


@property_row("W1.8", case="revealing_order", checks="one of the two words (which one, you decide)")
def _(names: Names) -> Row:
    word = names["revealing_order"]
    return outcome(repr(word), " or ".join(map(repr, ORDERS)), word in ORDERS, "Spelled exactly like this.")


# Small helpers.


def _generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def _pair(value: Any, names: str) -> tuple[Tensor, Tensor]:
    if not isinstance(value, tuple | list) or len(value) != 2:
        raise AssertionError(f"the function must return two tensors, {names}; it returned {_kind(value)}")
    wrong = [part for part in value if not isinstance(part, Tensor)]
    if wrong:
        raise AssertionError(f"both parts of {names} must be tensors; one is {_kind(wrong[0])}")
    return value[0], value[1]


def _batch(value: Any) -> tuple[Tensor, Tensor]:
    x, y = _pair(value, "(x, y)")
    if x.shape != y.shape or x.ndim != 2:
        raise AssertionError(f"x and y must both be (B, T); x is {_kind(x)}, y is {_kind(y)}")
    return x, y


def _kind(value: Any) -> str:
    if isinstance(value, Tensor):
        return f"{str(value.dtype).removeprefix('torch.')} {list(value.shape)}"
    return type(value).__name__


def _equal(a: Tensor, b: Tensor) -> bool:
    return a.shape == b.shape and a.dtype == b.dtype and torch.equal(a, b)


def _same(same: bool) -> str:
    return "the same batch" if same else "another batch"


def _spell(ids: Tensor, letters: list[str]) -> str:
    return "".join(letters[i] if 0 <= i < len(letters) else "?" for i in ids.tolist())
