"""W1.3, packing: documents, each closed by eos, as one stream that is cut into rows of T + 1 tokens."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from autograde import expect
from autograde.exercise import Answer, Draw, HiddenExercise
from lmcourse.packing import pack

EXERCISE = HiddenExercise(
    "W1.3",
    manners_points=1,
    forbidden=("lmcourse.packing.pack", "lmcourse.packing.join_documents"),
    instead="Join the documents and cut the stream into rows yourself.",
)

EXERCISE.set_reference(pack)


def _stream(docs: list[list[int]], eos: int) -> tuple[list[int], list[int]]:
    """All tokens and their document indices, as lists."""
    tokens, ids = [], []
    for index, doc in enumerate(docs):
        tokens += [*doc, eos]
        ids += [index] * (len(doc) + 1)
    return tokens, ids


def _rows(tokens: list[int], ids: list[int], width: int) -> tuple[Tensor, Tensor]:
    """Cut into rows of `width`; the remainder is dropped."""
    R = len(tokens) // width
    cut = [torch.tensor(values[: R * width], dtype=torch.long).reshape(R, width) for values in (tokens, ids)]
    return cut[0], cut[1]


@EXERCISE.variant("row by row", "fills one row after the other in plain loops")
def _(docs, T, eos):
    rows, id_rows, row, id_row = [], [], [], []
    for index, doc in enumerate(docs):
        for token in (*doc, eos):
            row.append(token)
            id_row.append(index)
            if len(row) == T + 1:
                rows.append(row)
                id_rows.append(id_row)
                row, id_row = [], []
    shape = (len(rows), T + 1)
    return torch.tensor(rows, dtype=torch.long).view(shape), torch.tensor(id_rows, dtype=torch.long).view(
        shape
    )


@EXERCISE.variant("ids from eos", "counts the eos tokens before each place")
def _(docs, T, eos):
    pieces = [torch.tensor([*doc, eos], dtype=torch.long) for doc in docs]
    tokens = torch.cat(pieces) if pieces else torch.empty(0, dtype=torch.long)
    closed = (tokens == eos).long()
    ids = closed.cumsum(0) - closed
    R = tokens.numel() // (T + 1)
    return tokens[: R * (T + 1)].view(R, T + 1), ids[: R * (T + 1)].view(R, T + 1)


@EXERCISE.variant("unfold", "numpy repeat for the ids, a strided view for the rows")
def _(docs, T, eos):
    tokens = np.concatenate(
        [np.empty(0, dtype=np.int32), *(np.array([*doc, eos], dtype=np.int32) for doc in docs)]
    )
    ids = np.repeat(np.arange(len(docs)), [len(doc) + 1 for doc in docs])
    if len(tokens) < T + 1:
        return torch.zeros((0, T + 1), dtype=torch.long), torch.zeros((0, T + 1), dtype=torch.long)
    both = [torch.from_numpy(part.astype(np.int64)).unfold(0, T + 1, T + 1) for part in (tokens, ids)]
    return both[0], both[1]


# Mutants.


@EXERCISE.mutant(
    "eos missing",
    "Your stream has no eos between the documents, so nothing tells the model where a document ends.",
)
def _(docs, T, eos):
    tokens = [token for doc in docs for token in doc]
    ids = [index for index, doc in enumerate(docs) for _token in doc]
    return _rows(tokens, ids, T + 1)


@EXERCISE.mutant(
    "eos in front",
    "Your eos stands before each document; it has to close a document, so that predicting it means 'the "
    "end'.",
)
def _(docs, T, eos):
    tokens = [token for doc in docs for token in (eos, *doc)]
    return _rows(tokens, _stream(docs, eos)[1], T + 1)


@EXERCISE.mutant(
    "last eos missing",
    "Your stream is one token short: eos follows the last document too. (Or your function drops the last "
    "row when the stream fills it exactly; only what does not fill a row is dropped.)",
)
def _(docs, T, eos):
    tokens, ids = _stream(docs, eos)
    return _rows(tokens[:-1], ids[:-1], T + 1)


@EXERCISE.mutant(
    "eos belongs to the next",
    "Your doc_id changes at the eos instead of after it: the eos belongs to the document that it closes.",
)
def _(docs, T, eos):
    tokens, _ids = _stream(docs, eos)
    ids = torch.tensor([token == eos for token in tokens]).long().cumsum(0).tolist() if tokens else []
    return _rows(tokens, ids, T + 1)


@EXERCISE.mutant(
    "ids restart in each row",
    "Your doc_id starts from 0 in every row, so one id names several documents; it should be the index in "
    "docs.",
)
def _(docs, T, eos):
    tokens, ids = _rows(*_stream(docs, eos), T + 1)
    return tokens, ids - ids[:, :1]


@EXERCISE.mutant(
    "continued document gets a new id",
    "Your doc_id counts up at the start of each row, so a document that goes on in the next row changes "
    "its id.",
)
def _(docs, T, eos):
    tokens, ids = _rows(*_stream(docs, eos), T + 1)
    flat = ids.flatten()
    change = torch.ones_like(flat)
    change[1:] = (flat[1:] != flat[:-1]).long()
    change[:: T + 1] = 1
    return tokens, (change.cumsum(0) - 1).view_as(ids)


@EXERCISE.mutant(
    "ids are row numbers",
    "Your doc_id is the number of the row; it should be the index of the document in docs.",
)
def _(docs, T, eos):
    tokens, ids = _rows(*_stream(docs, eos), T + 1)
    return tokens, torch.arange(len(tokens))[:, None].expand_as(ids).clone()


@EXERCISE.mutant(
    "ids from one",
    "Your doc_id counts from 1; it is the index of the document in docs, and that counts from 0.",
)
def _(docs, T, eos):
    tokens, ids = _rows(*_stream(docs, eos), T + 1)
    return tokens, ids + 1


@EXERCISE.mutant(
    "remainder padded",
    "Your last row is filled up with eos: the tokens that do not fill a row are to be dropped, or the "
    "model learns from padding.",
)
def _(docs, T, eos):
    tokens, ids = _stream(docs, eos)
    missing = -len(tokens) % (T + 1)
    return _rows(tokens + [eos] * missing, ids + ids[-1:] * missing, T + 1)


@EXERCISE.mutant(
    "remainder padded and marked",
    "Your last row is filled up and marked with -1: the contract drops the tokens that do not fill a row.",
)
def _(docs, T, eos):
    tokens, ids = _stream(docs, eos)
    missing = -len(tokens) % (T + 1)
    return _rows(tokens + [eos] * missing, ids + [-1] * missing, T + 1)


@EXERCISE.mutant(
    "remainder dropped in front",
    "Your rows end with the last token of the stream and the remainder is dropped at the front; drop it at "
    "the end.",
)
def _(docs, T, eos):
    tokens, ids = _stream(docs, eos)
    rest = len(tokens) % (T + 1)
    return _rows(tokens[rest:], ids[rest:], T + 1)


@EXERCISE.mutant(
    "rows of T",
    "Your rows have T tokens; they need T + 1, since x is the row without its last token and y without its "
    "first.",
)
def _(docs, T, eos):
    return _rows(*_stream(docs, eos), T)


@EXERCISE.mutant(
    "rows overlap",
    "Your rows overlap by one token: the last token of a row comes again as the first of the next one.",
)
def _(docs, T, eos):
    tokens, ids = _stream(docs, eos)
    starts = range(0, len(tokens) - T, T)
    cut = [[values[s : s + T + 1] for s in starts] for values in (tokens, ids)]
    return tuple(torch.tensor(rows, dtype=torch.long).view(-1, T + 1) for rows in cut)


@EXERCISE.mutant(
    "one document a row",
    "Your rows hold one document each, filled up with eos: that is padding, and packing is there to avoid "
    "it.",
)
def _(docs, T, eos):
    width = T + 1
    rows = [([*doc, eos] + [eos] * width)[:width] for doc in docs]
    ids = [[index] * width for index in range(len(docs))]
    return tuple(torch.tensor(part, dtype=torch.long).view(-1, width) for part in (rows, ids))


@EXERCISE.mutant(
    "long documents cut off",
    "Your documents lose what goes beyond a row; a long document goes on in the next row.",
)
def _(docs, T, eos):
    return _rows(*_stream([doc[:T] for doc in docs], eos), T + 1)


@EXERCISE.mutant(
    "sorted by length",
    "Your documents are sorted by length; they stay in the order of docs.",
)
def _(docs, T, eos):
    order = sorted(range(len(docs)), key=lambda index: len(docs[index]))
    tokens, ids = _stream([docs[index] for index in order], eos)
    return _rows(tokens, [order[index] for index in ids], T + 1)


@EXERCISE.mutant(
    "order lost in a row",
    "Your tokens come in another order inside a row: reshape to (R, T+1) without a transpose.",
)
def _(docs, T, eos):
    tokens, ids = _rows(*_stream(docs, eos), T + 1)
    return tuple(part.reshape(T + 1, -1).t().contiguous() for part in (tokens, ids))


@EXERCISE.mutant(
    "empty documents skipped",
    "Your stream skips empty documents; an empty document still gives its eos.",
)
def _(docs, T, eos):
    tokens, ids = [], []
    for index, doc in enumerate(docs):
        if doc:
            tokens += [*doc, eos]
            ids += [index] * (len(doc) + 1)
    return _rows(tokens, ids, T + 1)


@EXERCISE.mutant(
    "equal documents share an id",
    "Your doc_id comes from docs.index(doc), which finds the first equal document: two documents with the "
    "same text are still two documents.",
)
def _(docs, T, eos):
    tokens, ids = _stream(docs, eos)
    return _rows(tokens, [docs.index(docs[index]) for index in ids], T + 1)


@EXERCISE.mutant(
    "no rows is an error",
    "Your function fails when the stream is shorter than a row; then there are no rows and the shape is "
    "(0, T+1).",
)
def _(docs, T, eos):
    tokens, ids = _stream(docs, eos)
    width = T + 1
    cut = [
        torch.stack([torch.tensor(values[s : s + width]) for s in range(0, len(values) - T, width)])
        for values in (tokens, ids)
    ]
    return cut[0], cut[1]


@EXERCISE.mutant(
    "no rows has no width",
    "Your result for a stream shorter than a row has shape (0,); it should be (0, T+1), so that later code "
    "can still ask for its width.",
)
def _(docs, T, eos):
    tokens, ids = _rows(*_stream(docs, eos), T + 1)
    return (tokens, ids) if len(tokens) else (torch.tensor([], dtype=torch.long),) * 2


@EXERCISE.mutant(
    "int32",
    "Your tensors are int32; token ids and document ids are int64 here.",
)
def _(docs, T, eos):
    tokens, ids = _rows(*_stream(docs, eos), T + 1)
    return tokens.int(), ids.int()


@EXERCISE.mutant(
    "sixteen bits",
    "Your tokens went through a 16-bit integer: ids from 65,536 on come out as other tokens.",
)
def _(docs, T, eos):
    tokens, ids = _stream(docs, eos)
    return _rows(np.array(tokens, dtype=np.int64).astype(np.uint16).astype(np.int64).tolist(), ids, T + 1)


@EXERCISE.mutant(
    "eos is always 0",
    "Your eos is the fixed id 0; take the one that is passed in.",
)
def _(docs, T, eos):
    return _rows(*_stream(docs, 0), T + 1)


@EXERCISE.mutant(
    "appends to the documents",
    "Your function appends eos to the documents it was given: packing the same list twice would give two "
    "eos each. Build new lists.",
)
def _(docs, T, eos):
    for doc in docs:
        doc.append(eos)
    return _rows(*_stream([doc[:-1] for doc in docs], eos), T + 1)


# Properties.


@EXERCISE.property("dtype and shape", 1)
def _(answer: Answer, draw: Draw) -> None:
    rng = draw.rng
    for lengths, T in (((3, 1), 1), ((4, 2, 5), 4), ((9, 1, 1, 20), 6)):
        docs, eos = _documents(rng, lengths)
        case = expect.case(draw, lengths=list(lengths), T=T)
        tokens, ids = expect.parts(answer(docs, T, eos), ("tokens", "doc_id"), case=case)
        for name, part in (("tokens", tokens), ("doc_id", ids)):
            _width(part, T, name, case)
            expect.dtype(part, torch.int64, what=name, case=case)
        expect.shape(ids, tokens.shape, what="doc_id", case=case, hint="It has one id for each token.")


@EXERCISE.property("every token once and in order, eos after each document", 3)
def _(answer: Answer, draw: Draw) -> None:
    rng = draw.rng
    for lengths, T in (
        ((2, 3), 2),
        ((3, 1, 2), 2),
        ((5, 2, 7, 1, 4), 7),
        (tuple(rng.integers(1, 30, 40)), 31),
    ):
        _compare(answer, draw, rng, lengths, T, "tokens")


@EXERCISE.property("what does not fill a row is dropped", 2)
def _(answer: Answer, draw: Draw) -> None:
    rng = draw.rng
    for words, lengths, T in (
        ("fills its rows exactly", (2, 4), 3),
        ("one token left over", (2, 5), 3),
        ("one token short of a row", (3, 3, 1), 4),
        ("shorter than a row", (2, 1), 6),
        ("no documents", (), 3),
    ):
        _compare(answer, draw, rng, lengths, T, "tokens", words)


@EXERCISE.property("doc_id changes after the eos", 3)
def _(answer: Answer, draw: Draw) -> None:
    rng = draw.rng
    for lengths, T in (
        ((1, 1, 2), 3),
        ((3, 1, 2), 7),
        ((2, 6, 1, 3), 7),
        (tuple(rng.integers(1, 7, 30)), 49),
    ):
        _compare(answer, draw, rng, lengths, T, "doc_id")


@EXERCISE.property("doc_id goes on across rows", 1)
def _(answer: Answer, draw: Draw) -> None:
    rng = draw.rng
    for lengths, T in (((7,), 3), ((2, 13, 3), 4), (tuple(rng.integers(1, 25, 12)), 8)):
        _compare(answer, draw, rng, lengths, T, "doc_id")


@EXERCISE.property("empty and equal documents", 1)
def _(answer: Answer, draw: Draw) -> None:
    rng = draw.rng
    for lengths, T in (((0, 0, 0), 1), ((0, 3, 0, 0, 2), 2), ((4, 0, 6), 5)):
        for name in ("tokens", "doc_id"):
            _compare(answer, draw, rng, lengths, T, name)
    docs, eos = _documents(rng, (3, 2))
    twice = [docs[0], docs[1], docs[0], docs[0]]
    _compare_documents(answer, twice, 6, eos, "doc_id", expect.case(draw, "equal documents", T=6))


# Public rows.


@EXERCISE.public_case("three documents", "the example of the statement")
def _():
    return [[5, 6, 7], [8, 9], [4, 4, 4, 3, 2]], 5, 0


@EXERCISE.public_case("a document longer than a row", "rows of 4 tokens, eos is 9")
def _():
    return [[3, 1], [6, 2, 8, 7, 1, 4, 4], [5], [2, 2, 6]], 3, 9


# Oracle.


def _documents(rng: np.random.Generator, lengths: tuple[int, ...]) -> tuple[list[list[int]], int]:
    """Documents of these lengths with ids up to 99,999, none of them the eos, which is chosen too."""
    eos = int(rng.integers(1, 70_000))
    docs = []
    for n in lengths:
        tokens = rng.integers(0, 100_000, size=int(n))
        docs.append(np.where(tokens == eos, eos + 1, tokens).tolist())
    return docs, eos


def _compare(
    answer: Answer,
    draw: Draw,
    rng: np.random.Generator,
    lengths: tuple[int, ...],
    T: int,
    part: str,
    words: str = "",
) -> None:
    docs, eos = _documents(rng, lengths)
    shown = [int(n) for n in lengths] if len(lengths) <= 8 else f"{len(lengths)} documents"
    case = expect.case(draw, *([words] if words else []), lengths=shown, T=T)
    _compare_documents(answer, docs, T, eos, part, case, exact=bool(words))


def _compare_documents(
    answer: Answer, docs: list[list[int]], T: int, eos: int, part: str, case: str, exact: bool = False
) -> None:
    """Compare one part with the definition: walk through the documents, token by token, row after row.

    Unless `exact`, a last row too many or too few is let through: what happens to the remainder has a
    property of its own, and one mistake should not cost all the points.
    """
    right: dict[str, list[list[int]]] = {"tokens": [[]], "doc_id": [[]]}
    for index, doc in enumerate(docs):
        for token in (*doc, eos):
            if len(right["tokens"][-1]) == T + 1:
                right["tokens"].append([])
                right["doc_id"].append([])
            right["tokens"][-1].append(token)
            right["doc_id"][-1].append(index)
    rows = [row for row in right[part] if len(row) == T + 1]
    oracle = torch.tensor(rows, dtype=torch.int64).view(len(rows), T + 1)
    tokens, ids = expect.parts(answer(docs, T, eos), ("tokens", "doc_id"), case=case)
    came = _width({"tokens": tokens, "doc_id": ids}[part], T, part, case)
    if not exact and abs(len(came) - len(rows)) == 1 and len(came):
        common = min(len(came), len(rows))
        came, oracle = came[:common], oracle[:common]
    hint = {
        "tokens": "Each document, then eos, then the next one, in rows of T + 1; the rest is dropped.",
        "doc_id": "doc_id is the index of the document in docs; its eos has the same id.",
    }[part]
    expect.equal_integers(came, oracle, what=part, case=case, hint=hint)


def _width(part: object, T: int, name: str, case: str) -> Tensor:
    """The part, if it is a tensor of rows of T + 1."""
    tensor = expect.is_tensor(part, what=name, case=case)
    rows = len(tensor) if tensor.ndim else 0
    return expect.shape(
        tensor, (rows, T + 1), what=name, case=case, hint=f"Its rows have T + 1 = {T + 1} tokens."
    )
