"""Whether an answer equals the expected value, and if not, why, in words a student can act on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Number
from typing import Any

import numpy as np
import torch


@dataclass(frozen=True)
class Difference:
    """Why two values are not equal.

    `reason` is one sentence. `path` leads through tuples, lists and dicts to the part that differs;
    `places` are the indices of all differing elements there, when both are tensors of one shape.
    """

    reason: str
    path: tuple[Any, ...] = ()
    places: tuple[tuple[int, ...], ...] = ()


def difference(yours: Any, expected: Any) -> Difference | None:
    """None when the values agree; otherwise the first reason why they do not.

    Integers and booleans must be equal. Floats may differ by `64 eps sqrt(n)` of the largest expected
    magnitude, with the eps of the coarser of the two dtypes and n elements. A number may come as int,
    float, numpy scalar or 0-d tensor, a tuple as a list and the other way round. A tensor must have the
    expected dtype, except that any floating dtype may stand for another.
    """
    return _compare(yours, expected, ())


def describe(value: Any) -> str:
    """The kind of a value in words, as `a tensor of dtype int64 and shape (2, 3)`."""
    if value is None:
        return "None"
    if isinstance(value, torch.Tensor):
        return f"a tensor of dtype {dtype_name(value)} and shape {tuple(value.shape)}"
    if isinstance(value, np.ndarray):
        return f"a numpy array of dtype {value.dtype} and shape {value.shape}"
    if isinstance(value, bool | np.bool_):
        return f"the truth value {bool(value)}"
    if isinstance(value, Number):
        return f"the number {value}"
    if isinstance(value, str):
        return f"the text {value[:30]!r}"
    if isinstance(value, list | tuple | dict):
        return f"a {type(value).__name__} of length {len(value)}"
    if callable(value):
        return f"a function ({getattr(value, '__name__', type(value).__name__)})"
    return f"a {type(value).__name__}"


def dtype_name(tensor: torch.Tensor) -> str:
    """`int64` for a tensor of `torch.int64`."""
    return str(tensor.dtype).removeprefix("torch.")


def _compare(yours: Any, expected: Any, path: tuple) -> Difference | None:
    if yours is None and expected is not None:
        return Difference(f"{_name(path)} is None; is a `return` missing?", path)
    if isinstance(expected, torch.Tensor) and expected.ndim:
        return _compare_tensors(yours, expected, path)
    if isinstance(expected, np.ndarray) and expected.ndim:
        if not isinstance(yours, np.ndarray):
            return Difference(f"{_name(path)} is {describe(yours)}; expected {describe(expected)}", path)
        return _compare_tensors(torch.as_tensor(yours), torch.as_tensor(expected), path)
    if isinstance(expected, list | tuple):
        return _compare_sequences(yours, expected, path)
    if isinstance(expected, dict):
        return _compare_dicts(yours, expected, path)
    if isinstance(expected, str) or expected is None:
        same = type(yours) is type(expected) and yours == expected
        return None if same else Difference(f"{_name(path)} is {describe(yours)}, not {expected!r}", path)
    return _compare_numbers(yours, expected, path)


def _compare_sequences(yours: Any, expected: Sequence, path: tuple) -> Difference | None:
    if not isinstance(yours, list | tuple):
        return Difference(f"{_name(path)} is {describe(yours)}; expected {describe(expected)}", path)
    if len(yours) != len(expected):
        kind = type(expected).__name__
        return Difference(f"{_name(path)} is a {kind} of length {len(yours)}; expected {len(expected)}", path)
    parts = (_compare(a, b, (*path, i)) for i, (a, b) in enumerate(zip(yours, expected, strict=True)))
    return next((part for part in parts if part), None)


def _compare_dicts(yours: Any, expected: dict, path: tuple) -> Difference | None:
    if not isinstance(yours, dict):
        return Difference(f"{_name(path)} is {describe(yours)}; expected {describe(expected)}", path)
    for word, keys in (
        ("misses", expected.keys() - yours.keys()),
        ("has an extra", yours.keys() - expected.keys()),
    ):
        if keys:
            return Difference(f"{_name(path)} {word} key: {', '.join(sorted(map(repr, keys)))}", path)
    parts = (_compare(yours[key], expected[key], (*path, key)) for key in expected)
    return next((part for part in parts if part), None)


def _compare_numbers(yours: Any, expected: Any, path: tuple) -> Difference | None:
    oracle, number = _number(expected), _number(yours)
    if number is None:
        return Difference(f"{_name(path)} is {describe(yours)}; expected a number", path)
    if isinstance(oracle, bool) != isinstance(number, bool):
        wanted = "True or False" if isinstance(oracle, bool) else "a number"
        return Difference(f"{_name(path)} is {describe(yours)}; expected {wanted}", path)
    if isinstance(oracle, float):
        equal = number == oracle or (math.isnan(number) and math.isnan(oracle))
        close = math.isfinite(oracle) and abs(number - oracle) <= 64 * _eps(yours, expected) * abs(oracle)
    else:
        equal, close = number == oracle, False
    if equal or close:
        return None
    off = f", off by {abs(number - oracle):.3g}" if not isinstance(oracle, bool) else ""
    return Difference(f"{_name(path)} is {number!r}; expected {oracle!r}{off}", path)


def _compare_tensors(yours: Any, expected: torch.Tensor, path: tuple) -> Difference | None:
    if not isinstance(yours, torch.Tensor):
        return Difference(f"{_name(path)} is {describe(yours)}; expected {describe(expected)}", path)
    if yours.shape != expected.shape:
        shapes = f"shape {tuple(yours.shape)}; expected {tuple(expected.shape)}"
        return Difference(f"{_name(path)} has {shapes}", path)
    both_float = yours.is_floating_point() and expected.is_floating_point()
    wrong = _wrong_elements(yours, expected)
    if yours.dtype != expected.dtype and not both_float:
        values = (
            "the values are right, the dtype is the reason" if not wrong.any() else "the values differ, too"
        )
        dtypes = f"dtype {dtype_name(yours)}; expected {dtype_name(expected)}"
        return Difference(f"{_name(path)} has {dtypes} ({values})", path)
    if not wrong.any():
        return None
    return _element_difference(yours, expected, wrong, path)


def _wrong_elements(yours: torch.Tensor, expected: torch.Tensor) -> torch.Tensor:
    """Bool of the common shape: where the difference is larger than the tolerance."""
    if expected.numel() == 0 or not (yours.is_floating_point() or expected.is_floating_point()):
        return yours.detach().cpu() != expected
    a, b = yours.detach().cpu().double(), expected.double()
    finite = b[b.isfinite()]
    scale = finite.abs().max().item() if finite.numel() else 0.0
    tolerance = 64 * _eps(yours, expected) * math.sqrt(expected.numel()) * scale
    same = (a == b) | (a.isnan() & b.isnan()) | ((a - b).abs() <= tolerance)
    return ~same


def _element_difference(
    yours: torch.Tensor, expected: torch.Tensor, wrong: torch.Tensor, path: tuple
) -> Difference:
    places = tuple(tuple(place) for place in wrong.nonzero().tolist())
    count = f"{len(places)} of {wrong.numel()} elements differ"
    if expected.dtype == torch.bool:
        worst, size = places[0], "the first"
    else:
        gap = (yours.detach().cpu().double() - expected.double()).abs()
        gap = torch.where(wrong, gap.nan_to_num(nan=math.inf), -1.0)
        worst = tuple(int(i) for i in np.unravel_index(int(gap.argmax()), tuple(gap.shape)))
        size = f"max abs difference {gap[worst].item():.4g}"
    values = f"yours {_short(yours[worst])}, expected {_short(expected[worst])}"
    return Difference(f"{_name(path)}: {count}; {size} at {list(worst)}: {values}", path, places)


def _number(value: Any) -> bool | int | float | None:
    """A plain Python number from anything that stands for one, else None."""
    if isinstance(value, torch.Tensor | np.ndarray | np.generic):
        if value.ndim:
            return None
        value = value.item()
    return value if isinstance(value, bool | int | float) else None


def _eps(*values: Any) -> float:
    """The eps of the coarsest floating dtype among the values; a Python float counts as float64."""
    sizes = [torch.finfo(torch.float64).eps]
    for value in values:
        if isinstance(value, torch.Tensor) and value.is_floating_point():
            sizes.append(torch.finfo(value.dtype).eps)
        elif isinstance(value, np.floating | np.ndarray) and value.dtype.kind == "f":
            sizes.append(float(np.finfo(value.dtype).eps))
    return max(sizes)


def _short(element: torch.Tensor) -> str:
    value = element.item()
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _name(path: tuple) -> str:
    return "the result" if not path else "result" + "".join(f"[{key!r}]" for key in path)
