import json
import math
import struct
from contextlib import suppress
from fractions import Fraction

import numpy as np
import pytest
import torch

from autograde.worker import codec


def round_trip(value):
    return codec.loads(codec.dumps(value))


PLAIN = [
    None, True, False, 0, -(2**70), 1.5, -0.0, 1e-320, "", "ů\ud800\0", b"\0\xff", 3 - 4j,
    Fraction(-127, 128), [], (), {}, [1, [2, (3, {"a": None})]], {1: "x", (2, "y"): [True], None: 0.1},
    {1, 2}, (1, [2.0], "3"),
]  # fmt: skip


@pytest.mark.parametrize("value", PLAIN, ids=repr)
def test_plain_values_come_back_with_their_types(value):
    again = round_trip(value)
    assert again == value and repr(again) == repr(value)


def test_floats_that_are_no_numbers_survive():
    nan, inf, minus = round_trip([math.nan, math.inf, -math.inf])
    assert math.isnan(nan) and inf == math.inf and minus == -math.inf


@pytest.mark.parametrize("dtype", codec._TORCH_DTYPES.values(), ids=str)
@pytest.mark.parametrize("shape", [(), (0, 3), (2, 3, 5)])
def test_tensors_of_every_dtype_are_bit_equal(dtype, shape):
    tensor = (torch.rand(shape, generator=torch.Generator().manual_seed(1)) * 9 - 4).to(dtype)
    again = round_trip(tensor)
    assert again.dtype == dtype and again.shape == tensor.shape
    assert torch.equal(again, tensor)


def test_a_view_arrives_as_its_elements_only():
    base = torch.arange(1_000_000).reshape(1000, 1000)
    data = codec.dumps(base.T[3:5, ::2])
    assert len(data) < 20_000
    assert torch.equal(codec.loads(data), base.T[3:5, ::2])


def test_tensor_with_history_arrives_without_it():
    tensor = torch.ones(3, requires_grad=True) * 2
    assert not round_trip(tensor).requires_grad


@pytest.mark.parametrize("name", codec._NUMPY_DTYPES)
def test_numpy_arrays_and_scalars_keep_dtype_and_kind(name):
    array = np.array([[1, 0, 7]], dtype=name)
    again = round_trip(array)
    assert isinstance(again, np.ndarray) and again.dtype == array.dtype and np.array_equal(again, array)
    scalar = round_trip(array[0, 2])
    assert isinstance(scalar, np.generic) and scalar.dtype == array.dtype and scalar == array[0, 2]


def test_big_endian_array_is_the_same_numbers():
    assert np.array_equal(round_trip(np.array([1.5, -2.0], dtype=">f8")), [1.5, -2.0])


def test_generator_continues_where_it_was():
    generator = torch.Generator().manual_seed(7)
    torch.rand(3, generator=generator)
    again = round_trip(generator)
    assert torch.equal(torch.rand(4, generator=again), torch.rand(4, generator=generator))


def test_subclasses_arrive_as_plain_types():
    class Everything(int):
        def __eq__(self, other):
            return True

        __hash__ = int.__hash__

    class Text(str):
        __slots__ = ()

    again = round_trip([Everything(3), Text("a"), range(3)])
    assert [type(v) for v in again] == [int, str, list] and again == [3, "a", [0, 1, 2]]


def test_functions_cross_by_name_only_where_allowed():
    with pytest.raises(codec.Unencodable):
        codec.dumps(len)
    functions = {}
    data = codec.dumps([len, max], functions)
    assert list(functions.values()) == [len, max]
    assert codec.loads(data, lambda name: functions[name]) == [len, max]
    with pytest.raises(codec.BadMessage):
        codec.loads(data)


def _endless():
    value = []
    value.append(value)
    return value


@pytest.mark.parametrize(
    "value",
    [object(), _endless(), 1 << 10_000, np.array([object()]), {i: 0 for i in range(10_001)},
     torch.ones(2, 2).to_sparse(), torch.empty(2, device="meta")],
    ids=["object", "endless list", "long int", "object array", "many keys", "sparse", "meta"],
)  # fmt: skip
def test_what_cannot_cross_is_refused_in_words(value):
    with pytest.raises(codec.Unencodable, match="a "):
        codec.dumps(value)


def test_size_and_number_of_parts_are_capped():
    caps = codec.Caps(bytes=1000, nodes=50)
    for value in (torch.zeros(300), "x" * 2000, list(range(60)), [[0.1] * 49] * 3, np.zeros(300)):
        with pytest.raises(codec.Unencodable):
            codec.dumps(value, caps=caps)


def message(tree, buffers=b"", length=None):
    text = json.dumps(tree).encode() if not isinstance(tree, bytes) else tree
    return struct.pack(">I", len(text) if length is None else length) + text + buffers


HOSTILE = {
    "nothing": b"",
    "tree longer than the message": message({}, length=10_000),
    "no JSON": message(b"{"),
    "not ASCII": message("ů".encode()),
    "unknown kind": message({"q": 1}),
    "bare list": message([1]),
    "empty object": message({}),
    "deep": message(b'{"l":[' * 5000 + b"1" + b"]}" * 5000),
    "deep beyond JSON": message(b"[" * 200_000),
    "long number": message(b"1" * 100_000),
    "shape of another size": message({"T": "int64", "S": [3], "n": 8}, bytes(8)),
    "negative shape": message({"T": "int64", "S": [-1, -1], "n": 8}, bytes(8)),
    "float shape": message({"T": "int64", "S": [1.0], "n": 8}, bytes(8)),
    "true as a shape": message({"T": "int64", "S": [True], "n": 8}, bytes(8)),
    "huge empty shape": message({"T": "int64", "S": [2**62, 2**62, 0], "n": 0}),
    "unknown dtype": message({"T": "object", "S": [], "n": 8}, bytes(8)),
    "numpy object dtype": message({"a": "O", "S": [1], "n": 8}, bytes(8)),
    "buffer that is not there": message({"T": "int64", "S": [1], "n": 8}),
    "buffer twice": message({"l": [{"b": 4}, {"b": 4}]}, b"1234"),
    "bytes left over": message(1, b"1234"),
    "negative buffer": message({"b": -4}, b"1234"),
    "generator of garbage": message({"g": 16}, bytes(16)),
    "unhashable key": message({"d": [[{"l": []}, 1]]}),
    "fraction by zero": message({"f": [1, 0]}),
    "a function": message({"c": "callback0"}),
    "missing size": message({"T": "int64", "S": []}),
    "many keys": message({"d": [[i, 0] for i in range(10_001)]}),
}


@pytest.mark.parametrize("data", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_bytes_end_as_bad_message(data):
    try:
        value = codec.loads(data)
    except codec.BadMessage:
        return
    # An empty tensor of a silly shape is harmless if torch takes it; nothing else may get here.
    assert isinstance(value, torch.Tensor) and value.numel() == 0


def test_random_damage_never_raises_anything_else():
    rng = np.random.default_rng(3)
    whole = codec.dumps({"a": [torch.arange(5), np.float32(2.5)], "b": (b"xyz", {1: "ů"})})
    for _ in range(2000):
        damaged = bytearray(whole)
        for place in rng.integers(0, len(whole), rng.integers(1, 5)):
            damaged[place] = rng.integers(0, 256)
        with suppress(codec.BadMessage):
            codec.loads(bytes(damaged[: rng.integers(1, len(whole) + 1)]))


def test_booleans_with_odd_bytes_are_plain_booleans():
    tensor = codec.loads(message({"T": "bool", "S": [3], "n": 3}, b"\x00\x02\xff"))
    assert tensor.view(torch.uint8).tolist() == [0, 1, 1]


def test_a_small_message_does_not_unfold_into_much_memory_before_it_is_refused(monkeypatch):
    tree = b'{"l":[' + b"[]," * 5_000_000 + b"[]]}"
    monkeypatch.setattr(codec.json, "loads", lambda text: pytest.fail("parsed"))
    with pytest.raises(codec.BadMessage, match="too many parts"):
        codec.loads(struct.pack(">I", len(tree)) + tree)
