"""How the hidden side of an exercise is written down: reference, variants, mutants and properties.

A week's exercises live in `autograde/weeks/week01/w1_4.py` and so on, one file an exercise, each of which
defines one `EXERCISE`. Nothing here runs student code: a property receives an `Answer`, and the judge decides
what stands behind it (a confined worker process, or a function in this process for the mutation matrix).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import torch

from lmcourse import exercises as registry


class Wrong(Exception):
    """A property does not hold: `message` for the student, `case` the smallest failing case in words."""

    def __init__(self, message: str, case: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.case = case


class StudentError(Exception):
    """The student's code raised; carries the error's type name and message as text, never the object."""

    def __init__(self, name: str, kind: str, message: str) -> None:
        super().__init__(f"{name} raised {kind}: {message}")
        self.kind = kind
        self.message = message


@dataclass(frozen=True)
class Outcome:
    """What a student's test said of one implementation: `accepted`, `rejected` (AssertionError), `error`."""

    state: str
    message: str = ""


class Answer(Protocol):
    """The student's work as hidden tests see it. Everything that comes back is plain data."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the exercise's main function with copies of these arguments; tensors come back as tensors."""

    def call(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """The same for another function of the exercise."""

    def drive(self, driver: str, *args: Any) -> Any:
        """Run a driver of `lmcourse.checks.drivers`, as "week02.accumulate", on the student's names.

        For what no plain data can carry: a function that takes a model, a class. The driver builds it from
        `args` on the student's side, runs the student's code and gives plain data back. It is open code and
        decides nothing: the property compares what comes back with its own oracle.
        """

    def value(self, name: str) -> Any:
        """A variable that the student set."""

    def test(self, implementation: Callable) -> Outcome:
        """Run the student's test (the main name) on an implementation, which runs on the judge's side."""


@dataclass(frozen=True)
class Draw:
    """Randomness of one property, derived from (course secret, student, exercise, property)."""

    seed: int

    @property
    def rng(self) -> np.random.Generator:
        return np.random.default_rng(self.seed)

    def generator(self, offset: int = 0) -> torch.Generator:
        return torch.Generator().manual_seed((self.seed + offset) % 2**63)


@dataclass(frozen=True)
class Property:
    """One named thing that must hold, worth `points`; `check` raises `Wrong` when it does not."""

    name: str
    points: float
    check: Callable[[Answer, Draw], None]


@dataclass(frozen=True)
class Solution:
    """A right (variant) or wrong (mutant) answer. `note` is the misconception in words for a mutant, and what
    is unusual but correct for a variant. `names` maps each name that is asked for to a function or value."""

    name: str
    note: str
    names: dict[str, Any]


@dataclass(frozen=True)
class PublicCase:
    """A row of the public check: open inputs; the build computes the expected value from the reference."""

    title: str
    checks: str
    args: Callable[[], tuple]
    entry: str


@dataclass
class HiddenExercise:
    """The hidden side of the exercise `id`; the first of its registered names is the main one."""

    id: str
    reference: Solution | None = None
    variants: list[Solution] = field(default_factory=list)
    mutants: list[Solution] = field(default_factory=list)
    properties: list[Property] = field(default_factory=list)
    public_cases: list[PublicCase] = field(default_factory=list)
    # For "write a test" exercises: implementations that a student's test must accept and must reject.
    accept: list[Solution] = field(default_factory=list)
    reject: list[Solution] = field(default_factory=list)
    # Points for leaving inputs and global state alone; 0 where there is nothing to disturb.
    manners_points: float = 0.0
    # Names of arguments that the contract allows to be changed in place.
    may_change: tuple[str, ...] = ()
    # Driver that hands an implementation to the student's test in another form than a function, as a class.
    test_driver: str = ""
    # Functions and classes of the course that may not run while the answer is judged, by their dotted names,
    # and what the student is told to do instead, as a sentence.
    forbidden: tuple[str, ...] = ()
    instead: str = "Write it yourself."
    # Seconds of processor time for one call of a student's function.
    call_seconds: float = 5.0

    def __post_init__(self) -> None:
        self.spec = registry.exercise(self.id)

    @property
    def entry(self) -> str:
        return self.spec.names[0]

    @property
    def is_test(self) -> bool:
        return bool(self.accept or self.reject)

    # Decorators, so that an exercise's file reads from top to bottom.

    def set_reference(self, *functions: Callable, **values: Any) -> None:
        self.reference = Solution("reference", "", _named(functions, values))

    def variant(self, name: str, note: str = "", **names: Any) -> Callable:
        """Decorate the main function of a variant; other names are taken from the reference unless given."""
        return self._collect(self.variants, name, note, names)

    def mutant(self, name: str, note: str, **names: Any) -> Callable:
        """Decorate the main function of a mutant; `note` is shown to a student whose answer equals it."""
        return self._collect(self.mutants, name, note, names)

    def accepts(self, name: str, note: str = "") -> Callable:
        """Decorate an implementation that a test must accept; `note`: which assumption is too strict."""
        return self._collect(self.accept, name, note, {}, bare=True)

    def rejects(self, name: str, note: str) -> Callable:
        """Decorate an implementation that a student's test must reject; `note`: the hint about its kind."""
        return self._collect(self.reject, name, note, {}, bare=True)

    def property(self, name: str, points: float) -> Callable:
        def keep(check: Callable[[Answer, Draw], None]) -> Callable:
            self.properties.append(Property(name, points, check))
            return check

        return keep

    def public_case(self, title: str, checks: str, entry: str | None = None) -> Callable:
        """Decorate a function without arguments that returns the tuple of inputs of a public row."""

        def keep(args: Callable[[], tuple]) -> Callable:
            self.public_cases.append(PublicCase(title, checks, args, entry or self.entry))
            return args

        return keep

    def _collect(
        self, into: list[Solution], name: str, note: str, names: dict, bare: bool = False
    ) -> Callable:
        def keep(function: Callable) -> Callable:
            base = dict(self.reference.names) if self.reference and not bare else {}
            into.append(Solution(name, note, {**base, self.entry: function, **names}))
            return function

        return keep


def _named(functions: tuple[Callable, ...], values: dict[str, Any]) -> dict[str, Any]:
    return {**{f.__name__: f for f in functions}, **values}
