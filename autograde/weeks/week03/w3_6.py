"""W3.6, three logs: which number format does the harm, and which column proves it."""

from __future__ import annotations

from collections.abc import Mapping

from autograde import expect
from autograde.exercise import Answer, Draw, HiddenExercise

EXERCISE = HiddenExercise("W3.6")

CAUSES = ("absorbed updates", "underflow", "overflow", "learning rate too high", "nothing wrong")
COLUMNS = ("loss", "gradient_norm", "unmoved_weights", "zero_gradients", "skipped_steps")
CAUSE = {"A": "absorbed updates", "B": "underflow", "C": "overflow"}
# An overflow shows in the steps left out and in the norm that is not finite.
PROOF = {"A": ("unmoved_weights",), "B": ("zero_gradients",), "C": ("skipped_steps", "gradient_norm")}

_RIGHT = {log: columns[0] for log, columns in PROOF.items()}

EXERCISE.set_reference(cause=dict(CAUSE), proof=dict(_RIGHT))

EXERCISE.variant(
    "the norm proves C",
    "a norm that is not finite proves an overflow as well",
    proof={**_RIGHT, "C": "gradient_norm"},
)(dict(CAUSE))
EXERCISE.variant(
    "other order",
    "the order of the keys does not matter, nor upper case",
    proof=dict(reversed(_RIGHT.items())),
)({k: CAUSE[k].capitalize() for k in "CBA"})


def _mutant(name: str, note: str, cause: dict | object = None, proof: dict | object = None) -> None:
    EXERCISE.mutant(name, note, proof=_RIGHT if proof is None else proof)(CAUSE if cause is None else cause)


_mutant(
    "A and B swapped",
    "Your causes of A and B are swapped: look in which of them the gradients themselves are zero.",
    {**CAUSE, "A": "underflow", "B": "absorbed updates"},
)
_mutant("all underflow", "Your cause is the same for all three logs.", dict.fromkeys(CAUSE, "underflow"))
_mutant(
    "C diverged",
    "Your cause of C is a high learning rate; its weights never move, so no rate can be to blame.",
    {**CAUSE, "C": "learning rate too high"},
)
_mutant(
    "A is healthy",
    "Your cause of A overlooks that its loss stands still while gradients arrive.",
    {**CAUSE, "A": "nothing wrong"},
)
_mutant(
    "loss proves it",
    "Your proof is the loss, which looks alike in several of them.",
    None,
    dict.fromkeys(CAUSE, "loss"),
)
_mutant(
    "unmoved weights prove B",
    "Your proof of B also appears in A: take the column in which they differ.",
    None,
    {**_RIGHT, "B": "unmoved_weights"},
)
_mutant(
    "zero gradients prove A", "Your proof of A is 0 in that log.", None, {**_RIGHT, "A": "zero_gradients"}
)
_mutant(
    "C by unmoved weights",
    "Your proof of C appears in A too; take one that only C has.",
    None,
    {**_RIGHT, "C": "unmoved_weights"},
)
_mutant(
    "one log missing",
    "Your dictionaries must have an entry for each of A, B and C.",
    {"A": CAUSE["A"], "B": CAUSE["B"]},
)
_mutant(
    "a list",
    "Your cause is a list; it should be a dictionary with the keys A, B and C.",
    list(CAUSE.values()),
)
_mutant(
    "free words", "Your causes are not among the five phrases.", {**CAUSE, "A": "the updates are too small"}
)


def _property(log: str, points: float) -> None:
    @EXERCISE.property(f"cause and proof of {log}", points)
    def _(answer: Answer, draw: Draw) -> None:
        case = f"log {log}"
        cause = _entry(answer, "cause", log, CAUSES)
        if cause != CAUSE[log]:
            hint = "Compare its columns with those of the healthy run, one by one."
            raise expect.wrong(f'the cause of {log} is not "{cause}"', case, hint)
        proof = _entry(answer, "proof", log, COLUMNS)
        if proof not in PROOF[log]:
            hint = (
                "Which column would be different if the cause were gone, and is not like that in another log?"
            )
            raise expect.wrong(f'"{proof}" does not prove the cause of {log}', case, hint)


for _log, _points in (("A", 4), ("B", 3), ("C", 3)):
    _property(_log, _points)


def _entry(answer: Answer, name: str, log: str, allowed: tuple[str, ...]) -> str:
    given = answer.value(name)
    if not isinstance(given, Mapping):
        raise expect.wrong(f"{name} should be a dictionary, but is {expect.kind_of(given)}", f"log {log}")
    if log not in given:
        raise expect.wrong(f"{name} has no entry {log!r}", f"log {log}")
    word = given[log]
    if not isinstance(word, str) or word.strip().lower() not in allowed:
        came = expect.kind_of(word)
        raise expect.wrong(
            f"{name}[{log!r}] should be one of: {', '.join(allowed)}; but is {came}", f"log {log}"
        )
    return word.strip().lower()
