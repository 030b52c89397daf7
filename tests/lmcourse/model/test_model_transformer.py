import math

import pytest
import torch
import torch.nn.functional as F

from lmcourse.errors import CourseError
from lmcourse.model import Transformer, TransformerConfig
from lmcourse.objective import masked_cross_entropy

SMALL = {"context": 24, "layers": 3, "heads": 2, "width": 32}


def sees_all(q, k, v, dropout):
    q, k, v = (x.transpose(1, 2) for x in (q, k, v))
    return F.scaled_dot_product_attention(q, k, v).transpose(1, 2)


def random_tokens(vocab_size: int, B: int, T: int, seed: int = 1) -> torch.Tensor:
    return torch.randint(vocab_size, (B, T), generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("mlp", ["swiglu", "relu2"])
@pytest.mark.parametrize("masked", [False, True])
def test_model_is_causal(mlp, masked):
    model = Transformer(TransformerConfig(50, mlp=mlp, **SMALL)).eval()
    tokens = random_tokens(50, 2, 20)
    doc_id = torch.zeros(2, 20, dtype=torch.int64) if masked else None
    with torch.no_grad():
        before = model(tokens, doc_id=doc_id)
        for place in (0, 7, 19):
            changed = tokens.clone()
            changed[:, place] = (changed[:, place] + 1) % 50
            after = model(changed, doc_id=doc_id)
            assert torch.equal(after[:, :place], before[:, :place])
            assert not torch.allclose(after[:, place], before[:, place])


@pytest.mark.parametrize(
    ("vocab_size", "width", "layers", "tied"),
    [(16, 32, 1, False), (65, 128, 4, False), (852, 96, 3, True), (8192, 256, 2, False), (400, 512, 2, True)],
)
def test_first_loss_is_ln_v(vocab_size, width, layers, tied):
    config = TransformerConfig(vocab_size, context=32, layers=layers, width=width, tied=tied)
    model = Transformer(config).eval()
    with torch.no_grad():
        logits = model(random_tokens(vocab_size, 4, 32))
        loss = masked_cross_entropy(logits, random_tokens(vocab_size, 4, 32, seed=2)).item()
    assert abs(loss - math.log(vocab_size)) < 0.05


def test_a_model_without_causal_mask_starts_at_ln_v_too():
    """The first loss cannot show a missing mask: the popular advice that it does is wrong."""
    model = Transformer(TransformerConfig(64, **SMALL)).eval()
    tokens = random_tokens(64, 8, 24)
    with torch.no_grad():
        model.plan = lambda tokens, doc_id: sees_all
        logits = model(tokens[:, :-1])
    assert abs(masked_cross_entropy(logits, tokens[:, 1:]).item() - math.log(64)) < 0.05


def test_residual_stream_keeps_its_size_with_depth():
    stds = {}
    for layers in (1, 8):
        model = Transformer(TransformerConfig(50, layers=layers, width=64, heads=4))
        stds[layers] = [p.std().item() for n, p in model.named_parameters() if n.endswith("residual.weight")]
        others = [p.std().item() for n, p in model.named_parameters() if n.endswith("query.weight")]
        assert all(abs(std - 0.02) < 0.001 for std in others)
        assert all(abs(std - 0.02 / math.sqrt(2 * layers)) < 0.001 for std in stds[layers])


def test_weights_come_from_the_seed_alone():
    torch.manual_seed(0)
    before = torch.get_rng_state()
    one, same = (Transformer(TransformerConfig(50, **SMALL), seed=3).state_dict() for _ in range(2))
    assert torch.equal(before, torch.get_rng_state())
    other = Transformer(TransformerConfig(50, **SMALL), seed=4).state_dict()
    assert all(torch.equal(one[name], same[name]) for name in one)
    assert not torch.equal(one["head.weight"], other["head.weight"])
    assert all(tensor.isfinite().all() for tensor in one.values())  # layers are made without values


def test_tied_weights_are_one_matrix():
    tied = Transformer(TransformerConfig(50, tied=True, **SMALL))
    untied = Transformer(TransformerConfig(50, **SMALL))
    count = {m: sum(p.numel() for p in m.parameters()) for m in (tied, untied)}
    assert tied.head.weight is tied.embedding.weight
    assert count[untied] - count[tied] == 50 * 32


def test_dropout_acts_in_training_only():
    model = Transformer(TransformerConfig(50, dropout=0.5, **SMALL))
    tokens = random_tokens(50, 2, 20)
    with torch.no_grad(), torch.random.fork_rng(devices=[]):
        assert not torch.equal(model(tokens), model(tokens))
        model.eval()
        assert torch.equal(model(tokens), model(tokens))


def test_qk_norm_bounds_attention_whatever_the_size_of_the_keys():
    tokens = random_tokens(50, 2, 20)
    for qk_norm in (True, False):
        model = Transformer(TransformerConfig(50, qk_norm=qk_norm, **SMALL)).eval()
        with torch.no_grad():
            before = model(tokens)
            for block in model.blocks:
                block.attention.key.weight.mul_(100)
            unmoved = torch.allclose(model(tokens), before, atol=1e-4)
        assert unmoved == qk_norm


def test_saved_weights_load_by_name():  # no prefixes to strip
    config = TransformerConfig(50, **SMALL)
    model, other = Transformer(config, seed=1), Transformer(config, seed=2)
    other.load_state_dict(model.state_dict(), strict=True)
    assert not any(name.startswith(("module.", "_orig_mod.")) for name in model.state_dict())
    tokens = random_tokens(50, 1, 5)
    assert torch.equal(model(tokens), other(tokens))


@pytest.mark.parametrize("positions", ["rotary", "learned", "both"])
def test_only_learned_positions_can_count(positions):
    """Rotary angles tell distances: without a mark at its start, a text of equal tokens looks alike."""
    model = Transformer(TransformerConfig(50, positions=positions, **SMALL)).eval()
    logits = model(torch.full((1, 20), 7)).detach()[0]
    alike = torch.allclose(logits, logits[:1].expand_as(logits), atol=1e-5)
    assert alike == (positions == "rotary")


def test_a_sequence_longer_than_the_context_is_named():
    with pytest.raises(CourseError, match="25 a row, but the model's context is 24"):
        Transformer(TransformerConfig(50, **SMALL))(random_tokens(50, 1, 25))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"width": 63}, "63 cannot be divided among 4 heads"),
        ({"width": 36}, "must be even"),
        ({"heads": 0}, "heads"),
        ({"layers": 1.5}, "layers"),
        ({"mlp": "gelu"}, "'gelu'"),
        ({"positions": "sine"}, "'sine'"),
        ({"dropout": 1.0}, "dropout"),
    ],
)
def test_an_impossible_shape_is_one_line(values, message):
    with pytest.raises(CourseError, match=message):
        TransformerConfig(10, **values)
