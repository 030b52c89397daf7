import math

import pytest
import torch

from lmcourse.errors import CourseError
from lmcourse.evaluation import Evaluation, evaluate, generate
from lmcourse.model import Transformer, TransformerConfig
from lmcourse.objective import masked_cross_entropy
from lmcourse.packing import Batch, plain_batch

V = 12


@pytest.fixture
def model() -> Transformer:
    model = Transformer(TransformerConfig(V, context=10, layers=1, heads=2, width=16, dropout=0.5), seed=2)
    with torch.no_grad():
        model.head.weight.mul_(30)  # far from uniform
    return model


def rows(n: int) -> torch.Tensor:
    return torch.randint(V, (n, 9), generator=torch.Generator().manual_seed(n))


def test_unequal_batches_weigh_by_their_tokens(model):
    table = rows(7)
    whole = evaluate(model, [plain_batch(table)])
    parts = evaluate(model, [plain_batch(table[:1]), plain_batch(table[1:])])
    model.eval()
    direct = masked_cross_entropy(model(table[:, :-1]), table[:, 1:]).item()
    assert whole.tokens == parts.tokens == 56
    assert whole.loss == pytest.approx(parts.loss, rel=1e-6) == pytest.approx(direct, rel=1e-6)


def test_mode_and_generators_are_as_before(model):
    torch.manual_seed(0)
    before = torch.get_rng_state()
    for training in (True, False):
        model.train(training)
        first = evaluate(model, [plain_batch(rows(3))])
        assert evaluate(model, [plain_batch(rows(3))]) == first
        assert model.training is training
    assert torch.equal(before, torch.get_rng_state())
    assert all(p.grad is None for p in model.parameters())


def test_a_failure_restores_the_mode_too(model):
    with pytest.raises(CourseError):
        evaluate(model, [plain_batch(torch.zeros(1, 40, dtype=torch.long))])
    assert model.training


def test_nothing_counted_is_an_error(model):
    batch = plain_batch(rows(2))
    with pytest.raises(CourseError, match="no token counts"):
        evaluate(model, [Batch(batch.inputs, batch.targets, torch.zeros(2, 8, dtype=torch.bool))])


def test_perplexity():
    assert Evaluation(math.log(7), 10).perplexity == pytest.approx(7)
    assert math.isfinite(Evaluation(1e6, 10).perplexity)


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_the_same_generator_gives_the_same_text(model):
    one = generate(model, [1, 2], 25, generator(4))
    assert len(one) == 25 and one == generate(model, [1, 2], 25, generator(4))
    assert one != generate(model, [1, 2], 25, generator(5))
    assert model.training


def test_temperature_zero_and_top_one_take_the_likeliest(model):
    model.eval()
    greedy = generate(model, [3], 6, generator(), temperature=0)
    assert greedy == generate(model, [3], 6, generator(9), top_k=1)
    ids = [3]
    for _ in range(6):
        ids.append(int(model(torch.tensor([ids]))[0, -1].argmax()))
    assert greedy == ids[1:]
    for tiny in (5e-324, 1e-320, 1e-39, 1e-37):
        assert generate(model, [3], 6, generator(), temperature=tiny) == greedy


def test_frequencies_follow_the_softmax(model):
    model.eval()
    expected = torch.softmax(model(torch.tensor([[5]]))[0, -1].detach() / 0.7, 0)
    source = generator(1)
    drawn = torch.tensor([generate(model, [5], 1, source, temperature=0.7)[0] for _ in range(3000)])
    share = torch.bincount(drawn, minlength=V) / 3000
    assert (share - expected).abs().max() < 5 * math.sqrt(0.25 / 3000)


def test_top_k_never_leaves_the_k_likeliest(model):
    model.eval()
    allowed = set(model(torch.tensor([[5]]))[0, -1].topk(3).indices.tolist())
    source = generator(2)
    assert {generate(model, [5], 1, source, top_k=3)[0] for _ in range(200)} <= allowed


def test_it_stops_at_the_stop_token_without_returning_it(model):
    free = generate(model, [1], 30, generator(3))
    stop = free[4]
    assert generate(model, [1], 30, generator(3), stop=stop) == free[: free.index(stop)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"prompt": []}, "at least one token"),
        ({"prompt": [V]}, "outside the vocabulary"),
        ({"prompt": [-1]}, "outside the vocabulary"),
        ({"tokens": -1}, "tokens"),
        ({"temperature": -0.5}, "temperature"),
        ({"temperature": math.nan}, "temperature"),
        ({"top_k": 0}, "top_k"),
    ],
)
def test_wrong_arguments_are_one_line(model, arguments, message):
    values = {"prompt": [1], "tokens": 3, "generator": generator()} | arguments
    with pytest.raises(CourseError, match=message):
        generate(model, **values)
