"""Checks of the numbers that corpora are built from."""

from __future__ import annotations

import numbers

import numpy as np

from lmcourse.errors import CourseError


def whole_number(name: str, value: object, minimum: int, maximum: int | None = None) -> int:
    """`value` as an int within the bounds, both included.

    Raises:
        CourseError: `value` is no whole number (True and False are none either) or lies outside.
    """
    wanted = f"a whole number of at least {minimum}"
    if maximum is not None:
        wanted = f"a whole number from {minimum} to {maximum}"
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise CourseError(f"{name} must be {wanted}; got {value!r}")
    if value < minimum or (maximum is not None and value > maximum):
        raise CourseError(f"{name} must be {wanted}; got {value}")
    return int(value)


def positive_number(name: str, value: object) -> float:
    """`value` as a finite float above 0.

    Raises:
        CourseError: `value` is no number, not finite, or not above 0.
    """
    is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not is_number or not np.isfinite(value) or value <= 0:
        raise CourseError(f"{name} must be a finite number above 0; got {value!r}")
    return float(value)


def symbols(name: str, value: object, vocab_size: int) -> np.ndarray:
    """`value` as a one-dimensional int64 array of ids in 0..vocab_size-1.

    Raises:
        CourseError: another shape, not whole numbers, or an id outside; names the first one and its position.
    """
    array = np.asarray(value)
    if array.ndim != 1:
        raise CourseError(f"{name} must have one dimension; got shape {array.shape}")
    if array.size == 0:
        return np.zeros(0, dtype=np.int64)
    if not np.issubdtype(array.dtype, np.integer):
        raise CourseError(f"{name} must be whole numbers; got dtype {array.dtype}")
    bad = np.flatnonzero((array < 0) | (array >= vocab_size))
    if bad.size:
        raise CourseError(
            f"{name}: id {array[bad[0]]} at position {bad[0]} is outside 0..{vocab_size - 1} "
            f"(vocabulary size {vocab_size})"
        )
    return array.astype(np.int64)
