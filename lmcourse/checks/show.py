"""Values as short texts for a table cell; elements that differ stand in brackets."""

from __future__ import annotations

import reprlib
from collections.abc import Collection
from textwrap import wrap
from typing import Any

import numpy as np
import torch

from lmcourse.checks.compare import Difference, describe, dtype_name

_ROWS = 12
_WIDTH = 42
_LONGEST = 4 * _WIDTH


def show(value: Any, difference: Difference | None = None) -> str:
    """The value in a few lines, cropped around the first element that differs."""
    path, places = (difference.path, difference.places) if difference else ((), ())
    return _show(value, path, places)


def _show(value: Any, path: tuple, places: Collection[tuple[int, ...]]) -> str:
    if isinstance(value, torch.Tensor | np.ndarray) and value.ndim:
        return _show_tensor(torch.as_tensor(value).detach().cpu(), describe(value), () if path else places)
    if isinstance(value, tuple | list) and any(isinstance(x, torch.Tensor | np.ndarray) for x in value):
        parts = []
        for i, part in enumerate(value):
            inner = places if path and path[0] == i else ()
            parts.append(f"[{i}] {_show(part, path[1:] if inner else (), inner)}")
        return "\n".join(parts)
    if isinstance(value, torch.Tensor | np.generic):
        value = value.item()
    if isinstance(value, float):
        return f"{value:.8g}"
    if value is None or isinstance(value, bool | int | str | list | tuple | dict):
        text = repr(value)
        return "\n".join(wrap(text if len(text) <= _LONGEST else text[:_LONGEST] + " ...", _WIDTH))
    return reprlib.repr(value) if callable(value) else describe(value)


def _show_tensor(tensor: torch.Tensor, kind: str, places: Collection[tuple[int, ...]]) -> str:
    name = f"{dtype_name(tensor)} {list(tensor.shape)}"
    if tensor.numel() == 0:
        return name
    legend = ["1 True", ". False"] if tensor.dtype == torch.bool else []
    legend += ["[ ] differs"] if places else []
    if legend:
        name += "\n" + ", ".join(legend)
    first = next(iter(places), (0,) * tensor.ndim)
    blocks = [name]
    for index in _slices(tensor, first):
        part = tensor[index]
        marks = {place[len(index) :] for place in places if place[: len(index)] == index}
        title = f"at {list(index)}:\n" if index else ""
        blocks.append(title + _grid(part, marks, first[len(index) :]))
    return "\n".join(blocks)


def _slices(tensor: torch.Tensor, first: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Indices of the matrices to show: all of a small tensor, else the one with the first difference."""
    if tensor.ndim <= 2:
        return [()]
    leading = tensor.shape[:-2]
    if leading.numel() * tensor.shape[-2] <= 2 * _ROWS:
        return [tuple(int(i) for i in np.unravel_index(k, leading)) for k in range(leading.numel())]
    return [first[: len(leading)]]


def _grid(part: torch.Tensor, marks: set[tuple[int, ...]], focus: tuple[int, ...]) -> str:
    if part.ndim == 1:
        part, marks, focus = part[None], {(0, *place) for place in marks}, (0, *focus)
    widest = max(len(_element(x)) for x in part[:_ROWS, :_WIDTH].flatten())
    rows = _window(part.shape[0], focus[0], _ROWS)
    columns = _window(part.shape[1], focus[1], max(1, _WIDTH // (widest + 2)))
    cells = [[_element(part[r, c]) for c in columns] for r in rows]
    width = max(len(cell) for row in cells for cell in row)
    lines = []
    for r, row in zip(rows, cells, strict=True):
        texts = []
        for c, cell in zip(columns, row, strict=True):
            texts.append(f"[{cell:>{width}}]" if (r, c) in marks else f" {cell:>{width}} ")
        lines.append("".join(texts).rstrip())
    if len(rows) < part.shape[0] or len(columns) < part.shape[1]:
        lines.append(f" (rows {rows[0]} to {rows[-1]}, columns {columns[0]} to {columns[-1]})")
    return "\n".join(lines)


def _window(size: int, focus: int, limit: int) -> range:
    start = 0 if size <= limit else min(max(0, focus - limit // 2), size - limit)
    return range(start, min(size, start + limit))


def _element(element: torch.Tensor) -> str:
    value = element.item()
    if isinstance(value, bool):
        return "1" if value else "."
    return f"{value:.4g}" if isinstance(value, float) else str(value)
