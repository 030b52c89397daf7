"""All back-ends of attention give the same values and the same gradients."""

import pytest
import torch

from lmcourse.errors import CourseError
from lmcourse.model import Transformer, TransformerConfig
from lmcourse.model.attend import LONG_ROWS, SHORT_ROWS, _choose, plan_attention
from lmcourse.model.by_document import ByDocument

H, D = 3, 8
ROWS = {
    "one document": [[17]],
    "single tokens": [[1, 1, 1, 14], [1] * 17],
    "unequal": [[9, 1, 5, 2], [3, 3, 3, 8], [16, 1]],
    "padded": [[4, 5, *[1] * 8], [17]],
}


def ids_of(rows: list[list[int]]) -> torch.Tensor:
    return torch.stack([torch.repeat_interleave(torch.arange(len(r)), torch.tensor(r)) for r in rows])


def inputs(B: int, T: int, dtype=torch.float32) -> tuple[torch.Tensor, ...]:
    generator = torch.Generator().manual_seed(B * T)
    return tuple(torch.randn(B, T, H, D, generator=generator, dtype=dtype) for _ in range(4))


def by_definition(q, k, v, doc_id):
    """The formula, query by query, in float64."""
    out = torch.zeros_like(v)
    B, T = doc_id.shape
    for b in range(B):
        for i in range(T):
            seen = [j for j in range(i + 1) if doc_id[b, j] == doc_id[b, i]]
            for h in range(H):
                weights = (k[b, seen, h] @ q[b, i, h] / D**0.5).softmax(0)
                out[b, i, h] = weights @ v[b, seen, h]
    return out


@pytest.mark.parametrize("rows", ROWS.values(), ids=ROWS)
@pytest.mark.parametrize("backend", ["mask", "documents", "plain"])
def test_backends_are_the_definition(rows, backend):
    doc_id = ids_of(rows)
    q, k, v, _ = inputs(*doc_id.shape, dtype=torch.float64)
    attend = plan_attention(doc_id, doc_id, torch.float64, backend)
    expected = by_definition(q, k, v, doc_id)
    assert (attend(q, k, v, 0.0) - expected).abs().max() <= 1e-12


@pytest.mark.parametrize("rows", ROWS.values(), ids=ROWS)
@pytest.mark.parametrize("backend", ["documents", "plain"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_gradients_are_those_of_the_reference(rows, backend, dtype):
    doc_id = ids_of(rows)
    *qkv, weight = inputs(*doc_id.shape)

    def gradients(name: str, dtype: torch.dtype) -> list[torch.Tensor]:
        leaves = [x.clone().requires_grad_() for x in qkv]
        mixed = plan_attention(doc_id, doc_id, dtype, name)(*(x.to(dtype) for x in leaves), 0.0)
        (mixed.float() * weight).sum().backward()
        return [x.grad for x in leaves]

    tolerance = 2e-5 if dtype == torch.float32 else 0.06  # a few bfloat16 steps of values around 4
    for got, expected in zip(gradients(backend, dtype), gradients("mask", torch.float32), strict=True):
        assert got.isfinite().all()
        assert (got - expected).abs().max() <= tolerance


def test_documents_may_be_scattered_over_their_row():
    generator = torch.Generator().manual_seed(3)
    doc_id = torch.randint(-4, 9, (4, 33), generator=generator)  # in any order, some below 0
    q, k, v, _ = inputs(4, 33)
    expected = plan_attention(doc_id, doc_id, q.dtype, "mask")(q, k, v, 0.0)
    assert torch.allclose(ByDocument(doc_id)(q, k, v, 0.0), expected, atol=1e-6)


@pytest.mark.parametrize("backend", ["documents", "plain"])
def test_without_documents_it_is_causal_attention(backend):
    tokens = torch.zeros(2, 37, dtype=torch.int64)
    q, k, v, _ = inputs(2, 37)
    expected = plan_attention(None, tokens, q.dtype, "causal")(q, k, v, 0.0)
    assert torch.allclose(plan_attention(None, tokens, q.dtype, backend)(q, k, v, 0.0), expected, atol=1e-6)


def test_long_rows_cost_what_their_documents_cost():
    """Groups of documents within a quarter of each other compute at most 1.25**2 of the pairs needed."""
    generator = torch.Generator().manual_seed(0)
    lengths = torch.randint(1, 400, (60,), generator=generator)
    doc_id = torch.repeat_interleave(torch.arange(60), lengths)[None]
    plan = ByDocument(doc_id)
    computed = sum(documents * L**2 for documents, L in plan.shapes)
    assert computed <= 1.5625 * int((lengths**2).sum())
    assert sum(n for n, _ in plan.shapes) == 60


def test_choice_of_the_backend():
    def chosen(T: int, dtype: torch.dtype, documents: bool) -> str:
        tokens = torch.zeros(1, T, dtype=torch.int64)
        return _choose(tokens if documents else None, tokens, dtype)

    assert chosen(LONG_ROWS, torch.float32, True) == "documents"
    assert chosen(LONG_ROWS - 1, torch.float32, True) == "mask"
    assert chosen(LONG_ROWS, torch.float32, False) == "causal"
    assert chosen(SHORT_ROWS, torch.bfloat16, True) == chosen(SHORT_ROWS, torch.bfloat16, False) == "plain"


def test_a_model_gives_the_same_logits_with_each():
    config = TransformerConfig(30, context=64, layers=2, heads=2, width=16)
    tokens = torch.randint(30, (2, 64), generator=torch.Generator().manual_seed(0))
    doc_id = ids_of([[30, 1, 33], [5, 59]])
    logits = {
        b: Transformer(config, attention=b)(tokens, None, doc_id) for b in ("mask", "documents", "plain")
    }
    assert (logits["documents"] - logits["mask"]).abs().max() <= 1e-5
    assert (logits["plain"] - logits["mask"]).abs().max() <= 1e-5


@pytest.mark.parametrize(
    ("backend", "message"),
    [("masks", "expected one of"), ("causal", "documents"), ("flex", "GPU"), ("varlen", "GPU")],
)
def test_a_wrong_backend_is_one_line(backend, message):
    tokens = torch.zeros(1, 4, dtype=torch.int64)
    with pytest.raises(CourseError, match=message):
        plan_attention(tokens, tokens, torch.float32, backend)
