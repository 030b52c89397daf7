"""Arguments and results of public checks as plain JSON, and back, with dtype and shape.

| value | JSON |
|---|---|
| None, bool, int, str | itself |
| float | itself; `{"float": "nan"}`, `"inf"`, `"-inf"` for what JSON cannot say |
| list | `[...]` |
| tuple | `{"tuple": [...]}` |
| dict | `{"dict": [[key, value], ...]}` |
| torch tensor | `{"tensor": "int64", "shape": [2, 3], "data": [...]}` |
| numpy array or scalar | `{"array": "float32", "shape": [...], "data": [...]}` |
| torch.Generator | `{"generator": seed}`, fresh from `manual_seed(seed)` |

The data of tensors and arrays is flat, in row-major order, with booleans as 0 and 1.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch


def encode(value: Any) -> Any:
    """The value as plain JSON data.

    Raises:
        TypeError: a kind of value that is not in the table above.
        ValueError: a generator that has been used already.
    """
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, np.generic | np.ndarray):
        data = [_element(x) for x in np.asarray(value).ravel().tolist()]
        return {"array": str(value.dtype), "shape": list(value.shape), "data": data}
    if isinstance(value, float):
        return _plain(value)
    if isinstance(value, torch.Tensor):
        data = [_element(x) for x in value.detach().cpu().flatten().tolist()]
        return {"tensor": str(value.dtype).removeprefix("torch."), "shape": list(value.shape), "data": data}
    if isinstance(value, list):
        return [encode(x) for x in value]
    if isinstance(value, tuple):
        return {"tuple": [encode(x) for x in value]}
    if isinstance(value, dict):
        return {"dict": [[encode(key), encode(x)] for key, x in value.items()]}
    if isinstance(value, torch.Generator):
        return {"generator": _seed(value)}
    raise TypeError(f"a public case cannot hold a {type(value).__name__}")


def decode(data: Any) -> Any:
    """A fresh value from what `encode` made.

    Raises:
        ValueError: data that `encode` does not make.
    """
    if isinstance(data, list):
        return [decode(x) for x in data]
    if not isinstance(data, dict):
        return data
    if "float" in data:
        return float(data["float"])
    if "tuple" in data:
        return tuple(decode(x) for x in data["tuple"])
    if "dict" in data:
        return {_hashable(decode(key)): decode(x) for key, x in data["dict"]}
    if "tensor" in data:
        flat = [decode(x) for x in data["data"]]
        return torch.tensor(flat, dtype=getattr(torch, data["tensor"])).reshape(data["shape"])
    if "array" in data:
        flat = [decode(x) for x in data["data"]]
        array = np.array(flat, dtype=data["array"]).reshape(data["shape"])
        return array if data["shape"] else array[()]
    if "generator" in data:
        return torch.Generator().manual_seed(data["generator"])
    raise ValueError(f"not an encoded value: keys {sorted(data)}")


def _element(value: Any) -> Any:
    if isinstance(value, bool | int | str):
        return int(value) if isinstance(value, bool) else value
    if isinstance(value, float):
        return _plain(value)
    raise TypeError(f"a public case cannot hold an element of type {type(value).__name__}")


def _plain(value: float) -> Any:
    return value if math.isfinite(value) else {"float": str(value)}


def _seed(generator: torch.Generator) -> int:
    seed = generator.initial_seed()
    if not torch.equal(torch.Generator().manual_seed(seed).get_state(), generator.get_state()):
        raise ValueError("a generator in a public case must be fresh from manual_seed(seed)")
    return seed


def _hashable(key: Any) -> Any:
    return tuple(key) if isinstance(key, list) else key
