import copy

import pytest
import torch

from lmcourse.errors import CourseError
from lmcourse.model import Transformer, TransformerConfig
from lmcourse.optimizers import adamw
from lmcourse.packing import Batch, document_batch, plain_batch
from lmcourse.trainer.step import training_step

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
