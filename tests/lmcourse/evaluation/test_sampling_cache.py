"""What a model writes does not depend on whether it remembers what it has read."""

import math

import pytest
import torch

from lmcourse.errors import CourseError
from lmcourse.evaluation import generate
from lmcourse.evaluation.choice import Choice
from lmcourse.evaluation.sampling import Reader
from lmcourse.model import Transformer, TransformerConfig

V, CONTEXT = 13, 12


@pytest.fixture(params=["rotary", "learned", "both"])
def model(request) -> Transformer:
    shape = TransformerConfig(V, context=CONTEXT, layers=2, heads=2, width=16, positions=request.param)
    model = Transformer(shape, seed=1)
    with torch.no_grad():
        model.head.weight.mul_(40)  # far from uniform
    return model.eval()


def whole(model, ids) -> torch.Tensor:
    with torch.no_grad():
        return model(torch.tensor([ids[-CONTEXT:]]))[0, -1]


@pytest.mark.parametrize("prefill", [1, 3, 5, 512])
def test_logits_equal_the_whole_forward_across_the_end_of_the_context(model, prefill):
    ids = torch.randint(V, (30,), generator=torch.Generator().manual_seed(prefill)).tolist()
    reader = Reader(model, prefill)
    with torch.inference_mode():
        for length in (7, 8, 9, 11, 12, 13, 14, 30):  # a prompt in pieces, then one by one, then beyond
            torch.testing.assert_close(
                reader.next_logits(ids[:length]), whole(model, ids[:length]), rtol=1e-5, atol=1e-5
            )


@pytest.mark.parametrize("options", [{}, {"temperature": 0.6}, {"top_k": 4}, {"top_p": 0.7}])
def test_ids_equal_those_of_the_whole_forward(model, options):
    prompt, expected = [3, 1, 4], [3, 1, 4]
    source = torch.Generator().manual_seed(5)
    for _ in range(25):
        expected.append(Choice(**options).pick(whole(model, expected), source))
    assert generate(model, prompt, 25, torch.Generator().manual_seed(5), **options) == expected[3:]


def test_a_token_costs_one_token_while_the_text_fits(model):
    lengths = []
    model.register_forward_pre_hook(lambda module, arguments: lengths.append(arguments[0].shape[1]))
    generate(model, [1, 2, 3, 4], 6, torch.Generator().manual_seed(0))
    assert lengths == [4, 1, 1, 1, 1, 1]


def test_top_p_keeps_the_fewest_that_reach_it():
    logits = torch.tensor([0.1, 0.5, 0.15, 0.25]).log()
    for top_p, kept in ((1e-9, [1]), (0.5, [1]), (0.51, [1, 3]), (0.76, [1, 2, 3]), (1.0, [0, 1, 2, 3])):
        probabilities = Choice(top_p=top_p).distribution(logits)
        assert probabilities.nonzero().flatten().tolist() == kept
        assert float(probabilities.sum()) == pytest.approx(1)
        ratios = probabilities[kept] / logits.exp()[kept]
        assert float(ratios.max() / ratios.min()) == pytest.approx(1)


def test_limits_apply_to_the_heated_distribution_and_in_order():
    logits = torch.tensor([0.6, 0.3, 0.1]).log()
    assert Choice(temperature=10.0, top_p=0.6).distribution(logits).count_nonzero() == 2
    both = Choice(top_k=2, top_p=0.65).distribution(logits)  # of two: 0.667 and 0.333
    assert both.tolist() == [1, 0, 0]


def test_top_p_in_text(model):
    likeliest = int(whole(model, [5]).argmax())
    source = torch.Generator().manual_seed(1)
    assert {generate(model, [5], 1, source, top_p=1e-6)[0] for _ in range(20)} == {likeliest}


@pytest.mark.parametrize("top_p", [0.0, -0.1, 1.01, math.nan])
def test_an_impossible_top_p_is_one_line(top_p):
    with pytest.raises(CourseError, match=r"^top_p: expected a probability"):
        Choice(top_p=top_p)
