"""W1.4, the document mask: query i may attend to key j when j <= i and both belong to the same document."""

from __future__ import annotations

import torch
from torch import Tensor

from autograde import expect
from autograde.exercise import Answer, Draw, HiddenExercise
from autograde.weeks.week01.documents import rows_of_ids
from lmcourse.packing import document_mask

EXERCISE = HiddenExercise(
    "W1.4",
    manners_points=1,
    forbidden=("lmcourse.packing.document_mask",),
    instead="Compare document numbers and places, and combine the two yourself.",
)


EXERCISE.set_reference(document_mask)


@EXERCISE.variant("loops", "writes one entry at a time")
def _(doc_id):
    B, T = doc_id.shape
    mask = torch.zeros(B, T, T, dtype=torch.bool)
    for b in range(B):
        for i in range(T):
            for j in range(i + 1):
                mask[b, i, j] = bool(doc_id[b, i] == doc_id[b, j])
    return mask


@EXERCISE.variant("indices", "compares position indices instead of a triangular matrix, in place")
def _(doc_id):
    places = torch.arange(doc_id.shape[1])
    mask = doc_id.unsqueeze(2).eq(doc_id.unsqueeze(1))
    mask &= places[:, None] >= places[None, :]
    return mask


@EXERCISE.variant("integers", "multiplies 0 and 1 and makes booleans at the end")
def _(doc_id):
    T = doc_id.shape[1]
    same = (doc_id[:, :, None] - doc_id[:, None, :] == 0).long()
    return (same * torch.tril(torch.ones(T, T, dtype=torch.long))).bool()


# Mutants.


def _same(doc_id: Tensor) -> Tensor:
    return doc_id[:, :, None] == doc_id[:, None, :]


def _causal(T: int) -> Tensor:
    return torch.ones(T, T, dtype=torch.bool).tril()


@EXERCISE.mutant(
    "block only",
    "Your mask lets a token look at later tokens of its own document: the block is there, the causal part "
    "is not, so the model reads the answer that it should predict.",
)
def _(doc_id):
    return _same(doc_id)


@EXERCISE.mutant(
    "causal only",
    "Your mask lets a token look at every earlier token of the row, also at those of other documents: "
    "the document ids are not used.",
)
def _(doc_id):
    B, T = doc_id.shape
    return _causal(T).expand(B, T, T).clone()


@EXERCISE.mutant(
    "transposed",
    "Your mask is transposed: dimension 1 must be the query and dimension 2 the key, so each token now "
    "looks at the later tokens of its document instead of the earlier ones.",
)
def _(doc_id):
    return (_same(doc_id) & _causal(doc_id.shape[1])).transpose(1, 2)


@EXERCISE.mutant(
    "strict",
    "Your mask uses j < i, so no token sees itself; the first token of each document sees nothing at all, "
    "and a softmax over nothing is nan.",
)
def _(doc_id):
    T = doc_id.shape[1]
    return _same(doc_id) & torch.ones(T, T, dtype=torch.bool).tril(-1)


@EXERCISE.mutant(
    "triangle one too high",
    "Your triangle reaches one too far: each token also sees the next token, which is the one it has to "
    "predict.",
)
def _(doc_id):
    T = doc_id.shape[1]
    return _same(doc_id) & torch.ones(T, T, dtype=torch.bool).tril(1)


@EXERCISE.mutant(
    "boundary one late",
    "Your boundary is one token late: the first token of each document still counts as part of the "
    "document before.",
)
def _(doc_id):
    shifted = torch.cat([doc_id[:, :1], doc_id[:, :-1]], dim=1)
    return _same(shifted) & _causal(doc_id.shape[1])


@EXERCISE.mutant(
    "boundary one early",
    "Your boundary is one token early: the last token of each document (its eos) already counts as part of "
    "the next one.",
)
def _(doc_id):
    shifted = torch.cat([doc_id[:, 1:], doc_id[:, -1:]], dim=1)
    return _same(shifted) & _causal(doc_id.shape[1])


@EXERCISE.mutant(
    "neighboring document",
    "Your mask also lets a token look at the document just before its own: ids that differ by one count as "
    "equal.",
)
def _(doc_id):
    distance = (doc_id[:, :, None] - doc_id[:, None, :]).abs()
    return (distance <= 1) & _causal(doc_id.shape[1])


@EXERCISE.mutant(
    "first row for all",
    "Your mask takes the document ids of the first row of the batch for every row.",
)
def _(doc_id):
    B, T = doc_id.shape
    return (_same(doc_id[:1]) & _causal(T)).expand(B, T, T).clone()


@EXERCISE.mutant(
    "inverted",
    "Your mask is inverted: True must mean that the query MAY look at the key. Some libraries use True for "
    "'masked out', scaled_dot_product_attention does not.",
)
def _(doc_id):
    return ~(_same(doc_id) & _causal(doc_id.shape[1]))


@EXERCISE.mutant(
    "previous token only",
    "Your mask lets a token see only itself and the token before it: comparing neighbors finds the "
    "boundaries, but a token may look at all earlier tokens of its document.",
)
def _(doc_id):
    T = doc_id.shape[1]
    return _same(doc_id) & torch.ones(T, T, dtype=torch.bool).tril().triu(-1)


@EXERCISE.mutant(
    "ids in order",
    "Your mask compares the ids with >= instead of ==: an earlier document then counts as visible whenever "
    "its id is smaller.",
)
def _(doc_id):
    return (doc_id[:, :, None] >= doc_id[:, None, :]) & _causal(doc_id.shape[1])


@EXERCISE.mutant(
    "first document only",
    "Your mask leaves all but the first document of a row without anything to look at: a row of False "
    "gives nan in a softmax.",
)
def _(doc_id):
    first = doc_id == doc_id[:, :1]
    return first[:, :, None] & first[:, None, :] & _causal(doc_id.shape[1])


@EXERCISE.mutant(
    "runs instead of ids",
    "Your mask numbers the runs of equal ids, so the same id further on in the row counts as another "
    "document; the contract compares the ids themselves.",
)
def _(doc_id):
    change = torch.zeros_like(doc_id)
    change[:, 1:] = doc_id[:, 1:] != doc_id[:, :-1]
    return _same(change.cumsum(1)) & _causal(doc_id.shape[1])


@EXERCISE.mutant(
    "ids as float32",
    "Your mask compares the ids as float32, which cannot tell whole numbers above 16,777,216 apart: two "
    "documents with large ids become one.",
)
def _(doc_id):
    return _same(doc_id.float()) & _causal(doc_id.shape[1])


@EXERCISE.mutant(
    "int64 mask",
    "Your mask holds 0 and 1 as int64. Attention functions add a mask of numbers to the scores and only a "
    "mask of booleans switches entries off: nothing would be masked.",
)
def _(doc_id):
    return (_same(doc_id) & _causal(doc_id.shape[1])).long()


@EXERCISE.mutant(
    "additive mask",
    "Your mask is the additive form (0 and -inf). The contract asks for booleans, True = may attend.",
)
def _(doc_id):
    seen = _same(doc_id) & _causal(doc_id.shape[1])
    return torch.zeros(seen.shape).masked_fill(~seen, float("-inf"))


@EXERCISE.mutant(
    "head dimension",
    "Your mask has an extra dimension of heads, (B, 1, T, T); the contract asks for (B, T, T).",
)
def _(doc_id):
    return (_same(doc_id) & _causal(doc_id.shape[1])).unsqueeze(1)


@EXERCISE.mutant(
    "kept by shape",
    "Your function keeps the mask of an earlier call and returns it again for any batch of the same shape; "
    "the boundaries lie elsewhere in the next batch.",
)
def _(doc_id, kept={}):  # noqa: B006 (the mutable default is the mistake)
    return kept.setdefault(doc_id.shape, _same(doc_id) & _causal(doc_id.shape[1])).clone()


@EXERCISE.mutant(
    "changes the ids",
    "Your function writes into doc_id, which the caller still needs for the positions and the loss mask: "
    "work on a copy.",
)
def _(doc_id):
    mask = _same(doc_id) & _causal(doc_id.shape[1])
    doc_id -= doc_id[:, :1].clone()
    return mask


# Properties.


@EXERCISE.property("dtype and shape", 2)
def _(answer: Answer, draw: Draw) -> None:
    rng = draw.rng
    for B, T in ((1, 1), (2, 5), (5, 2)):
        case = expect.case(draw, B=B, T=T)
        mask = answer(rows_of_ids(rng, B, T))
        hint = "The dimensions are batch, query, key."
        expect.shape(mask, (B, T, T), what="the mask", case=case, hint=hint)
        hint = "True means that the query may look at the key."
        expect.dtype(mask, torch.bool, what="the mask", case=case, hint=hint)


@EXERCISE.property("causal inside one document", 3)
def _(answer: Answer, draw: Draw) -> None:
    rng = draw.rng
    for B, T in ((1, 1), (1, 4), (2, 9)):
        ids = torch.from_numpy(rng.integers(0, 50, size=(B, 1))).repeat(1, T)
        _compare(answer(ids), ids, expect.case(draw, "one document a row", B=B, T=T))


@EXERCISE.property("documents do not see each other", 3)
def _(answer: Answer, draw: Draw) -> None:
    rng = draw.rng
    for T in (3, 8, 13, 40):
        for consecutive in (True, False):
            ids = rows_of_ids(rng, 1, T, mean_length=3, consecutive=consecutive)
            _compare(answer(ids), ids, expect.case(draw, B=1, T=T))


@EXERCISE.property("boundaries at the exact place", 2)
def _(answer: Answer, draw: Draw) -> None:
    lengths = {
        "two documents of length 1": (1, 1),
        "length 1 between longer ones": (3, 1, 4),
        "length 1 last": (5, 1),
    }
    rng = draw.rng
    for words, runs in lengths.items():
        labels = rng.permutation(60)[: len(runs)]
        ids = torch.tensor([[int(label) for label, n in zip(labels, runs, strict=True) for _ in range(n)]])
        _compare(answer(ids), ids, expect.case(draw, words, B=1, T=sum(runs)))


@EXERCISE.property("every row of the batch has its own mask", 2)
def _(answer: Answer, draw: Draw) -> None:
    rng = draw.rng
    for B, T in ((2, 4), (2, 4), (7, 6), (3, 17)):  # one shape twice: a mask kept from the last call is stale
        ids = rows_of_ids(rng, B, T, mean_length=2)
        ids[0] = ids[0, 0]  # the first row is one document, so its mask is right for no row with a boundary
        _compare(answer(ids), ids, expect.case(draw, B=B, T=T))


@EXERCISE.property("the ids alone decide", 1)
def _(answer: Answer, draw: Draw) -> None:
    apart = torch.tensor([[4, 4, 1, 4, 1, 1]])
    _compare(answer(apart), apart, expect.case(draw, "an id that comes back", B=1, T=6))
    large = 2**24 + torch.tensor([[0, 0, 1, 1, 2], [3, 2, 2, 1, 0]])
    _compare(answer(large), large, expect.case(draw, "ids above 2**24", B=2, T=5))


# Public rows, of shapes that no property uses: "kept by shape" must give the same here whatever came before.


@EXERCISE.public_case("two documents", "the example of the statement")
def _():
    return (torch.tensor([[0, 0, 0, 1, 1]]),)


@EXERCISE.public_case("random ids", "three documents in a row of 7")
def _():
    return (torch.tensor([[3, 3, 8, 8, 8, 5, 5]]),)


# Oracle.


def _compare(mask: object, doc_id: Tensor, case: str) -> None:
    """Compare with the definition, entry by entry in plain loops.

    Whole numbers pass as booleans here, since the dtype has a property of its own.
    """
    B, T = doc_id.shape
    tensor = expect.shape(mask, (B, T, T), what="the mask", case=case)
    if tensor.is_floating_point():
        name = expect.dtype_name(tensor.dtype)
        raise expect.wrong(f"the mask should hold booleans, but its dtype is {name}", case)
    entries, ids = tensor.tolist(), doc_id.tolist()
    for b in range(B):
        for i in range(T):
            for j in range(T):
                right = j <= i and ids[b][i] == ids[b][j]
                if bool(entries[b][i][j]) != right:
                    raise expect.wrong(_explain(b, i, j, right, ids[b]), case)


def _explain(b: int, i: int, j: int, right: bool, ids: list[int]) -> str:
    place = f"in row {b}, query {i} and key {j}"
    if right and i == j:
        return f"{place}: the token cannot see itself. Every token may, so that no row of the mask is empty"
    if right:
        return f"{place}: hidden, but the key is earlier and of the same document (id {ids[i]})"
    if j > i:
        return f"{place}: visible, but the key comes after the query"
    return f"{place}: visible, but the key is of document {ids[j]} and the query of document {ids[i]}"
