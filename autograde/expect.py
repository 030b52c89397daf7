"""Comparisons that raise `Wrong` in words: what came, where it is worst, and what was expected there.

Every helper takes `case` (the failing case in words, see `case`) and `hint` (one sentence that helps). A
message never shows more than one element of an expected array, and never the source of a test.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from numbers import Integral, Real
from typing import Any

import numpy as np
import torch
from torch import Tensor

from autograde.exercise import Draw, Wrong


def case(draw: Draw, *words: str, **sizes: Any) -> str:
    """A failing case in words: what is special, sizes, seed: `one document a row, B=3, T=7, seed 42`."""
    return ", ".join([*words, *(f"{name}={size}" for name, size in sizes.items()), f"seed {draw.seed}"])


def wrong(message: str, case: str = "", hint: str = "") -> Wrong:
    """The exception to raise for a message, with its hint behind it."""
    return Wrong(f"{message}. {hint}" if hint else message, case)


def kind_of(value: Any) -> str:
    """What a value is, in words for a student: `a list`, `a tensor of shape (3,)`, `nothing (None)`."""
    if value is None:
        return "nothing (None): does the function return?"
    if isinstance(value, Tensor):
        return f"a tensor of shape {tuple(value.shape)} and dtype {dtype_name(value.dtype)}"
    if isinstance(value, np.ndarray):
        return f"a numpy array of shape {value.shape} and dtype {value.dtype}"
    if isinstance(value, bool | np.bool_):
        return f"the boolean {bool(value)}"
    if isinstance(value, str):
        return f"the text {value[:40]!r}"
    if isinstance(value, Integral) and abs(int(value)) >= 10**18:
        return "a very large whole number"
    if isinstance(value, Real):
        return f"the number {value}"
    if isinstance(value, Sequence):
        return f"a {type(value).__name__} of length {len(value)}"
    return f"a {type(value).__name__}"


def dtype_name(dtype: torch.dtype) -> str:
    """`int64` for `torch.int64`."""
    return str(dtype).removeprefix("torch.")


def is_tensor(value: Any, *, what: str = "the result", case: str = "", hint: str = "") -> Tensor:
    """The value itself, if it is a tensor."""
    if not isinstance(value, Tensor):
        raise wrong(f"{what} should be a torch tensor, but is {kind_of(value)}", case, hint)
    return value


def shape(
    value: Any, expected: Sequence[int], *, what: str = "the result", case: str = "", hint: str = ""
) -> Tensor:
    """The value, if it is a tensor of this shape."""
    tensor = is_tensor(value, what=what, case=case)
    if tuple(tensor.shape) != tuple(expected):
        came = tuple(tensor.shape)
        raise wrong(f"{what} should have shape {tuple(expected)}, but has {came}", case, hint)
    return tensor


def dtype(
    value: Any, expected: torch.dtype, *, what: str = "the result", case: str = "", hint: str = ""
) -> Tensor:
    """The value, if it is a tensor of this dtype."""
    tensor = is_tensor(value, what=what, case=case)
    if tensor.dtype != expected:
        came = dtype_name(tensor.dtype)
        raise wrong(f"the dtype of {what} should be {dtype_name(expected)}, but is {came}", case, hint)
    return tensor


def equal_integers(
    got: Any, expected: Any, *, what: str = "the result", case: str = "", hint: str = ""
) -> None:
    """Equality of whole numbers or booleans, of any integer dtype, in shape and in every element.

    Raises:
        Wrong: no tensor, another shape, floats, or the first element (in reading order) that differs.
    """
    oracle = torch.as_tensor(expected)
    tensor = shape(got, oracle.shape, what=what, case=case, hint=hint)
    if tensor.is_floating_point() or tensor.is_complex():
        reason = f"{what} should hold whole numbers, but its dtype is {dtype_name(tensor.dtype)}"
        raise wrong(reason, case, hint)
    different = (tensor.to(torch.int64) != oracle.to(torch.int64)).nonzero()
    if len(different) == 0:
        return
    where = tuple(different[0].tolist())
    raise wrong(
        f"{what} is wrong in {len(different)} of {oracle.numel()} elements; the first is {_at(where)}: "
        f"{tensor[where].item()} instead of {oracle[where].item()}",
        case,
        hint,
    )


def close(
    got: Any,
    expected: Any,
    *,
    dtype: torch.dtype = torch.float32,
    terms: int = 1,
    what: str = "the result",
    case: str = "",
    hint: str = "",
) -> None:
    """Closeness to a float64 oracle within `64 eps sqrt(terms)` of the largest magnitude in it.

    Args:
        got: tensor or number of the student.
        expected: the oracle, computed in float64.
        dtype: the least precise dtype that the statement allows; its eps sets the tolerance.
        terms: how many rounded terms are added up into one element.

    Raises:
        Wrong: shape, nan, or the largest difference with its index; says when the dtype is the reason.
    """
    oracle = torch.as_tensor(expected, dtype=torch.float64)
    came = got if isinstance(got, Tensor) else _as_float_tensor(got, what, case)
    tensor = shape(came, oracle.shape, what=what, case=case, hint=hint)
    value = tensor.to(torch.float64)
    broken = (value.isnan() & ~oracle.isnan()).nonzero()
    if len(broken):
        raise wrong(f"{what} is nan {_at(tuple(broken[0].tolist()))}", case, hint)
    difference = torch.where(value == oracle, 0.0, (value - oracle).abs()).nan_to_num(nan=0.0)
    if oracle.numel() == 0:
        return
    finite = oracle[oracle.isfinite()]
    scale = finite.abs().max().item() if finite.numel() else 1.0
    worst = difference.max().item()
    if worst <= tolerance(dtype, terms) * scale:
        return
    where = tuple(int(i) for i in np.unravel_index(int(difference.argmax()), tuple(oracle.shape)))
    message = (
        f"{what} differs by up to {worst:.3g}; the worst element is {_at(where)}: "
        f"{value[where].item():.6g} instead of {oracle[where].item():.6g}"
    )
    if tensor.is_floating_point() and worst <= tolerance(tensor.dtype, terms) * scale:
        message += (
            f". The dtype is the reason: {dtype_name(tensor.dtype)} is too coarse, use {dtype_name(dtype)}"
        )
    raise wrong(message, case, hint)


def tolerance(dtype: torch.dtype, terms: int = 1) -> float:
    """The relative tolerance `64 eps sqrt(terms)` of a floating dtype."""
    return 64 * torch.finfo(dtype).eps * math.sqrt(terms)


def number(value: Any, *, what: str = "the answer", case: str = "", hint: str = "") -> float:
    """A finite number as a float: from int, float, numpy scalar, 0-d tensor or Fraction.

    Raises:
        Wrong: a boolean, text, nan, infinity, or several numbers.
    """
    if isinstance(value, Tensor | np.ndarray):
        if value.ndim:
            raise wrong(f"{what} should be one number, but is {kind_of(value)}", case, hint)
        value = value.item()
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, Real | Fraction):
        raise wrong(f"{what} should be a number, but is {kind_of(value)}", case, hint)
    try:
        result = float(value)
    except OverflowError:
        raise wrong(f"{what} is too large for a float", case, hint) from None
    if not math.isfinite(result):
        raise wrong(f"{what} should be a finite number, but is {result}", case, hint)
    return result


def whole_number(value: Any, *, what: str = "the answer", case: str = "", hint: str = "") -> int:
    """An integer from anything that `number` accepts and that is of an integer kind (2.0 is not)."""
    if isinstance(value, Tensor | np.ndarray | np.generic) and np.ndim(value) == 0:
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise wrong(f"{what} should be a whole number, but is {kind_of(value)}", case, hint)
    return int(value)


def parts(value: Any, names: Sequence[str], *, case: str = "") -> list:
    """The parts of a returned tuple or list, one for each name."""
    wanted = f"({', '.join(names)})"
    if not isinstance(value, tuple | list):
        raise wrong(f"the function should return {wanted}, but returns {kind_of(value)}", case)
    if len(value) != len(names):
        raise wrong(f"the function should return {wanted}, but returns {len(value)} values", case)
    return list(value)


def lists_of_integers(
    value: Any, *, what: str = "the result", item: str = "element", case: str = ""
) -> list[list[int]]:
    """Lists (or tuples) of whole numbers as plain lists of int."""
    rows = _sequence(value, f"{what} should be a list of lists", case)
    result = []
    for number_of_row, row in enumerate(rows):
        inner = _sequence(row, f"element {number_of_row} of {what} should be a list", case)
        result.append([whole_number(x, what=f"each {item} in {what}", case=case) for x in inner])
    return result


def _sequence(value: Any, wanted: str, case: str) -> Iterable:
    if isinstance(value, Tensor | np.ndarray) and value.ndim:
        return value
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise wrong(f"{wanted}, but is {kind_of(value)}", case)
    return value


def _as_float_tensor(value: Any, what: str, case: str) -> Tensor:
    if isinstance(value, np.ndarray):
        return torch.from_numpy(value)
    if isinstance(value, list | tuple):
        raise wrong(f"{what} should be a tensor, but is {kind_of(value)}", case)
    return torch.tensor(number(value, what=what, case=case), dtype=torch.float64)


def _at(index: tuple[int, ...]) -> str:
    return f"at index {index[0] if len(index) == 1 else index}" if index else "(a single number)"
