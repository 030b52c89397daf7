"""W1.7, write the test that finds a leak.

A student's test gets models one after the other. Two calls of a right model need not be equal to the last
bit, they may differ by up to 1e-5 (the order of summation); leaks move some logit by about 1e-3 or more. A
limit between the two serves, and the contract in the notebook says so.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import torch
from torch import Tensor

from autograde.exercise import HiddenExercise
from autograde.weeks.week01 import leak_models as parts

EXERCISE = HiddenExercise("W1.7")

LIMIT = 1e-4

Model = Callable[..., Tensor]

# Right models.


def _document_mask(doc_id: Tensor) -> Tensor:
    return parts.same_document(doc_id) & parts.causal(doc_id)


@EXERCISE.accepts("boolean mask, positions restart", "")
def _(tokens, doc_id, training=True):
    parts.check_inputs(tokens, doc_id)
    return parts.forward(tokens, _document_mask(doc_id), parts.restarting(doc_id))


@EXERCISE.accepts(
    "boolean mask, positions run on",
    "RoPE positions may run through the whole row: only distances inside a document matter to it.",
)
def _(tokens, doc_id, training=True):
    parts.check_inputs(tokens, doc_id)
    return parts.forward(tokens, _document_mask(doc_id), parts.running(doc_id))


@EXERCISE.accepts(
    "additive mask",
    "the mask may be a matrix of 0 and -inf that is added to the scores.",
)
def _(tokens, doc_id, training=True):
    parts.check_inputs(tokens, doc_id)
    return parts.forward(tokens, _document_mask(doc_id), parts.running(doc_id), parts.attend_additive)


@EXERCISE.accepts(
    "attention by hand",
    "attention may be written out by hand, with a large negative number in place of -inf.",
)
def _(tokens, doc_id, training=True):
    parts.check_inputs(tokens, doc_id)
    return parts.forward(tokens, _document_mask(doc_id), parts.restarting(doc_id), parts.attend_by_hand)


@EXERCISE.accepts(
    "each document by itself",
    "the model may run each document by itself and put the logits together.",
)
def _(tokens, doc_id, training=True):
    parts.check_inputs(tokens, doc_id)
    logits = torch.empty(*tokens.shape, parts.V)
    bounds = [
        (b, start, end)
        for b, row in enumerate(parts.starts(doc_id))
        for start, end in pairwise([*row.nonzero().flatten().tolist(), len(row)])
    ]
    for length in {
        end - start for _b, start, end in bounds
    }:  # documents of one length share a call, a row each
        places = [(b, slice(start, end)) for b, start, end in bounds if end - start == length]
        pieces = torch.stack([tokens[place] for place in places])
        alone = parts.forward(pieces, parts.causal(pieces), parts.running(pieces))
        for place, piece in zip(places, alone, strict=True):
            logits[place] = piece
    return logits


@EXERCISE.accepts(
    "one long row",
    "the model may lay all rows of the batch end to end and mask between them.",
)
def _(tokens, doc_id, training=True):
    parts.check_inputs(tokens, doc_id)
    B, T = tokens.shape
    row = torch.arange(B).repeat_interleave(T)[None]  # (1, B*T)
    flat = doc_id.reshape(1, -1)
    visible = _document_mask(flat) & parts.same_document(row)
    positions = parts.running(doc_id).reshape(1, -1)
    return parts.forward(tokens.reshape(1, -1), visible, positions).view(B, T, parts.V)


@EXERCISE.accepts("no positions", "a model may have no positions at all.")
def _(tokens, doc_id, training=True):
    parts.check_inputs(tokens, doc_id)
    return parts.forward(tokens, _document_mask(doc_id), None)


@EXERCISE.accepts("float64", "logits may be float64: any floating dtype will do.")
def _(tokens, doc_id, training=True):
    parts.check_inputs(tokens, doc_id)
    return parts.forward(tokens, _document_mask(doc_id), parts.restarting(doc_id), dtype=torch.float64)


_ROUNDING = torch.Generator()  # its state goes on from call to call, so that no two calls are equal


@EXERCISE.accepts(
    "rounding noise",
    "two calls of a right model need not be equal to the last bit: allow for differences of up to 1e-5.",
)
def _(tokens, doc_id, training=True):
    parts.check_inputs(tokens, doc_id)
    logits = parts.forward(tokens, _document_mask(doc_id), parts.restarting(doc_id))
    return logits + 2e-7 * (2 * torch.rand(logits.shape, generator=_ROUNDING) - 1)


# Leaking models.


def _leaks(name: str, note: str) -> Callable:
    """Register a leaking model: the function gives who sees whom, once for all layers or once a layer."""

    def keep(visible: Callable) -> Callable:
        @EXERCISE.rejects(name, note)
        def model_fn(tokens, doc_id, training=True):
            parts.check_inputs(tokens, doc_id)
            return parts.forward(tokens, visible(tokens, doc_id, training), parts.running(doc_id))

        return visible

    return keep


@_leaks("no mask", "in it, every token sees all earlier tokens of the row, whatever their document.")
def _(tokens, doc_id, training):
    return parts.causal(doc_id)


@EXERCISE.rejects(
    "positions restart, no mask",
    "it restarts the positions in each document and takes this for a mask: tokens of other documents are "
    "still seen.",
)
def _(tokens, doc_id, training=True):
    parts.check_inputs(tokens, doc_id)
    return parts.forward(tokens, parts.causal(doc_id), parts.restarting(doc_id))


@_leaks(
    "next document only",
    "a document sees the one just before it and no other. Which documents does your test look at?",
)
def _(tokens, doc_id, training):
    number = parts.ordinal(doc_id)
    before = number[:, :, None] - number[:, None, :] == 1
    return _document_mask(doc_id) | before


@_leaks(
    "every second document",
    "a document sees the one before the previous one, but not its direct neighbor. How many documents has "
    "a row of your test, and which of them does it look at?",
)
def _(tokens, doc_id, training):
    number = parts.ordinal(doc_id)
    return ((number[:, :, None] - number[:, None, :]) % 2 == 0) & parts.causal(doc_id)


@_leaks(
    "three documents or more",
    "it is right for rows of one or two documents and has no mask for rows of three or more.",
)
def _(tokens, doc_id, training):
    many = parts.ordinal(doc_id)[:, -1] >= 2
    return _document_mask(doc_id) | (parts.causal(doc_id) & many[:, None, None])


@_leaks("second layer only", "its first layer has the mask, its second layer has not.")
def _(tokens, doc_id, training):
    return _document_mask(doc_id), parts.causal(doc_id)


@_leaks(
    "all but the eos",
    "it hides the last token of each document from the others and nothing else. Which tokens does your "
    "test change?",
)
def _(tokens, doc_id, training):
    return _document_mask(doc_id) | (parts.causal(doc_id) & ~parts.ends(doc_id)[:, None, :])


@_leaks(
    "only the last token",
    "documents see the last token of each earlier document, which knows what stood before it.",
)
def _(tokens, doc_id, training):
    return _document_mask(doc_id) | (parts.causal(doc_id) & parts.ends(doc_id)[:, None, :])


@_leaks(
    "only the first token",
    "documents see the first token of each earlier document. Which tokens does your test change?",
)
def _(tokens, doc_id, training):
    return _document_mask(doc_id) | (parts.causal(doc_id) & parts.starts(doc_id)[:, None, :])


@_leaks(
    "into the first token",
    "only the first token of a document sees the documents before it. At which places does your test look?",
)
def _(tokens, doc_id, training):
    into_start = _document_mask(doc_id) | (parts.causal(doc_id) & parts.starts(doc_id)[:, :, None])
    return _document_mask(doc_id), into_start


@_leaks(
    "not causal",
    "documents are kept apart, but inside a document every token sees the later ones too.",
)
def _(tokens, doc_id, training):
    return parts.same_document(doc_id)


@_leaks(
    "one token ahead",
    "documents are kept apart, but every token sees the one after it: the one that it should predict.",
)
def _(tokens, doc_id, training):
    ahead = torch.ones_like(_document_mask(doc_id)).tril(1)
    return parts.same_document(doc_id) & ahead


@_leaks(
    "later documents",
    "a document sees the documents after it and none before it. Does your test look in both directions?",
)
def _(tokens, doc_id, training):
    return _document_mask(doc_id) | (~parts.same_document(doc_id) & ~parts.causal(doc_id))


@_leaks("last row only", "the last row of the batch has no mask. Which rows does your test change?")
def _(tokens, doc_id, training):
    visible = _document_mask(doc_id).clone()
    visible[-1] = parts.causal(doc_id)[-1]
    return visible


@_leaks(
    "mask of the first row",
    "it uses the mask of the first row for the whole batch, so it is wrong where the rows have other "
    "boundaries.",
)
def _(tokens, doc_id, training):
    return _document_mask(doc_id)[:1].expand(len(doc_id), -1, -1)


@EXERCISE.rejects(
    "averages over the rows",
    "its norm averages over the rows of the batch, so one row moves the logits of another.",
)
def _(tokens, doc_id, training=True):
    parts.check_inputs(tokens, doc_id)
    return parts.forward(tokens, _document_mask(doc_id), parts.running(doc_id), norm_over=(0, -1))


@_leaks("evaluation without mask", "it uses its mask in training and forgets it in evaluation.")
def _(tokens, doc_id, training):
    return _document_mask(doc_id) if training else parts.causal(doc_id)


@_leaks("training without mask", "it uses its mask in evaluation and forgets it in training.")
def _(tokens, doc_id, training):
    return parts.causal(doc_id) if training else _document_mask(doc_id)


@EXERCISE.rejects(
    "leak of 0.001",
    "its logits move by about 0.001 with the documents before: small, but far above rounding. How large a "
    "difference does your test allow?",
)
def _(tokens, doc_id, training=True):
    parts.check_inputs(tokens, doc_id)
    logits = parts.forward(tokens, _document_mask(doc_id), parts.restarting(doc_id))
    foreign = (parts.causal(doc_id) & ~parts.same_document(doc_id)).to(logits.dtype)
    table = torch.randn(parts.V, parts.V, generator=torch.Generator().manual_seed(5))
    return logits + 1e-3 * torch.sin(foreign @ table[tokens])


# Tests: the reference and variants.

SIZES = ((2, 4, 1, 3, 2), (3, 1, 4, 2, 2), (2, 2, 5, 2, 1))  # lengths of the documents, row by row


def _batch(sizes: tuple[tuple[int, ...], ...] = SIZES, seed: int = 0) -> tuple[Tensor, Tensor]:
    """tokens, doc_id (B, T): random documents of these lengths, each closed by eos (0)."""
    flat = [length for row in sizes for length in row]
    doc_id = torch.arange(len(flat)).repeat_interleave(torch.tensor(flat)).view(len(sizes), -1)
    tokens = torch.randint(1, parts.V, doc_id.shape, generator=torch.Generator().manual_seed(seed))
    return tokens.masked_fill(parts.ends(doc_id), 0), doc_id


def _other(tokens: Tensor) -> Tensor:
    """Another token in each place; eos stays out of it."""
    return 1 + tokens % (parts.V - 1)


def _moved(model_fn: Model, tokens: Tensor, changed: Tensor, doc_id: Tensor, training: bool) -> Tensor:
    """(B, T): by how much the logits of each place move."""
    before, after = model_fn(tokens, doc_id, training), model_fn(changed, doc_id, training)
    return (before - after).abs().amax(-1)


def test_no_leak(model_fn):
    """Change each token in turn: only later places of its own document, in its own row, may move."""
    tokens, doc_id = _batch()
    column = torch.arange(tokens.shape[1])
    for training in (True, False):
        before = model_fn(tokens, doc_id, training)
        for row, place in torch.cartesian_prod(torch.arange(len(tokens)), column).tolist():
            changed = tokens.clone()
            changed[row, place] = _other(tokens)[row, place]
            moved = (model_fn(changed, doc_id, training) - before).abs().amax(-1)
            may_move = torch.zeros_like(moved, dtype=torch.bool)
            may_move[row] = (doc_id[row] == doc_id[row, place]) & (column >= place)
            worst = moved[~may_move].max().item()
            assert worst < LIMIT, f"a change in row {row}, token {place} moved other logits by {worst:.2g}"


EXERCISE.set_reference(test_no_leak)


@EXERCISE.variant("whole documents", "changes a whole document at once, then the tail of each document")
def _(model_fn):
    tokens, doc_id = _batch(seed=1)
    for training in (True, False):
        before = model_fn(tokens, doc_id, training)
        for document in doc_id.unique():
            inside = doc_id == document
            tail = inside & (parts.restarting(doc_id) >= 1)
            for changed in (inside, tail):
                after = model_fn(torch.where(changed, _other(tokens), tokens), doc_id, training)
                assert (after - before)[~changed].abs().max() < LIMIT


@EXERCISE.variant(
    "alone and packed", "compares each document with itself run alone, and each prefix with the whole"
)
def _(model_fn):
    tokens, doc_id = _batch(seed=2)
    for training in (True, False):
        logits = model_fn(tokens, doc_id, training)
        for document in doc_id.unique():
            inside = doc_id == document
            alone = tokens[inside][None]
            for length in range(1, alone.shape[1] + 1):
                prefix = model_fn(alone[:, :length], torch.full((1, length), int(document)), training)[0]
                assert (logits[inside][:length] - prefix).abs().max() < LIMIT


@EXERCISE.variant(
    "loops and numbers", "plain loops over places; a message is not needed; two kinds of replacement"
)
def _(model_fn):
    tokens, doc_id = _batch(((4, 2, 5, 3), (1, 6, 3, 4)), seed=3)
    for training in (False, True):
        before = model_fn(tokens, doc_id, training=training).tolist()
        for step in (1, 11):
            for row in range(2):
                for place in range(14):
                    changed = tokens.clone()
                    changed[row, place] = (changed[row, place] + step) % 32
                    after = model_fn(changed, doc_id, training=training).tolist()
                    for r in range(2):
                        for i in range(14):
                            own = r == row and doc_id[r, i] == doc_id[row, place] and i >= place
                            if not own and max(map(_distance, before[r][i], after[r][i])) > 1e-4:
                                raise AssertionError


def _distance(a: float, b: float) -> float:
    return abs(a - b)


# Mutants: tests that are blind somewhere, or ask for more than a right model promises.


def _probe(
    model_fn: Model,
    sizes: tuple[tuple[int, ...], ...] = SIZES,
    change: Callable[[Tensor], Tensor] | None = None,
    look: Callable[[Tensor, int], Tensor] | None = None,
    modes: tuple[bool, ...] = (True, False),
    limit: float = LIMIT,
) -> None:
    """Change one place after the other. `change` and `look` choose places (B, T) from doc_id."""
    tokens, doc_id = _batch(sizes)
    places = change(doc_id) if change else torch.ones_like(doc_id, dtype=torch.bool)
    column = torch.arange(tokens.shape[1])
    for training in modes:
        before = model_fn(tokens, doc_id, training)
        for row, place in places.nonzero().tolist():
            changed = tokens.clone()
            changed[row, place] = _other(tokens)[row, place]
            moved = (model_fn(changed, doc_id, training) - before).abs().amax(-1)
            must_rest = torch.ones_like(doc_id, dtype=torch.bool)
            must_rest[row] = (doc_id[row] != doc_id[row, place]) | (column < place)
            if look:
                must_rest &= look(doc_id, int(doc_id[row, place]))
            assert not (moved[must_rest] > limit).any()


@EXERCISE.mutant("always passes", "Your test passes every model: nothing in it can fail.")
def _(model_fn):
    tokens, doc_id = _batch()
    model_fn(tokens, doc_id)


@EXERCISE.mutant("always fails", "Your test fails every model, also the right ones.")
def _(model_fn):
    raise AssertionError("leak")


@EXERCISE.mutant(
    "only the shape", "Your test looks at the shape of the logits, which a leak does not change."
)
def _(model_fn):
    tokens, doc_id = _batch()
    assert model_fn(tokens, doc_id).shape == (*tokens.shape, parts.V)


@EXERCISE.mutant("only finite", "Your test asks for finite logits; a leak has no nan in it.")
def _(model_fn):
    assert model_fn(*_batch()).isfinite().all()


@EXERCISE.mutant(
    "changes only the eos", "Your test changes only the eos: what else crosses over stays unseen."
)
def _(model_fn):
    _probe(model_fn, change=parts.ends)


@EXERCISE.mutant(
    "changes nothing",
    "Your test replaces a token by itself: it compares a model with itself and cannot fail.",
)
def _(model_fn):
    tokens, doc_id = _batch()
    assert _moved(model_fn, tokens, tokens.clone(), doc_id, True).max() < LIMIT


@EXERCISE.mutant(
    "changes only middle tokens",
    "Your test never changes the first token of a document, so a leak from there stays unseen.",
)
def _(model_fn):
    _probe(model_fn, change=lambda doc_id: ~parts.starts(doc_id) & ~parts.ends(doc_id))


@EXERCISE.mutant(
    "first and last document",
    "Your test changes the first document of a row and looks at the last one; leaks between neighbors stay "
    "unseen.",
)
def _(model_fn):
    _probe(
        model_fn,
        change=lambda doc_id: parts.ordinal(doc_id) == 0,
        look=lambda doc_id, document: parts.ordinal(doc_id) == 4,
    )


@EXERCISE.mutant(
    "changes only first tokens",
    "Your test changes only the first token of each document, so it never sees a token that looks ahead.",
)
def _(model_fn):
    _probe(model_fn, change=parts.starts)


@EXERCISE.mutant(
    "changes only the first document",
    "Your test changes only the first document of a row, so leaks back from later documents stay unseen.",
)
def _(model_fn):
    _probe(model_fn, change=lambda doc_id: (parts.ordinal(doc_id) == 0) & ~parts.ends(doc_id))


@EXERCISE.mutant(
    "looks only at later documents",
    "Your test looks only at documents after the changed one: a leak backwards stays unseen.",
)
def _(model_fn):
    _probe(model_fn, look=lambda doc_id, document: doc_id > document)


@EXERCISE.mutant(
    "looks only at the next document",
    "Your test looks only at the document right after the changed one; leaks further on stay unseen.",
)
def _(model_fn):
    _probe(model_fn, look=lambda doc_id, document: doc_id == document + 1)


@EXERCISE.mutant(
    "looks only at the last token",
    "Your test looks only at the last place of each row; a leak into other places stays unseen.",
)
def _(model_fn):
    _probe(model_fn, look=lambda doc_id, document: parts.ends(doc_id) & (parts.ordinal(doc_id) == 4))


@EXERCISE.mutant(
    "looks at the changed document",
    "Your test only asserts that the changed document itself moves. That shows that the change has an "
    "effect, not that nothing leaks.",
)
def _(model_fn):
    tokens, doc_id = _batch()
    inside = doc_id == 1
    moved = _moved(model_fn, tokens, torch.where(inside, _other(tokens), tokens), doc_id, True)
    assert moved[inside].max() > LIMIT


@EXERCISE.mutant(
    "forgets causality",
    "Your test compares each document with itself run alone. That finds leaks between documents, but not a "
    "token that looks at later ones of its own document.",
)
def _(model_fn):
    tokens, doc_id = _batch()
    for training in (True, False):
        logits = model_fn(tokens, doc_id, training)
        for document in doc_id.unique():
            inside = doc_id == document
            alone = model_fn(tokens[inside][None], doc_id[inside][None], training)[0]
            assert (logits[inside] - alone).abs().max() < LIMIT


@EXERCISE.mutant(
    "only causality", "Your test asks whether the model is causal; between documents it never looks."
)
def _(model_fn):
    tokens, doc_id = _batch()
    for training in (True, False):
        for place in range(1, tokens.shape[1]):
            changed = tokens.clone()
            changed[:, place:] = _other(tokens)[:, place:]
            assert _moved(model_fn, tokens, changed, doc_id, training)[:, :place].max() < LIMIT


@EXERCISE.mutant("one row", "Your test uses a batch of one row: what happens between rows stays unseen.")
def _(model_fn):
    _probe(model_fn, sizes=SIZES[:1])


@EXERCISE.mutant(
    "changes only the first row",
    "Your test changes tokens in the first row only; a leak in another row stays unseen.",
)
def _(model_fn):
    first_row = torch.arange(len(SIZES))[:, None] == 0
    _probe(model_fn, change=lambda doc_id: first_row.expand(doc_id.shape))


@EXERCISE.mutant(
    "equal rows", "Your test gives all rows the same boundaries, so a mask taken from another row fits."
)
def _(model_fn):
    _probe(model_fn, sizes=(SIZES[0],) * 3)


@EXERCISE.mutant("two documents", "Your test has two documents a row; some leaks need three.")
def _(model_fn):
    _probe(model_fn, sizes=((6, 5), (4, 7)))


@EXERCISE.mutant("only training", "Your test never calls model_fn with training=False.")
def _(model_fn):
    _probe(model_fn, modes=(True,))


@EXERCISE.mutant("only evaluation", "Your test never calls model_fn with training=True.")
def _(model_fn):
    _probe(model_fn, modes=(False,))


@EXERCISE.mutant(
    "limit of 0.01",
    "Your test lets differences of 0.01 through; a leak of 0.001 is still a leak.",
)
def _(model_fn):
    _probe(model_fn, limit=1e-2)


@EXERCISE.mutant(
    "most likely token only",
    "Your test compares only the most likely next token; logits can move without changing it.",
)
def _(model_fn):
    tokens, doc_id = _batch()
    for document in doc_id.unique():
        inside = doc_id == document
        changed = torch.where(inside, _other(tokens), tokens)
        before, after = model_fn(tokens, doc_id).argmax(-1), model_fn(changed, doc_id).argmax(-1)
        assert (before == after)[~inside].all()


@EXERCISE.mutant(
    "equal to the last bit",
    "Your test asks for equality to the last bit; right models may differ by up to 1e-5 from call to call.",
)
def _(model_fn):
    _probe(model_fn, limit=0.0)


@EXERCISE.mutant(
    "the same in every batch, to the last bit",
    "Your test asks for bits that do not depend on the size of the batch, which a right model does not "
    "promise.",
)
def _(model_fn):
    tokens, doc_id = _batch()
    together = model_fn(tokens, doc_id)
    for row in range(len(tokens)):
        assert torch.equal(together[row], model_fn(tokens[row : row + 1], doc_id[row : row + 1])[0])


@EXERCISE.mutant("float32 only", "Your test asks for float32 logits; the contract allows any floating dtype.")
def _(model_fn):
    assert model_fn(*_batch()).dtype == torch.float32
    _probe(model_fn)


@EXERCISE.mutant(
    "nothing may move",
    "Your test also forbids the changed document itself to move, so it rejects every model that reads its "
    "input.",
)
def _(model_fn):
    tokens, doc_id = _batch()
    changed = torch.where(doc_id == 0, _other(tokens), tokens)
    assert _moved(model_fn, tokens, changed, doc_id, True).max() < LIMIT


@EXERCISE.mutant(
    "another exception",
    "Your test raises ValueError; a test says no by AssertionError, every other exception is an error of "
    "the test.",
)
def _(model_fn):
    try:
        _probe(model_fn)
    except AssertionError:
        raise ValueError("leak") from None


@EXERCISE.mutant(
    "returns its verdict",
    "Your test returns True or False; a test says no by raising AssertionError.",
)
def _(model_fn):
    try:
        _probe(model_fn)
    except AssertionError:
        return False
    return True


@EXERCISE.mutant(
    "ids out of range",
    "Your test uses token ids above 31, which the models do not know.",
)
def _(model_fn):
    tokens, doc_id = _batch()
    assert _moved(model_fn, tokens, tokens + 1, doc_id, True).max() >= 0
    assert _moved(model_fn, tokens, tokens + 5, doc_id, True).max() >= 0
