import copy
import math
from functools import partial

import pytest
import torch

from lmcourse.averages import AVERAGES
from lmcourse.distributed import Ranks
from lmcourse.errors import CourseError
from lmcourse.model import Transformer, TransformerConfig
from lmcourse.numbers import LossScaler
from lmcourse.optimizers import adamw
from lmcourse.packing import Batch, document_batch, plain_batch
from lmcourse.precision import Precision
from lmcourse.trainer.step import OVERFLOW, training_step

V, EOS = 20, 0


def tiny(**changes) -> Transformer:
    return Transformer(TransformerConfig(V, context=16, layers=2, heads=2, width=32, **changes), seed=1)


def uneven_batch(B: int = 6) -> Batch:
    """Rows in which between one and all targets count."""
    generator = torch.Generator().manual_seed(0)
    batch = document_batch(torch.randint(V, (B, 17), generator=generator), EOS)
    keep = batch.keep & (torch.rand(B, 16, generator=generator) < torch.linspace(0.1, 1, B)[:, None])
    keep[0, :] = False
    return Batch(batch.inputs, batch.targets, keep, batch.positions, batch.doc_id)


class Gradients(torch.optim.SGD):
    """Plain SGD that keeps the gradients of its steps."""

    def step(self, closure=None):
        self.seen = [p.grad.clone() for group in self.param_groups for p in group["params"]]
        return super().step(closure)


def gradients(model: Transformer, micro_batches: list[Batch]) -> tuple[list[torch.Tensor], float]:
    model = copy.deepcopy(model)
    optimizer = Gradients(model.parameters(), lr=1.0)
    result = training_step(model, optimizer, micro_batches, factor=0.0, clip=float("inf"))
    return optimizer.seen, result.loss


@pytest.mark.parametrize("parts", [2, 3, 6])
def test_accumulation_is_equivalent_to_one_batch(parts):
    """Catalogue L1, in float64: same gradient for unequal counts, one of them zero."""
    model = tiny().double()
    batch = uneven_batch()
    whole, loss = gradients(model, [batch])
    micro_batches = list(batch.split(parts))
    split, split_loss = gradients(model, micro_batches)
    assert len({b.count for b in micro_batches}) > 1
    if parts == 6:
        assert micro_batches[0].count == 0
    assert split_loss == pytest.approx(loss, rel=1e-12)
    for a, b in zip(split, whole, strict=True):
        assert torch.allclose(a, b, rtol=1e-9, atol=1e-14)


def test_the_mean_of_means_would_be_another_gradient():
    """The test above can fail: averaging the micro-batches' own means is far off on this batch."""
    model = tiny().double()
    batch = uneven_batch()
    whole, _ = gradients(model, [batch])
    parts = [gradients(model, [b])[0] for b in batch.split(3)]
    mean = [sum(g) / 3 for g in zip(*parts, strict=True)]
    size = sum(g.square().sum() for g in whole).sqrt()
    error = sum((a - b).square().sum() for a, b in zip(mean, whole, strict=True)).sqrt()
    assert error / size > 0.1


def test_model_can_overfit_one_batch():
    model = tiny()
    optimizer = adamw(model, lr=1e-2, weight_decay=0.0)
    tokens = torch.randint(V, (4, 17), generator=torch.Generator().manual_seed(3))
    tokens[:, 0] = torch.arange(4)  # rows differ from the start: no two continuations of one beginning
    losses = [training_step(model, optimizer, [plain_batch(tokens)], 1.0, 1.0).loss for _ in range(80)]
    assert losses[0] > 2.9 and losses[-1] < 0.05


def test_gradients_do_not_pile_up_over_steps():
    model = tiny()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    batch = uneven_batch()
    norms = [training_step(model, optimizer, [batch], 0.0, 1.0).gradient_norm for _ in range(3)]
    assert norms[0] == norms[1] == norms[2] > 0


def test_the_norm_is_logged_before_clipping_and_the_update_after_it():
    model = tiny()
    before = [p.detach().clone() for p in model.parameters()]
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    result = training_step(model, optimizer, [uneven_batch()], factor=1.0, clip=1e-3)
    moved = torch.stack(
        [(p.detach() - b).norm() for p, b in zip(model.parameters(), before, strict=True)]
    ).norm()
    assert result.gradient_norm > 0.01
    assert moved.item() == pytest.approx(1e-3, rel=1e-3)


def test_one_factor_reaches_every_group_and_keeps_their_ratio():
    """Catalogue O10, O25: no group is left out of the schedule or takes another rate, also after a load."""
    model = tiny()
    names = dict(model.named_parameters())
    groups = [
        {"params": [names.pop("head.weight")], "lr": 0.5},
        {"params": list(names.values()), "lr": 0.125},
    ]
    optimizer = torch.optim.SGD(groups)
    for factor in (0.25, 1.0, 0.5):
        training_step(model, optimizer, [uneven_batch()], factor, clip=1.0)
        assert [group["lr"] for group in optimizer.param_groups] == [0.5 * factor, 0.125 * factor]
    loaded = torch.optim.SGD(copy.deepcopy(optimizer.param_groups))
    loaded.load_state_dict(optimizer.state_dict())
    training_step(model, loaded, [uneven_batch()], 0.25, clip=1.0)
    assert [group["lr"] for group in loaded.param_groups] == [0.125, 0.03125]


def test_a_loss_that_is_not_finite_changes_nothing():
    model = tiny()
    optimizer = adamw(model, lr=1e-3)
    training_step(model, optimizer, [uneven_batch()], factor=0.25, clip=1.0)
    with torch.no_grad():
        model.head.weight[3, 3] = float("inf")
    before, state = copy.deepcopy(model.state_dict()), copy.deepcopy(optimizer.state_dict()["state"])
    with pytest.raises(CourseError, match=r"loss nan .* 0\.25 of the learning rate"):
        training_step(model, optimizer, [uneven_batch()], factor=0.25, clip=1.0)
    after = model.state_dict()
    assert all(torch.equal(before[name], after[name]) for name in before)
    for index, moments in optimizer.state_dict()["state"].items():
        for key, value in moments.items():
            assert torch.equal(torch.as_tensor(value), torch.as_tensor(state[index][key]))
    assert all(p.grad is None for p in model.parameters())


def test_a_step_without_a_counted_token_is_refused():
    batch = uneven_batch()
    empty = Batch(batch.inputs, batch.targets, torch.zeros_like(batch.keep))
    with pytest.raises(CourseError, match="no token of this step counts"):
        training_step(tiny(), torch.optim.SGD(tiny().parameters(), lr=0.0), [empty], 0.1, 1.0)


def test_random_tokens_cannot_be_predicted():
    """Catalogue L16 (a): targets not shifted would let the model copy its input and reach zero."""
    model = tiny()
    optimizer = adamw(model, lr=3e-3)
    generator = torch.Generator().manual_seed(4)
    losses = [
        training_step(
            model, optimizer, [plain_batch(torch.randint(V, (8, 17), generator=generator))], 1.0, 1.0
        ).loss
        for _ in range(60)
    ]
    assert sum(losses[-10:]) / 10 > 2.95  # ln 20 = 2.996


def test_a_period_is_predicted_one_token_ahead():
    """Catalogue L16 (b): targets shifted twice would predict two tokens ahead."""
    model = tiny()
    optimizer = adamw(model, lr=1e-2)
    tokens = (torch.arange(17) + torch.arange(3)[:, None]) % 3 + 5
    for _ in range(30):
        training_step(model, optimizer, [plain_batch(tokens)], 1.0, 1.0)
    predicted = model(tokens[:, :-1]).argmax(-1)
    assert torch.equal(predicted[:, 2:], tokens[:, 3:])


def test_batches_split_into_whole_rows():
    batch = uneven_batch(7)
    parts = list(batch.split(3))
    assert [len(p.inputs) for p in parts] == [3, 2, 2]
    assert torch.equal(torch.cat([p.doc_id for p in parts]), batch.doc_id)
    assert sum(p.count for p in parts) == batch.count
    for wrong in (0, 8):
        with pytest.raises(CourseError, match="micro_batches"):
            list(batch.split(wrong))


def share_of(batch: Batch, rows) -> Batch:
    columns = (batch.inputs, batch.targets, batch.keep, batch.positions, batch.doc_id)
    return Batch(*(None if column is None else column[rows] for column in columns))


def oracle_gradients(model: Transformer, batch: Batch, weights: torch.Tensor, z_weight=0.0):
    """Gradients of an explicitly weighted sum over tokens, in one backward pass; weights (B, T)."""
    model = copy.deepcopy(model)
    logits = model(batch.inputs, batch.positions, batch.doc_id)
    z = torch.logsumexp(logits, -1)
    nats = z - logits.gather(-1, batch.targets[..., None])[..., 0]
    ((nats + z_weight * z.square()) * weights).sum().backward()
    return [p.grad for p in model.parameters()]


def assert_close(ours, theirs):
    for a, b in zip(ours, theirs, strict=True):
        assert torch.allclose(a, b, rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("parts", [1, 3])
def test_the_z_loss_has_the_denominator_of_the_loss_and_is_reported_apart(parts):
    """Catalogue L8: with uneven counts, against a sum by hand in float64."""
    model, batch = tiny().double(), uneven_batch()
    weights = batch.keep.double() / batch.count
    optimizer = Gradients(model.parameters(), lr=1.0)
    with_z = training_step(model, optimizer, list(batch.split(parts)), 0.0, math.inf, z_weight=0.01)
    assert_close(optimizer.seen, oracle_gradients(model, batch, weights, z_weight=0.01))
    without = training_step(model, optimizer, list(batch.split(parts)), 0.0, math.inf)
    assert with_z.loss == pytest.approx(without.loss, rel=1e-12)  # the loss is the cross-entropy alone
    logits = model(batch.inputs, batch.positions, batch.doc_id)
    z = (torch.logsumexp(logits, -1).square() * weights).sum().item()
    assert with_z.z_loss == pytest.approx(0.01 * z, rel=1e-12) and without.z_loss is None


def averaging_weights(average: str, parts: list[Batch]) -> torch.Tensor:
    """(B, T) weights of the tokens, written down from the definition of each average."""
    keeps = [part.keep.double() for part in parts]
    if average == "tokens":
        weights = [keep / sum(k.sum() for k in keeps) for keep in keeps]
    elif average == "micro-batches":
        means = sum(bool(k.any()) for k in keeps)
        weights = [keep / keep.sum().clamp(min=1) / means for keep in keeps]
    elif average == "ranks":
        weights = [keep / sum(k.sum() for k in keeps) for keep in keeps]  # one rank
    else:
        rows = torch.cat(keeps).sum(1, keepdim=True)
        weights = [torch.cat(keeps) / rows.clamp(min=1) / (rows > 0).sum()]
    return torch.cat(weights)


@pytest.mark.parametrize("average", AVERAGES)
def test_each_average_is_what_its_name_says(average):
    """And the loss that is logged is the same under all of them: it cannot show which one was minimized."""
    model, batch = tiny().double(), uneven_batch()
    parts = list(batch.split(6))
    optimizer = Gradients(model.parameters(), lr=1.0)
    result = training_step(model, optimizer, parts, 0.0, math.inf, average=average)
    assert_close(optimizer.seen, oracle_gradients(model, batch, averaging_weights(average, parts)))
    usual = training_step(model, optimizer, parts, 0.0, math.inf)
    assert result.loss == pytest.approx(usual.loss, rel=1e-12)


def test_an_unknown_average_is_named():
    with pytest.raises(CourseError, match=r"average: expected one of tokens, .*'sum'"):
        training_step(tiny(), adamw(tiny(), 1e-3), [uneven_batch()], 1.0, 1.0, average="sum")


class TwoRanks(Ranks):
    """Both ranks of a world of two in one process: what the first one sends is handed to the second.

    Enough for numbers and gradients whose sums do not depend on what the other rank does with them.
    """

    world = 2

    def __init__(self, rank, others_numbers, others_gradients):
        self.rank, self._numbers, self._gradients = rank, iter(others_numbers), others_gradients
        self.seen: list[float] = []

    def sum(self, value):
        self.seen.append(value)
        return value + next(self._numbers, 0)

    def sum_gradients(self, model, *numbers):
        self.gradients = [None if p.grad is None else p.grad.clone() for p in model.parameters()]
        for p, other in zip(model.parameters(), self._gradients, strict=True):
            if other is not None:
                p.grad = other.clone() if p.grad is None else p.grad + other
        self.numbers = numbers
        return numbers


@pytest.mark.parametrize("cut", [0, 1, 4])
def test_two_ranks_are_one_batch(cut):
    """Catalogue L2, L10, R20: uneven counts, an empty rank, a rank whose rows count nothing. In float64."""
    model, batch = tiny().double(), uneven_batch()
    whole, loss = gradients(model, [batch])
    shares = [share_of(batch, slice(0, cut)), share_of(batch, slice(cut, None))]
    micro = [list(s.split(min(2, len(s.inputs)))) if len(s.inputs) else [] for s in shares]
    counts = [sum(b.count for b in parts) for parts in micro]
    nothing = [torch.zeros_like(p) for p in model.parameters()]

    first = TwoRanks(0, [counts[1]], nothing)
    copied = copy.deepcopy(model)
    first_result = training_step(
        copied, Gradients(copied.parameters(), lr=1.0), micro[0], 0.0, math.inf, ranks=first
    )
    second = TwoRanks(1, [counts[0]], first.gradients)
    copied = copy.deepcopy(model)
    optimizer = Gradients(copied.parameters(), lr=1.0)
    result = training_step(copied, optimizer, micro[1], 0.0, math.inf, ranks=second)
    assert first.seen[0] + second.seen[0] == batch.count == result.tokens == first_result.tokens
    assert first.numbers[0] + second.numbers[0] == pytest.approx(loss, rel=1e-12)
    assert_close(optimizer.seen, whole)


def test_the_events_of_a_step_in_their_order():
    model, batch = tiny(), uneven_batch()
    events = []
    training_step(model, adamw(model, 1e-3), list(batch.split(2)), 1.0, 1.0, trace=events.append)
    halves = ["forward", "backward"] * 2
    assert events == ["lr", "count", *halves, "synchronize", "clip", "step", "zero"]
    events.clear()
    training_step(model, adamw(model, 1e-3), [batch], 1.0, 1.0, scaler=LossScaler(), trace=events.append)
    assert events == [
        *("lr", "count", "forward", "backward", "synchronize", "unscale", "clip", "step", "zero", "scale")
    ]


def test_the_norm_is_that_of_the_unscaled_gradient_and_is_clipped_after_it():
    """Catalogue O14: scale 2^16, so clipping before the division would leave almost nothing."""
    plain, scaled = tiny(), tiny()
    batch = uneven_batch()
    first = training_step(plain, torch.optim.SGD(plain.parameters(), lr=1.0), [batch], 1.0, 0.05)
    scaler = LossScaler(initial=2.0**16)
    second = training_step(
        scaled, torch.optim.SGD(scaled.parameters(), lr=1.0), [batch], 1.0, 0.05, scaler=scaler
    )
    assert second.gradient_norm == pytest.approx(first.gradient_norm, rel=1e-5)
    assert second.loss_scale == 2.0**16 and first.loss_scale is None
    for a, b in zip(plain.parameters(), scaled.parameters(), strict=True):
        assert torch.allclose(a, b, rtol=1e-5, atol=1e-7)


def everything(model, optimizer) -> list:
    tensors = [p.detach().clone() for p in model.parameters()]
    for state in optimizer.state.values():
        tensors += [torch.as_tensor(value).clone() for value in state.values()]
    return tensors


def test_an_overflow_moves_nothing_but_the_scale():
    """Weights, m, v and t are as before, to the bit; the same batch then passes at a smaller scale."""
    model = tiny()
    Precision("fp16").apply(model)
    optimizer = adamw(model, 1e-2)
    training_step(model, optimizer, [uneven_batch()], 1.0, 1.0)
    before = everything(model, optimizer)
    scaler = LossScaler(initial=2.0**30)
    result = training_step(model, optimizer, [uneven_batch()], 1.0, 1.0, scaler=scaler)
    assert (
        result.outcome == OVERFLOW and math.isfinite(result.loss) and not math.isfinite(result.gradient_norm)
    )
    assert all(torch.equal(a, b) for a, b in zip(before, everything(model, optimizer), strict=True))
    assert scaler.value == 2.0**29 and result.loss_scale == 2.0**30
    assert all(p.grad is None for p in model.parameters())
    tries = 0
    while training_step(model, optimizer, [uneven_batch()], 1.0, 1.0, scaler=scaler).outcome == OVERFLOW:
        tries += 1
    assert 0 < tries < 60 and optimizer.state[model.head.weight]["step"] == 2


class Judge:
    """A watch that says no."""

    def __init__(self, verdict):
        self.verdict, self.calls = verdict, []

    def judge(self, loss, norm):
        self.calls.append((loss, norm))
        return self.verdict

    def after_backward(self, model):
        pytest.fail("a step that is left out is not measured")

    after_step = after_backward


@pytest.mark.parametrize("verdict", ["skip", "roll_back"])
@pytest.mark.parametrize("scaled", [False, True])
def test_a_step_that_the_watch_refuses_moves_nothing(verdict, scaled):
    """Catalogue N1: not by a factor of zero on the update, which a NaN survives."""
    model = tiny()
    optimizer = adamw(model, 1e-2)
    training_step(model, optimizer, [uneven_batch()], 1.0, 1.0)
    with torch.no_grad():
        healthy = model.head.weight[3, 3].clone()
        model.head.weight[3, 3] = float("nan")
    scaler = LossScaler(interval=1) if scaled else None
    before, judge = everything(model, optimizer), Judge(verdict)
    result = training_step(model, optimizer, [uneven_batch()], 1.0, 1.0, scaler=scaler, watch=judge)
    assert result.outcome == verdict and math.isnan(judge.calls[0][0])
    after = everything(model, optimizer)
    assert all(
        torch.equal(a, b)
        for a, b in zip(map(torch.nan_to_num, before), map(torch.nan_to_num, after), strict=True)
    )
    if scaled:
        assert (scaler.value, scaler.clean) == (2.0**16, 0)
    with torch.no_grad():
        model.head.weight[3, 3] = healthy
    assert math.isfinite(training_step(model, optimizer, [uneven_batch()], 1.0, 1.0, scaler=scaler).loss)


def test_nothing_is_compiled_anew_when_the_rate_changes(monkeypatch):
    """Catalogue N5: a rate that is a number in a compiled function would be a constant of it."""
    compiled = []

    def counting(graph, inputs):
        compiled.append(graph)
        return graph.forward

    monkeypatch.setattr(torch, "compile", partial(torch.compile, backend=counting))
    model = tiny()
    model.compile_training()
    optimizer = adamw(model, 1e-3)
    training_step(model, optimizer, [uneven_batch()], 0.5, 1.0)
    first = len(compiled)
    for step in range(8):
        training_step(model, optimizer, [uneven_batch()], 1 / (1 + step), 1.0)
    assert len(compiled) == first > 0
