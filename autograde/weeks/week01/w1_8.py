"""W1.8, what a leak costs: four gaps to the exact floor, and the order of validation that reveals the leak.

Revealed means: visible to someone who does not know the floor and only compares the two models. Where
neighbors share a regime (run=12), in order the model without mask has the lower loss and looks better; it
ends below the floor, which no reader of one document can. Shuffled, the same weights have the higher loss.
So `revealing_order` is "shuffled".

The numbers may come from the recorded runs or from a run of the student's own, with another seed, another
machine or fewer steps: the bands of the recorded seeds are widened by `MARGIN`, and the signs must hold.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import torch

from autograde import expect
from autograde.exercise import Answer, Draw, HiddenExercise
from lmcourse.experiments.leak_record import MARGIN, load_recorded_leak

EXERCISE = HiddenExercise("W1.8")

# The masked model reads no other document; the order changes only which targets the cut of rows leaves out.
SAME = 0.02
# No training of a few hundred steps ends nearer to the floor than this.
LEAST = 0.01

KEYS = ("in_order_masked", "in_order_unmasked", "shuffled_masked", "shuffled_unmasked")
CASE = "run=12"

_RECORDED = load_recorded_leak(run=12)
_GAPS = {key: _RECORDED.gaps[key] for key in KEYS}

EXERCISE.set_reference(leak=dict(_GAPS), revealing_order="shuffled")

EXERCISE.variant("rounded", "two decimals, as read off the figure")(
    {key: round(gap, 2) for key, gap in _GAPS.items()}
)
EXERCISE.variant("other number types", "numpy scalars and tensors; a further key is no harm")(
    {
        "in_order_masked": np.float32(_GAPS["in_order_masked"]),
        "in_order_unmasked": torch.tensor(_GAPS["in_order_unmasked"]),
        "shuffled_masked": np.float64(_GAPS["shuffled_masked"]),
        "shuffled_unmasked": _GAPS["shuffled_unmasked"],
        "run": 12,
    }
)
EXERCISE.variant("a run of one's own", "other seeds and machines change the second decimal")(
    {key: gap + (0.04 if key.endswith("_unmasked") else -0.01) for key, gap in _GAPS.items()}
)


# Mutants.

EXERCISE.mutant(
    "losses instead of gaps",
    "Your numbers are losses: subtract the exact floor from each.",
)({key: gap + _RECORDED.floor for key, gap in _GAPS.items()})

EXERCISE.mutant(
    "floor minus loss",
    "Your signs are the wrong way round: a gap is loss minus floor, so above the floor is positive.",
)({key: -gap for key, gap in _GAPS.items()})

EXERCISE.mutant(
    "no signs",
    "Your gaps have lost their signs; below the floor is negative, and that is the point of this exercise.",
)({key: abs(gap) for key, gap in _GAPS.items()})

EXERCISE.mutant(
    "in bits",
    "Your gaps are in bits: they are asked for in nats per token.",
)({key: gap / math.log(2) for key, gap in _GAPS.items()})

EXERCISE.mutant(
    "in percent of the floor",
    "Your gaps are in percent of the floor: they are asked for in nats per token.",
)({key: 100 * gap / _RECORDED.floor for key, gap in _GAPS.items()})

EXERCISE.mutant(
    "models swapped",
    "Your numbers of the masked and the unmasked model are swapped: only a model without mask can be below "
    "the floor.",
)(
    {
        "in_order_masked": _GAPS["in_order_unmasked"],
        "in_order_unmasked": _GAPS["in_order_masked"],
        "shuffled_masked": _GAPS["shuffled_unmasked"],
        "shuffled_unmasked": _GAPS["shuffled_masked"],
    }
)

EXERCISE.mutant(
    "orders swapped",
    "Your numbers of the two orders are swapped: the loss falls below the floor where neighbors share a "
    "regime, which is in order.",
)(
    {
        "in_order_masked": _GAPS["shuffled_masked"],
        "in_order_unmasked": _GAPS["shuffled_unmasked"],
        "shuffled_masked": _GAPS["in_order_masked"],
        "shuffled_unmasked": _GAPS["in_order_unmasked"],
    }
)

EXERCISE.mutant(
    "independent neighbors",
    "Your numbers are those of run=1, where neighbors have nothing in common; the exercise asks for run=12.",
)(dict(load_recorded_leak(run=1).gaps))

EXERCISE.mutant(
    "masked as the zero",
    "Your gaps are measured from the masked model; the zero is the exact floor.",
)({key: gap - _GAPS[key.replace("unmasked", "masked")] for key, gap in _GAPS.items()})

EXERCISE.mutant(
    "in order only",
    "Your dictionary has the two numbers of one order; the other order is missing.",
)({key: gap for key, gap in _GAPS.items() if key.startswith("in_order")})

EXERCISE.mutant(
    "list of numbers",
    "Your leak is a list; it should be a dictionary with four names, so that nobody has to guess which is "
    "which.",
)(list(_GAPS.values()))

EXERCISE.mutant(
    "texts",
    "Your gaps are texts; they should be numbers.",
)({key: f"{gap:+.3f}" for key, gap in _GAPS.items()})

EXERCISE.mutant(
    "no numbers yet",
    "Your gaps are still empty (None).",
)(dict.fromkeys(KEYS))

EXERCISE.mutant(
    "in order reveals",
    "Your revealing order is the one that flatters: in order, the model without mask has the lower loss "
    "and looks like the better model. Without the floor nobody would suspect it.",
    revealing_order="in_order",
)(dict(_GAPS))

EXERCISE.mutant(
    "both reveal",
    "Your revealing order should be one of the two words; only one order makes the leaking model look worse.",
    revealing_order="both",
)(dict(_GAPS))

EXERCISE.mutant(
    "yes or no",
    "Your revealing order is True or False; it should be one of the two words.",
    revealing_order=True,
)(dict(_GAPS))


# Properties.


@EXERCISE.property("four finite numbers", 1)
def _(answer: Answer, draw: Draw) -> None:
    _gaps(answer, KEYS)


@EXERCISE.property("in order", 2)
def _(answer: Answer, draw: Draw) -> None:
    gaps = _gaps(answer, KEYS[:2])
    if gaps["in_order_unmasked"] >= 0:
        hint = "Neighbors share a regime there, and this model reads them."
        raise expect.wrong("in_order_unmasked should be below the floor, that is negative", CASE, hint)
    _masked(gaps["in_order_masked"], "in_order_masked")
    _near(gaps)


@EXERCISE.property("shuffled", 2)
def _(answer: Answer, draw: Draw) -> None:
    gaps = _gaps(answer, KEYS)
    _masked(gaps["shuffled_masked"], "shuffled_masked")
    if gaps["shuffled_unmasked"] <= gaps["shuffled_masked"]:
        hint = "This model trusts its neighbors, and shuffled they mislead it."
        raise expect.wrong("shuffled_unmasked should be above shuffled_masked", CASE, hint)
    if abs(gaps["shuffled_masked"] - gaps["in_order_masked"]) > SAME:
        hint = "With the mask no document sees another, so their order cannot matter."
        raise expect.wrong("the masked model should have the same gap in both orders", CASE, hint)
    _near({key: gaps[key] for key in KEYS[2:]})


@EXERCISE.property("the order that reveals the leak", 1)
def _(answer: Answer, draw: Draw) -> None:
    word = answer.value("revealing_order")
    if not isinstance(word, str) or word not in ("in_order", "shuffled"):
        came = expect.kind_of(word)
        raise expect.wrong(f'revealing_order should be "in_order" or "shuffled", but is {came}', CASE)
    if word != "shuffled":
        hint = (
            "Cover the line of the floor: under which order do you prefer the wrong model, under which not?"
        )
        raise expect.wrong(f'revealing_order is "{word}", which is not right', CASE, hint)


# Oracle: the recorded runs, and what must hold for any run.


def _gaps(answer: Answer, keys: tuple[str, ...]) -> dict[str, float]:
    """The gaps with these keys as finite floats."""
    leak = answer.value("leak")
    if not isinstance(leak, Mapping):
        raise expect.wrong(f"leak should be a dictionary, but is {expect.kind_of(leak)}", CASE)
    missing = [key for key in keys if key not in leak]
    if missing:
        raise expect.wrong(f"leak has no entry {missing[0]!r}", CASE, f"Its keys are {', '.join(KEYS)}.")
    return {key: expect.number(leak[key], what=f"leak[{key!r}]", case=CASE) for key in keys}


def _masked(gap: float, key: str) -> None:
    if gap < LEAST:
        hint = "A model that reads one document at a time stays above it."
        raise expect.wrong(f"{key} should be clearly above the floor, that is positive", CASE, hint)


def _near(gaps: dict[str, float]) -> None:
    for key, gap in gaps.items():
        low, high = _RECORDED.bands[key]
        if not low - MARGIN <= gap <= high + MARGIN:
            hint = "Loss minus exact floor, in nats per token, of the experiment at its own length?"
            raise expect.wrong(f"{key} is {gap:.3g}, far from what the experiment gives", CASE, hint)
