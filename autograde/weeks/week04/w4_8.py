"""W4.8, a fair duel: the best rate of each optimizer in the recorded grid, its loss, noise and verdict."""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch

from autograde import expect
from autograde.exercise import Answer, Draw, HiddenExercise
from lmcourse.experiments.duel import RATES, SEEDS, load_recorded_duel

EXERCISE = HiddenExercise("W4.8")
CASE = "the recorded grid"
NEAR = 0.002  # nats per token: numbers may be rounded to two decimals and a bit
WORDS = ("adamw", "muon", "undecided")

_LOSS = {(r["optimizer"], r["lr"], r["seed"]): r["loss"] for r in load_recorded_duel()}


def _mean(name: str, lr: float) -> float:
    return sum(_LOSS[name, lr, seed] for seed in SEEDS) / len(SEEDS)


def _summary(pick=min) -> dict[str, float]:
    rates = {name: pick(RATES, key=lambda lr: _mean(name, lr)) for name in ("adamw", "muon")}
    spread = max(abs(_LOSS[n, lr, SEEDS[0]] - _LOSS[n, lr, SEEDS[1]]) for n, lr in rates.items())
    numbers = {f"{n}_rate": lr for n, lr in rates.items()} | {
        f"{n}_loss": _mean(n, lr) for n, lr in rates.items()
    }
    return {**numbers, "spread": spread}


_RIGHT = _summary()
_GAP = _RIGHT["adamw_loss"] - _RIGHT["muon_loss"]
VERDICT = "undecided" if abs(_GAP) <= _RIGHT["spread"] else "muon" if _GAP > 0 else "adamw"
_WRONG = next(word for word in WORDS if word != VERDICT)


def _but(**other: object) -> dict[str, object]:
    return {**_RIGHT, **other}


EXERCISE.set_reference(duel=dict(_RIGHT), verdict=VERDICT)
EXERCISE.variant("rounded", "three decimals")(
    {k: v if "rate" in k else round(v, 3) for k, v in _RIGHT.items()}
)
EXERCISE.variant("tensors", "numbers as tensors, the verdict in capitals", verdict=VERDICT.upper())(
    {k: torch.tensor(v, dtype=torch.float64) for k, v in _RIGHT.items()}
)
EXERCISE.mutant(
    "another verdict", "Your verdict does not follow from the gap and the spread.", verdict=_WRONG
)(dict(_RIGHT))
EXERCISE.mutant("no word", "Your verdict should be one of the three words.", verdict="it depends")(
    dict(_RIGHT)
)
EXERCISE.mutant("largest losses", "Your rates are those with the largest losses; the smallest is best.")(
    _summary(max)
)
EXERCISE.mutant("exchanged", "Your two optimizers are exchanged.")(
    _but(adamw_loss=_RIGHT["muon_loss"], muon_loss=_RIGHT["adamw_loss"])
)
EXERCISE.mutant("perplexities", "Your losses are perplexities; give nats per token.")(
    _but(**{k: math.exp(_RIGHT[k]) for k in ("adamw_loss", "muon_loss")})
)
EXERCISE.mutant("best seed", "Your losses are those of the better seed; take the mean of both.")(
    _but(**{f"{n}_loss": min(_LOSS[n, _RIGHT[f"{n}_rate"], s] for s in SEEDS) for n in ("adamw", "muon")})
)
EXERCISE.mutant("spread over rates", "Your spread is one between rates; it is that between seeds.")(
    _but(spread=max(_mean("adamw", lr) for lr in RATES) - _RIGHT["adamw_loss"])
)
EXERCISE.mutant("no spread", "Your spread is 0; the two seeds differ.")(_but(spread=0.0))
EXERCISE.mutant("nothing yet", "Your numbers are still empty.", verdict=None)(dict.fromkeys(_RIGHT))


@EXERCISE.property("the best rate and loss of each", 3)
def _(answer: Answer, draw: Draw) -> None:
    for name in ("adamw", "muon"):
        rate, loss = (_number(answer, f"{name}_{what}") for what in ("rate", "loss"))
        if not math.isclose(rate, _RIGHT[f"{name}_rate"], rel_tol=1e-6):
            raise expect.wrong(f"{name}_rate is not the rate with the lowest mean loss", CASE)
        if abs(loss - _RIGHT[f"{name}_loss"]) > NEAR:
            raise expect.wrong(
                f"{name}_loss is not the mean over seeds at that rate", CASE, "In nats per token."
            )


@EXERCISE.property("the spread between seeds", 1)
def _(answer: Answer, draw: Draw) -> None:
    if abs(_number(answer, "spread") - _RIGHT["spread"]) > NEAR:
        hint = "The larger of the two differences between seeds, each at the best rate of its optimizer."
        raise expect.wrong("spread is not right", CASE, hint)


@EXERCISE.property("the verdict", 2)
def _(answer: Answer, draw: Draw) -> None:
    word = answer.value("verdict")
    word = word.strip().lower() if isinstance(word, str) else word
    if word not in WORDS:
        raise expect.wrong(
            f"verdict should be one of {', '.join(WORDS)}, but is {expect.kind_of(word)}", CASE
        )
    if word != VERDICT:
        raise expect.wrong("the verdict does not follow", CASE, "Is the gap larger than the spread?")
    for name in ("adamw", "muon"):
        _number(answer, f"{name}_loss")  # a word without numbers is a guess


def _number(answer: Answer, key: str) -> float:
    given = answer.value("duel")
    if not isinstance(given, Mapping):
        raise expect.wrong(f"duel should be a dictionary, but is {expect.kind_of(given)}", CASE)
    if key not in given:
        raise expect.wrong(f"duel has no entry {key!r}", CASE)
    return expect.number(given[key], what=f"duel[{key!r}]", case=CASE)
