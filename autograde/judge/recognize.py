"""Does a wrong answer equal what a known mutant gives on the same inputs? Then its note says it better."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import torch

from autograde.exercise import HiddenExercise, Solution, StudentError
from autograde.judge.answer import Call
from autograde.judge.local import LocalAnswer
from autograde.worker import codec

RTOL = 1e-5


def recognize(
    exercise: HiddenExercise, calls: Mapping[str, list[Call]], failed: Iterable[str]
) -> dict[str, Solution]:
    """For each failed property the mutant that answers its recorded calls as the student did.

    Two mutants can agree on a few calls; the one that agrees with the student in more of all the properties
    wins. Nothing is recognized where the student's answers equal the reference's.
    """
    if exercise.reference is None:
        return {}
    failed = [name for name in failed if not _agrees(exercise, exercise.reference, calls[name])]
    agreement = {}  # name of a property -> (how many properties agree, mutant)
    for mutant in exercise.mutants:
        same = {name for name in failed if _agrees(exercise, mutant, calls[name])}
        if not same:
            continue
        extent = len(same) + sum(
            _agrees(exercise, mutant, recorded) for name, recorded in calls.items() if name not in failed
        )
        for name in same:
            if name not in agreement or extent > agreement[name][0]:
                agreement[name] = (extent, mutant)
    return {name: mutant for name, (_, mutant) in agreement.items()}


def _agrees(exercise: HiddenExercise, solution: Solution, calls: list[Call]) -> bool:
    return bool(calls) and all(alike(c.result, _answer(exercise, solution, c)) for c in calls)


def alike(left: Any, right: Any) -> bool:
    """Same structure, dtypes and values; floating-point numbers within a relative 1e-5."""
    if isinstance(left, torch.Tensor) and isinstance(right, torch.Tensor):
        if left.dtype != right.dtype or left.shape != right.shape:
            return False
        if not left.dtype.is_floating_point:
            return torch.equal(left, right)
        return torch.allclose(left.double(), right.double(), rtol=RTOL, atol=1e-12, equal_nan=True)
    if isinstance(left, np.ndarray | np.generic) and isinstance(right, np.ndarray | np.generic):
        if left.dtype != right.dtype or left.shape != right.shape:
            return False
        if left.dtype.kind not in "fc":
            return bool(np.array_equal(left, right))
        return bool(np.allclose(left, right, rtol=RTOL, atol=1e-12, equal_nan=True))
    if type(left) is not type(right):
        return False
    if isinstance(left, list | tuple):
        return len(left) == len(right) and all(alike(a, b) for a, b in zip(left, right, strict=True))
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(alike(value, right[key]) for key, value in left.items())
    if isinstance(left, float):
        return left == right or abs(left - right) <= RTOL * abs(right) or (left != left and right != right)
    if isinstance(left, torch.Generator):
        return torch.equal(left.get_state(), right.get_state())
    return bool(left == right)


def _answer(exercise: HiddenExercise, solution: Solution, call: Call) -> Any:
    """What a solution of the course gives; an error counts as an answer that no student's value equals."""
    local = LocalAnswer(exercise, solution.names)
    try:
        if call.kind == "value":
            return local.value(call.name)
        args, kwargs = codec.loads(call.payload)
        if call.kind == "drive":
            return local.drive(*args)
        return local.call(call.name, *args, **kwargs)
    except StudentError:
        return _NO_ANSWER


_NO_ANSWER = object()
