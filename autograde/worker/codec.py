"""Values as bytes and back: a JSON tree, then raw buffers in the order in which the tree names them.

Layout: 4 bytes length of the tree (big endian), the tree as ASCII JSON, the buffers one after another. A
buffer belongs to exactly one node and they are read in order, so a forged tree cannot make a small message
unfold into a large one. Every number that the reader trusts is checked against the bytes that are really
there. Nothing is ever unpickled.

What crosses: None, bool, int, float, complex, str, bytes, Fraction, list, tuple, dict, set, range (as a
list), numpy arrays and scalars, torch tensors (dense, bfloat16 too), torch.Generator (by state), and
functions by name only. Subclasses arrive as the plain type, without their methods.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import torch

MAX_DEPTH = 50
MAX_KEYS = 10_000  # of one dict or set: colliding keys must not cost the reader hours
MAX_SAME_HASH = 64  # among the keys of one dict or set, beyond those that are equal
MAX_INT_BITS = 8_192
MAX_BRACKETS = 4  # in the tree, for each part that it may have: a node needs two, texts may hold more


@dataclass(frozen=True)
class Caps:
    """How much one message may hold."""

    bytes: int = 64 * 2**20
    nodes: int = 1_000_000


CAPS = Caps()
ENVELOPE_CAPS = Caps(bytes=CAPS.bytes + 2**16)  # a message around a message

_TORCH_DTYPES = {
    str(dtype).removeprefix("torch."): dtype
    for dtype in (
        torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64,
        torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64, torch.complex128,
    )
}  # fmt: skip
_NUMPY_DTYPES = {
    name: np.dtype(name)
    for name in (
        "bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64",
        "float16", "float32", "float64", "complex64", "complex128",
    )
}  # fmt: skip


class Unencodable(Exception):
    """This value cannot cross; the message says why, in words for the student."""


class BadMessage(Exception):
    """These bytes are no message of this format."""


def dumps(value: Any, callbacks: dict[str, Callable] | None = None, caps: Caps = CAPS) -> bytes:
    """The bytes of `value`. Functions are put into `callbacks` and travel as their name there.

    Raises:
        Unencodable: a type that does not cross, a function where `callbacks` is None, too deep or too large.
    """
    writer = _Writer(callbacks, caps)
    tree = json.dumps(writer.node(value, 0), separators=(",", ":")).encode("ascii")
    if len(tree) + writer.size > caps.bytes:
        raise Unencodable(f"a value of more than {caps.bytes / 2**20:g} MiB")
    return b"".join([struct.pack(">I", len(tree)), tree, *writer.buffers])


def loads(data: bytes, bind: Callable[[str], Callable] | None = None, caps: Caps = CAPS) -> Any:
    """The value in `data`; `bind` turns the name of a function into something to call.

    Raises:
        BadMessage: whatever else the bytes are; no other exception leaves here.
    """
    if len(data) > caps.bytes + 4 or len(data) < 4:
        raise BadMessage("the size is out of range")
    (length,) = struct.unpack(">I", data[:4])
    if length > len(data) - 4:
        raise BadMessage("the tree is longer than the message")
    # In Python's memory an empty list takes twenty times its two characters: count before parsing.
    opened = data.count(b"[", 4, 4 + length) + data.count(b"{", 4, 4 + length)
    if opened > MAX_BRACKETS * caps.nodes:
        raise BadMessage("too many parts")
    try:
        tree = json.loads(data[4 : 4 + length].decode("ascii"))
        reader = _Reader(memoryview(data)[4 + length :], bind, caps)
        value = reader.node(tree, 0)
    except BadMessage:
        raise
    except (ValueError, TypeError, KeyError, RuntimeError, OverflowError, MemoryError) as error:
        raise BadMessage(f"{type(error).__name__} while reading it") from error
    if reader.at != len(reader.buffer):
        raise BadMessage("bytes are left over")
    return value


class _Writer:
    def __init__(self, callbacks: dict[str, Callable] | None, caps: Caps) -> None:
        self.callbacks = callbacks
        self.caps = caps
        self.buffers: list[bytes] = []
        self.size = 0
        self.nodes = 0

    def node(self, value: Any, depth: int) -> Any:
        self.nodes += 1
        if depth > MAX_DEPTH:
            raise Unencodable(f"a value nested more than {MAX_DEPTH} levels deep")
        if self.nodes > self.caps.nodes:
            raise Unencodable(f"a value of more than {self.caps.nodes} parts")
        if value is None or value is True or value is False:
            return value
        if isinstance(value, torch.Tensor):
            return self.tensor(value)
        if isinstance(value, np.generic | np.ndarray):  # before float: np.float64 is a float
            return self.array(value)
        if isinstance(value, int):
            if int.bit_length(value) > MAX_INT_BITS:
                raise Unencodable(f"a whole number of more than {MAX_INT_BITS} bits")
            return int.__int__(value)
        if isinstance(value, float):
            return float.__float__(value)
        if isinstance(value, str):
            self.grow(len(value))
            return str.__str__(value)
        return self.container(value, depth + 1)

    def container(self, value: Any, depth: int) -> dict:
        if isinstance(value, list | range):
            return {"l": [self.node(v, depth) for v in value]}
        if isinstance(value, tuple):
            return {"t": [self.node(v, depth) for v in value]}
        if isinstance(value, Mapping):
            self.check_keys(len(value))
            return {"d": [[self.node(k, depth), self.node(v, depth)] for k, v in value.items()]}
        if isinstance(value, set | frozenset):
            self.check_keys(len(value))
            return {"s": [self.node(v, depth) for v in value]}
        if isinstance(value, bytes | bytearray | memoryview):
            return {"b": self.buffer(bytes(value))}
        if isinstance(value, complex):
            return {"z": [value.real, value.imag]}
        if isinstance(value, Fraction):
            return {"f": [self.node(value.numerator, depth), self.node(value.denominator, depth)]}
        if isinstance(value, torch.Generator):
            return {"g": self.buffer(value.get_state().numpy().tobytes())}
        if callable(value) and self.callbacks is not None:
            name = f"callback{len(self.callbacks)}"
            self.callbacks[name] = value
            return {"c": name}
        raise Unencodable(f"a value of type {type(value).__name__}")

    def tensor(self, value: torch.Tensor) -> dict:
        name = str(value.dtype).removeprefix("torch.")
        if name not in _TORCH_DTYPES or value.layout is not torch.strided or value.is_meta:
            raise Unencodable(f"a tensor of dtype {name} and layout {value.layout}")
        self.grow(value.numel() * value.element_size())  # a view may claim more than there is
        flat = value.detach().resolve_conj().resolve_neg().cpu().contiguous().reshape(-1)
        raw = flat.view(torch.uint8).numpy().tobytes() if flat.numel() else b""
        return {"T": name, "S": list(value.shape), "n": self.buffer(raw, counted=True)}

    def array(self, value: np.ndarray | np.generic) -> dict:
        plain = np.asarray(value)
        if plain.dtype.name not in _NUMPY_DTYPES:
            raise Unencodable(f"a numpy array of dtype {plain.dtype.name}")
        self.grow(plain.nbytes)
        raw = plain.astype(plain.dtype.newbyteorder("="), copy=False).tobytes()
        kind = "x" if isinstance(value, np.generic) else "a"
        return {kind: plain.dtype.name, "S": list(plain.shape), "n": self.buffer(raw, counted=True)}

    def buffer(self, raw: bytes, counted: bool = False) -> int:
        if not counted:
            self.grow(len(raw))
        self.buffers.append(raw)
        return len(raw)

    def grow(self, n_bytes: int) -> None:
        self.size += n_bytes
        if self.size > self.caps.bytes:
            raise Unencodable(f"a value of more than {self.caps.bytes / 2**20:g} MiB")

    @staticmethod
    def check_keys(n_keys: int) -> None:
        if n_keys > MAX_KEYS:
            raise Unencodable(f"a dict or set of more than {MAX_KEYS} entries")


def _check_hashes(keys: list) -> None:
    """Keys can be chosen so that all their hashes are equal; a table of them takes quadratic time."""
    if len(keys) - len({hash(key) for key in keys}) > MAX_SAME_HASH:
        raise BadMessage("keys that collide")


class _Reader:
    def __init__(self, buffer: memoryview, bind: Callable[[str], Callable] | None, caps: Caps) -> None:
        self.buffer = buffer
        self.bind = bind
        self.caps = caps
        self.at = 0
        self.nodes = 0

    def node(self, tree: Any, depth: int) -> Any:
        self.nodes += 1
        if depth > MAX_DEPTH or self.nodes > self.caps.nodes:
            raise BadMessage("too deep or too many parts")
        if tree is None or isinstance(tree, bool | int | float | str):
            return tree
        if not isinstance(tree, dict) or not tree:
            raise BadMessage("a node of an unknown kind")
        kind = next(iter(tree))
        body = tree[kind]
        if kind in ("T", "a", "x"):
            return self.numbers(kind, body, tree["S"], tree["n"])
        if kind in ("b", "g"):
            return self.raw(kind, body)
        if kind == "c":
            if self.bind is None or not isinstance(body, str):
                raise BadMessage("a function where none may come")
            return self.bind(body)
        if not isinstance(body, list):
            raise BadMessage("a container without a list")
        return self.container(kind, body, depth + 1)

    def container(self, kind: str, body: list, depth: int) -> Any:
        if kind == "l":
            return [self.node(v, depth) for v in body]
        if kind == "t":
            return tuple(self.node(v, depth) for v in body)
        if kind in ("d", "s") and len(body) > MAX_KEYS:
            raise BadMessage("too many keys")
        if kind == "d":
            pairs = [(self.node(k, depth), self.node(v, depth)) for k, v in body]
            _check_hashes([key for key, _ in pairs])
            return dict(pairs)
        if kind == "s":
            members = [self.node(v, depth) for v in body]
            _check_hashes(members)
            return set(members)
        if kind == "z":
            real, imaginary = body
            return complex(float(real), float(imaginary))
        if kind == "f":
            numerator, denominator = (self.node(v, depth) for v in body)
            if type(numerator) is not int or type(denominator) is not int or denominator == 0:
                raise BadMessage("a fraction that is none")
            return Fraction(numerator, denominator)
        raise BadMessage("a node of an unknown kind")

    def numbers(self, kind: str, name: Any, shape: Any, n_bytes: Any) -> Any:
        table = _TORCH_DTYPES if kind == "T" else _NUMPY_DTYPES
        if not isinstance(name, str) or name not in table or not isinstance(shape, list) or len(shape) > 32:
            raise BadMessage("an array of an unknown dtype or shape")
        if any(type(size) is not int or size < 0 for size in shape):
            raise BadMessage("an array with a wrong shape")
        dtype = table[name]
        if type(n_bytes) is not int or math.prod(shape) * dtype.itemsize != n_bytes:
            raise BadMessage("an array whose bytes do not fit its shape")
        raw = bytearray(self.take(n_bytes))
        if name == "bool":  # a byte 2 would be "true" and yet unequal to true
            raw = bytearray(np.frombuffer(raw, np.uint8).astype(bool).tobytes())
        if kind == "T":
            if not raw:
                return torch.empty(shape, dtype=dtype)
            return torch.frombuffer(raw, dtype=dtype).reshape(shape)
        array = np.frombuffer(raw, dtype).reshape(shape)
        return array[()] if kind == "x" else array

    def raw(self, kind: str, n_bytes: Any) -> Any:
        if type(n_bytes) is not int or n_bytes < 0:
            raise BadMessage("a buffer of a wrong size")
        data = bytes(self.take(n_bytes))
        if kind == "b":
            return data
        generator = torch.Generator()
        generator.set_state(torch.frombuffer(bytearray(data), dtype=torch.uint8))
        return generator

    def take(self, n_bytes: int) -> memoryview:
        if n_bytes > len(self.buffer) - self.at:
            raise BadMessage("a buffer that is not there")
        part = self.buffer[self.at : self.at + n_bytes]
        self.at += n_bytes
        return part
