"""Values of public cases survive the way through JSON with dtype and shape."""

import json
import math

import numpy as np
import pytest
import torch

from lmcourse.checks.compare import difference
from lmcourse.checks.encoding import decode, encode

VALUES = [
    None,
    True,
    -7,
    "eos",
    0.1,
    math.inf,
    [],
    [[3, 1], [2]],
    (1, [2.5, "x"], None),
    {"a": 1, (2, 3): [4]},
    torch.tensor([[3, -1, 7], [0, 5, 5]]),
    torch.zeros(0, 9, dtype=torch.int64),
    torch.tensor(7),
    torch.tensor([[True, False]]),
    torch.tensor([0.1, math.nan, -math.inf], dtype=torch.float32),
    torch.tensor([1.5, -0.25], dtype=torch.bfloat16),
    torch.arange(24, dtype=torch.int32).reshape(2, 3, 4),
    np.array([[1, 2, 3]], dtype=np.uint16),
    np.float32(0.1),
]


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_round_trip(value):
    back = decode(json.loads(json.dumps(encode(value), allow_nan=False)))
    assert type(back) is type(value)
    assert difference(back, value) is None
    if isinstance(value, torch.Tensor):
        assert back.dtype == value.dtype and back.shape == value.shape


def test_a_generator_comes_back_fresh():
    generator = torch.Generator().manual_seed(91)
    back = decode(encode(generator))
    assert torch.equal(torch.rand(5, generator=back), torch.rand(5, generator=generator))


def test_a_used_generator_is_refused():
    generator = torch.Generator().manual_seed(91)
    torch.rand(5, generator=generator)
    with pytest.raises(ValueError, match="fresh"):
        encode(generator)


def test_what_has_no_encoding_is_named():
    with pytest.raises(TypeError, match="function"):
        encode([1, lambda: None])
    with pytest.raises(ValueError, match="not an encoded value"):
        decode({"data": []})
