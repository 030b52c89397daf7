"""W4.7, read the race: whose path is it, and which claim do the pictures support?"""

from __future__ import annotations

from collections.abc import Mapping

from autograde import expect
from autograde.exercise import Answer, Draw, HiddenExercise
from autograde.weeks.week04.race_paths import MADE_BY

EXERCISE = HiddenExercise("W4.7")
WORDS = ("sgd", "momentum", "adam", "muon")
CLAIM = "c"
CASE = "the race of this week"
_RIGHT = {**MADE_BY, "claim": CLAIM}

EXERCISE.set_reference(race=dict(_RIGHT))
EXERCISE.variant("capitals", "capital letters and blanks")(
    {key: f" {value.upper()} " for key, value in _RIGHT.items()}
)
EXERCISE.variant("another order", "the entries in another order")(dict(reversed(_RIGHT.items())))


def _but(**other: object) -> dict[str, object]:
    return {**_RIGHT, **other}


def _swapped(one: str, other: str) -> dict[str, object]:
    exchange = {one: other, other: one}
    return {key: exchange.get(value, value) for key, value in _RIGHT.items()}


EXERCISE.mutant("adam and muon exchanged", "Your adam and muon are exchanged: look at the length of a step.")(
    _swapped("adam", "muon")
)
EXERCISE.mutant(
    "sgd and momentum exchanged", "Your sgd and momentum are exchanged: one of them gathers speed."
)(_swapped("sgd", "momentum"))
EXERCISE.mutant(
    "adam and sgd exchanged",
    "Your adam and sgd are exchanged: on the plateau only one of them sets out at full speed.",
)(_swapped("adam", "sgd"))
EXERCISE.mutant("momentum and muon exchanged", "Your momentum and muon are exchanged.")(
    _swapped("momentum", "muon")
)
EXERCISE.mutant("all sgd", "Your paths have all the same name.")(
    {**dict.fromkeys(MADE_BY, "sgd"), "claim": CLAIM}
)
for _claim in "abd":
    EXERCISE.mutant(f"claim {_claim}", "Your claim says more than the pictures show, or something else.")(
        _but(claim=_claim)
    )
EXERCISE.mutant("claims in a list", "Your claim is a list; give one letter.")(_but(claim=["c"]))
EXERCISE.mutant("nothing yet", "Your answers are still empty.")(dict.fromkeys(_RIGHT))


def _word(answer: Answer, key: str, words: tuple[str, ...]) -> str:
    given = answer.value("race")
    if not isinstance(given, Mapping):
        raise expect.wrong(f"race should be a dictionary, but is {expect.kind_of(given)}", CASE)
    value = given.get(key)
    word = value.strip().lower() if isinstance(value, str) else None
    if word not in words:
        raise expect.wrong(
            f"race[{key!r}] should be one of {', '.join(words)}, but is {expect.kind_of(value)}", CASE
        )
    return word


HINTS = {
    "sgd": "One path moves by the gradient and nothing else: where the slope is small, it hardly moves.",
    "momentum": "One path gathers speed: on the plateau its steps start small and grow.",
    "adam": "Two paths set out over the plateau at full speed; the steps of one shrink later.",
    "muon": "The steps of one path have the same length almost everywhere, until the rate falls.",
}


def _path(path: str) -> None:
    @EXERCISE.property(f"whose path is {path}", 2)
    def _(answer: Answer, draw: Draw) -> None:
        words = [_word(answer, key, WORDS) for key in MADE_BY]
        if len(set(words)) < len(words):
            raise expect.wrong("two paths have the same name; each optimizer made one", CASE)
        if _word(answer, path, WORDS) != MADE_BY[path]:
            raise expect.wrong(f"{path} was made by another optimizer", CASE, HINTS[MADE_BY[path]])


for _name in MADE_BY:
    _path(_name)


@EXERCISE.property("what the pictures support", 4)
def _(answer: Answer, draw: Draw) -> None:
    if _word(answer, "claim", ("a", "b", "c", "d")) != CLAIM:
        raise expect.wrong("the pictures do not support that claim", CASE, "What was measured, and on what?")
