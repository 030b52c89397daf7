"""W2.8, who notices a forgotten division: final losses and clipped shares of six runs, and who shows the bug.

The numbers may come from the recorded runs or from a run of the student's own with another seed or length:
the recorded bands are widened by `MARGIN`, and what must hold between the runs is compared as such.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import torch

from autograde import expect
from autograde.exercise import Answer, Draw, HiddenExercise
from lmcourse.experiments.accumulation import load_recorded_accumulation

EXERCISE = HiddenExercise("W2.8")

MARGIN = 0.1  # nats per token: another seed, another machine, half the steps
EQUAL = 0.02  # the same data and weights, so AdamW's two runs differ by rounding and epsilon only
LOSSES = ("sgd_right", "sgd_forgot", "adamw_right", "adamw_forgot", "adamw_clip_right", "adamw_clip_forgot")
SHARES = ("clipped_right", "clipped_forgot")
CASE = "the experiment of this week"

_RECORDED = load_recorded_accumulation()


def _as_answer(runs: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    finals = {name: runs[name]["final"] for name in LOSSES}
    shares = {f"clipped_{name}": runs[f"adamw_clip_{name}"]["clipped"] for name in ("right", "forgot")}
    return {**finals, **shares}


_FIRST, _SECOND = (_as_answer(runs) for runs in _RECORDED[:2])


def _but(**other: object) -> dict[str, object]:
    return {**_FIRST, **other}


EXERCISE.set_reference(forgot=dict(_FIRST), shows_it="sgd")

EXERCISE.variant("another seed, rounded", "two decimals of another recorded seed")(
    {key: round(value, 2) for key, value in _SECOND.items()}
)
EXERCISE.variant("blown up", "the run that forgot may also end in nan or infinity; numpy and torch numbers")(
    _but(
        sgd_forgot=float("nan"),
        sgd_right=np.float32(_FIRST["sgd_right"]),
        adamw_right=torch.tensor(_FIRST["adamw_right"]),
    )
)
EXERCISE.variant(
    "shares in full",
    "shares as whole numbers 0 and 1",
)(_but(clipped_right=0, clipped_forgot=1))

EXERCISE.mutant(
    "AdamW shows it",
    "Your shows_it is not right: look for the pair of losses that differ.",
    shows_it="adamw",
)(dict(_FIRST))
EXERCISE.mutant(
    "all of them show it",
    "Your shows_it should be one of the three words of the contract.",
    shows_it="all",
)(dict(_FIRST))
EXERCISE.mutant(
    "AdamW suffers as SGD does",
    "Your AdamW runs differ as much as the SGD runs: AdamW divides by the gradient's own size, so a factor "
    "of K cancels.",
)(_but(adamw_forgot=_FIRST["sgd_forgot"], adamw_clip_forgot=_FIRST["sgd_forgot"]))
EXERCISE.mutant(
    "right and forgot swapped",
    "Your numbers of the right and of the forgetful run are swapped.",
)(
    {
        **{f"{s}_{a}": _FIRST[f"{s}_{b}"] for s in ("sgd", "adamw", "adamw_clip")
           for a, b in (("right", "forgot"), ("forgot", "right"))},
        "clipped_right": _FIRST["clipped_forgot"], "clipped_forgot": _FIRST["clipped_right"],
    }
)  # fmt: skip
EXERCISE.mutant(
    "SGD suffers nothing",
    "Your two SGD runs are alike; for SGD a gradient that is K times too large is a learning rate that is K "
    "times too large.",
)(_but(sgd_forgot=_FIRST["sgd_right"]))
EXERCISE.mutant("losses in bits", "Your losses are in bits; give nats per token.")(
    _but(**{key: _FIRST[key] / math.log(2) for key in LOSSES})
)
EXERCISE.mutant("perplexities", "Your losses are perplexities; give nats per token.")(
    _but(**{key: math.exp(_FIRST[key]) for key in LOSSES})
)
EXERCISE.mutant("shares in percent", "Your shares are in percent; give them between 0 and 1.")(
    _but(clipped_right=100 * _FIRST["clipped_right"], clipped_forgot=100 * _FIRST["clipped_forgot"])
)
EXERCISE.mutant(
    "clipping alike", "Your two clipped shares are alike; with gradients K times larger they cannot be."
)(_but(clipped_forgot=_FIRST["clipped_right"]))
EXERCISE.mutant("one pair missing", "Your dictionary lacks a key of the contract.")(
    {key: value for key, value in _FIRST.items() if not key.startswith("adamw_clip")}
)
EXERCISE.mutant("texts", "Your numbers are texts.")({key: f"{value:.3f}" for key, value in _FIRST.items()})
EXERCISE.mutant("nothing yet", "Your numbers are still empty (None).")(dict.fromkeys(_FIRST))
EXERCISE.mutant("first losses", "Your losses are those of the first steps; the final ones are asked for.")(
    _but(**{key: math.log(16) for key in LOSSES})
)


# Properties.


@EXERCISE.property("SGD", 2)
def _(answer: Answer, draw: Draw) -> None:
    runs = _runs(answer)
    _near(runs, "sgd_right")
    worse = runs["sgd_forgot"]
    if math.isfinite(worse) and worse < runs["sgd_right"] + MARGIN:
        raise expect.wrong("sgd_forgot should be clearly above sgd_right (or no longer a number)", CASE)


@EXERCISE.property("AdamW, with and without clipping", 3)
def _(answer: Answer, draw: Draw) -> None:
    runs = _runs(answer)
    for setup in ("adamw", "adamw_clip"):
        _near(runs, f"{setup}_right")
        if not abs(runs[f"{setup}_right"] - runs[f"{setup}_forgot"]) < EQUAL:
            hint = "AdamW divides each gradient by its own running size."
            raise expect.wrong(f"{setup}_right and {setup}_forgot should be almost equal", CASE, hint)


@EXERCISE.property("the share of clipped steps", 1)
def _(answer: Answer, draw: Draw) -> None:
    runs = _runs(answer)
    for name in SHARES:
        if not 0 <= runs[name] <= 1:
            raise expect.wrong(f"{name} should be a share between 0 and 1, but is {runs[name]:g}", CASE)
    if runs["clipped_forgot"] < runs["clipped_right"] + 0.3:
        raise expect.wrong("clipped_forgot should be far above clipped_right", CASE)


@EXERCISE.property("who shows the bug", 2)
def _(answer: Answer, draw: Draw) -> None:
    word = answer.value("shows_it")
    if not isinstance(word, str) or word not in ("sgd", "adamw", "adamw_clip"):
        raise expect.wrong(
            f'shows_it should be "sgd", "adamw" or "adamw_clip", but is {expect.kind_of(word)}', CASE
        )
    if word != "sgd":
        raise expect.wrong(f'shows_it is "{word}", which is not right', CASE, "Whose two losses differ?")
    runs = _runs(answer)  # the word must be borne out by the numbers
    if not runs["sgd_forgot"] > runs["sgd_right"] and math.isfinite(runs["sgd_forgot"]):
        raise expect.wrong("your numbers do not show what shows_it says", CASE)


def _runs(answer: Answer) -> dict[str, float]:
    given = answer.value("forgot")
    if not isinstance(given, Mapping):
        raise expect.wrong(f"forgot should be a dictionary, but is {expect.kind_of(given)}", CASE)
    runs = {}
    for key in (*LOSSES, *SHARES):
        if key not in given:
            raise expect.wrong(
                f"forgot has no entry {key!r}", CASE, f"Its keys are {', '.join((*LOSSES, *SHARES))}."
            )
        if key == "sgd_forgot" and _blown_up(given[key]):
            runs[key] = math.inf
            continue
        runs[key] = expect.number(given[key], what=f"forgot[{key!r}]", case=CASE)
    return runs


def _blown_up(value: object) -> bool:
    if isinstance(value, torch.Tensor | np.ndarray | np.generic) and np.ndim(value) == 0:
        value = value.item()
    return isinstance(value, float) and not math.isfinite(value)


def _near(runs: Mapping[str, float], name: str) -> None:
    recorded = [result[name]["final"] for result in _RECORDED]
    if not min(recorded) - MARGIN <= runs[name] <= max(recorded) + MARGIN:
        hint = "The mean of the last steps, in nats per token?"
        raise expect.wrong(f"{name} is {runs[name]:.3g}, far from what the experiment gives", CASE, hint)
