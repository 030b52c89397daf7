"""What a widget draws: arrays, numbers and words that belong together, with no notebook in sight."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

VERSION = 1
DTYPES = ("uint8", "int32", "float32", "float64")


@dataclass(frozen=True)
class Payload:
    """One picture in numbers and words.

    `readout`, `caption` and `alt` are made from the same model as the arrays, so the words cannot disagree
    with the picture. `problems` explains impossible settings, by the name of the control they belong to.
    """

    kind: str
    params: Mapping[str, Any]
    arrays: Mapping[str, NDArray[Any]]
    scalars: Mapping[str, float | int | str | bool]
    readout: str
    caption: str
    alt: str  # 150 to 300 characters; changes when the picture does
    numbers: tuple[tuple[str, str], ...]  # name and value with its unit, as shown
    grid_caption: str
    grid: tuple[tuple[str, ...], ...]  # the picture as a table; first row and first column are headers
    problems: Mapping[str, str] = field(default_factory=dict)
    version: int = VERSION

    def table(self) -> str:
        """The numbers and the grid as plain text, in columns."""
        width = max(len(name) for name, _ in self.numbers)
        lines = [f"{name:<{width}}  {value}" for name, value in self.numbers]
        widths = [max(map(len, column)) for column in zip(*self.grid, strict=True)]
        for row in self.grid:
            lines.append("  ".join(f"{cell:>{w}}" for cell, w in zip(row, widths, strict=True)))
        lines.insert(len(self.numbers), f"\n{self.grid_caption}")
        return "\n".join(lines)

    def packed(self) -> tuple[dict[str, dict[str, Any]], bytes]:
        """All arrays as one run of bytes, and where each lies in it.

        Returns:
            spec: dtype, shape and offset (bytes, a multiple of 8) by name. data: little endian.

        Raises:
            TypeError: an array has a dtype that a browser's typed arrays do not know.
        """
        spec: dict[str, dict[str, Any]] = {}
        parts: list[bytes] = []
        offset = 0
        for name, array in self.arrays.items():
            if str(array.dtype) not in DTYPES:
                raise TypeError(f"array {name!r} has dtype {array.dtype}; use one of {', '.join(DTYPES)}")
            raw = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<")).tobytes()
            spec[name] = {"dtype": str(array.dtype), "shape": list(array.shape), "offset": offset}
            padding = -len(raw) % 8
            parts.append(raw + bytes(padding))
            offset += len(raw) + padding
        return spec, b"".join(parts)


def unpacked(spec: Mapping[str, Mapping[str, Any]], data: bytes) -> dict[str, NDArray[Any]]:
    """The arrays that `Payload.packed` wrote."""
    arrays = {}
    for name, place in spec.items():
        shape = tuple(place["shape"])
        kind = np.dtype(place["dtype"]).newbyteorder("<")
        count = int(np.prod(shape))
        arrays[name] = np.frombuffer(data, dtype=kind, count=count, offset=place["offset"]).reshape(shape)
    return arrays
