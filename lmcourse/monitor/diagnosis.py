"""Whether a run looks normal: each check looks at one thing, and says what to do where it is not.

A loss can look fine while the training is wrong, and strange while it is right; so each check names what it
saw, and none is a proof.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

FIRST_LOSS = 0.15  # nats around ln V: an initialization adds up to 0.05, one small batch varies by as much
BELOW_FLOOR = 0.02  # nats; what a small validation set may do by chance
CLIPPED = 0.9  # share of steps
PASSED_OVER = 0.01  # share of batches
GROWN = 10.0  # the norm at the end by the usual one
RISEN = 0.5  # nats of the smoothed loss above its best
LOGIT = 50.0  # attention is one-hot long before
DEAD = 0.5  # share of units
UPDATE = 0.1  # of the weights in a single step, after the warm-up


@dataclass(frozen=True)
class Finding:
    """`fine` findings say what was seen, the others also what to do next."""

    fine: bool
    name: str
    words: str
    next: str = ""


@dataclass(frozen=True)
class Curves:
    """
    Attributes:
        steps, losses, smoothed, norms: (S,) of the steps that the weights carry.
        validation: (E,) losses of the evaluations, oldest first; on the same targets as the floor.
        lines: "ln V", "unigram entropy" and maybe "floor", in nats per token.
        warmup: steps.
        clip: largest norm that is let through.
        tables: of the monitor.
        events: batches passed over.
    """

    steps: np.ndarray
    losses: np.ndarray
    smoothed: np.ndarray
    norms: np.ndarray
    validation: np.ndarray
    lines: Mapping[str, float]
    warmup: int
    clip: float
    tables: Sequence[Mapping[str, Any]]
    events: Sequence[Mapping[str, Any]]


def examine(curves: Curves) -> list[Finding]:
    """All checks that the run is long enough for."""
    found = [check(curves) for check in _CHECKS]
    return [finding for finding in found if finding is not None]


def first_loss(c: Curves) -> Finding | None:
    if c.steps[0] != 1:
        return None
    first, expected = float(c.losses[0]), c.lines["ln V"]
    words = f"the first loss is {first:.3f}, and ln V is {expected:.3f}"
    if abs(first - expected) <= FIRST_LOSS:
        return Finding(True, "first loss", words)
    if first > expected:
        what = "the initial weights are too large, or the sum is divided by too few tokens"
    else:
        what = (
            "the weights are not fresh, the input holds its own target, or V is another; a missing causal "
            "mask does not show here, but later, below the floor"
        )
    return Finding(False, "first loss", words, what)


def floor(c: Curves) -> Finding | None:
    if "floor" not in c.lines:
        return None
    bottom = c.lines["floor"]
    losses, what = (c.validation, "validation") if len(c.validation) else (c.smoothed, "smoothed training")
    lowest = float(np.nanmin(losses))
    words = f"the lowest {what} loss is {lowest:.3f}; with the past alone nothing gets below {bottom:.3f}"
    if lowest >= bottom - (BELOW_FLOOR if len(c.validation) else max(0.1 * bottom, 5 * BELOW_FLOOR)):
        return Finding(True, "floor", words)
    return Finding(
        False, "floor", words, "test that logits do not change with later tokens, nor with other documents"
    )


def not_finite(c: Curves) -> Finding:
    bad = [e for e in c.events if not (math.isfinite(e["loss"]) and math.isfinite(e["gradient_norm"]))]
    if not bad:
        return Finding(True, "finite values", "every loss and every gradient was finite")
    first = bad[0]
    return Finding(
        False,
        "finite values",
        f"{len(bad)} steps were not finite, the first with batch {first['batch']} at step {first['step']}",
        "lmcourse trace RUN names the module, the rows and the number format",
    )


def passed_over(c: Curves) -> Finding | None:
    skipped = [event for event in c.events if event["outcome"] in ("skip", "roll_back")]
    backs = sum(event["outcome"] == "roll_back" for event in skipped)
    if not skipped:
        return None
    words = f"{len(skipped)} batches were passed over, with {backs} roll-backs"
    if not backs and len(skipped) <= max(1, PASSED_OVER * len(c.steps)):
        return Finding(True, "spikes", words)
    return Finding(
        False,
        "spikes",
        words,
        "decode these batches (events.jsonl has their numbers); if they are fine, lower the learning rate or "
        "lengthen the warm-up",
    )


def clipping(c: Curves) -> Finding | None:
    if not c.tables:
        return None
    share = c.tables[-1]["clip_share"]
    words = f"{share:.0%} of the steps were clipped at norm {c.clip:g}"
    if share <= CLIPPED or len(c.steps) < 100:
        return Finding(True, "clipping", words)
    return Finding(
        False,
        "clipping",
        words,
        "compare the gradient of one step with that of one big batch: a forgotten division by the "
        "micro-batches looks like this; if they agree, Adam hardly minds",
    )


def norm_growth(c: Curves) -> Finding | None:
    later = c.norms[c.warmup :]
    if len(later) < 100:
        return None
    usual, last = float(np.nanmedian(later)), float(np.nanmedian(later[-len(later) // 10 :]))
    words = f"the gradient norm was usually {usual:.3g}, lately {last:.3g}"
    if usual > 0 and last <= GROWN * usual:
        return Finding(True, "gradient norm", words)
    if usual == 0:
        return Finding(False, "gradient norm", words, "the loss is cut off from the parameters (a detach?)")
    return Finding(False, "gradient norm", words, "a loss often jumps next; lower the learning rate")


def learns(c: Curves) -> Finding | None:
    unigram = c.lines["unigram entropy"]
    if len(c.steps) < 100 + c.warmup:
        return None
    words = (
        f"the loss went to {c.smoothed[-1]:.3f}; knowing only how frequent each token is gives {unigram:.3f}"
    )
    if c.smoothed[-1] < 0.99 * unigram:
        return Finding(True, "learning", words)
    return Finding(
        False,
        "learning",
        words,
        "try to overfit one batch; if that fails, a gradient does not arrive, a parameter is missing in the "
        "optimizer, or inputs and targets do not belong together",
    )


def divergence(c: Curves) -> Finding | None:
    if len(c.steps) < 20:
        return None
    best = int(np.nanargmin(c.smoothed))
    low, last = float(c.smoothed[best]), float(c.smoothed[-1])
    if last <= low + RISEN:
        return Finding(True, "no divergence", f"the smoothed loss ends at {last:.3f}, its best was {low:.3f}")
    return Finding(
        False,
        "no divergence",
        f"the smoothed loss rose from {low:.3f} at step {c.steps[best]:.0f} to {last:.3f}",
        "look at gradient norm and attention logits just before; lower the learning rate, or pass over the "
        "batches before it with --skip-batches",
    )


def overfitting(c: Curves) -> Finding | None:
    if len(c.validation) < 3:
        return None
    best = float(np.nanmin(c.validation))
    words = f"the validation loss ends at {c.validation[-1]:.3f}, its best was {best:.3f}"
    if c.validation[-1] <= best + 0.02 + 0.02 * best:
        return Finding(True, "validation", words)
    return Finding(False, "validation", words, "stop earlier, or take more data, dropout or a smaller model")


def layers(c: Curves) -> Finding | None:
    if not c.tables:
        return None
    last = c.tables[-1]
    cut = [name for name, row in last["layers"].items() if row["gradient_norm"] == 0]
    still = [n for n, row in last["layers"].items() if row["gradient_norm"] > 0 and not row["update_ratio"]]
    if cut or still:
        what = f"no gradient reaches {', '.join(cut)}" if cut else f"{', '.join(still)} did not move"
        advice = (
            "look for a detach"
            if cut
            else "look for it in lmcourse params: it is in no group, or its rate is 0"
        )
        return Finding(False, "layers", f"{what} in step {last['step']}", advice)
    ratios = [row["update_ratio"] for row in last["layers"].values() if row["update_ratio"]]
    words = f"a step moves the layers by {min(ratios):.1e} to {max(ratios):.1e} of their norm"
    if max(ratios) <= UPDATE or last["step"] <= c.warmup:
        return Finding(True, "layers", words)
    return Finding(False, "layers", words, "far above the usual 1e-3 to 1e-2: lower the learning rate")


def attention_logits(c: Curves) -> Finding | None:
    values = [t["attention_logit_max"] for t in c.tables if t["attention_logit_max"] is not None]
    if not values:
        return None
    words = f"the largest attention logit is {values[-1]:.1f}, at first {values[0]:.1f}"
    if values[-1] <= LOGIT:
        return Finding(True, "attention logits", words)
    return Finding(
        False, "attention logits", words, "normalize queries and keys (--qk-norm) or lower the rate"
    )


def dead_units(c: Curves) -> Finding | None:
    if not c.tables or not c.tables[-1]["dead_units"]:
        return None
    block, share = max(c.tables[-1]["dead_units"].items(), key=lambda item: item[1])
    words = f"at most {share:.0%} of the units of an MLP are dead ({block})"
    if share <= DEAD:
        return Finding(True, "dead units", words)
    return Finding(False, "dead units", words, "the rate was too high early on: lengthen the warm-up")


_CHECKS: tuple[Callable[[Curves], Finding | None], ...] = (
    *(first_loss, floor, not_finite, passed_over, clipping, norm_growth, learns, divergence, overfitting),
    *(layers, attention_logits, dead_units),
)
