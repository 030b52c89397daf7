"""The figures of a table against plain float64 arithmetic."""

from __future__ import annotations

import json
import math

import pytest
import torch

from lmcourse.model import Transformer, TransformerConfig
from lmcourse.monitor.layers import layer_of, parameters_by_layer
from lmcourse.monitor.monitor import Monitor, data_hash
from lmcourse.monitor.probe import largest_logits, probe
from lmcourse.objective import masked_cross_entropy
from lmcourse.packing import document_batch, plain_batch

V, EOS = 11, 0


def model(**changes: object) -> Transformer:
    shape = {"vocab_size": V, "context": 24, "layers": 2, "heads": 2, "width": 12, "mlp": "relu2"}
    return Transformer(TransformerConfig(**{**shape, **changes}), seed=4)


def batch(rows: int = 3, seed: int = 0, documents: bool = True):
    tokens = torch.randint(0, V, (rows, 25), generator=torch.Generator().manual_seed(seed))
    return document_batch(tokens, EOS) if documents else plain_batch(tokens)


def backward(net: Transformer, data) -> None:
    logits = net(data.inputs, data.positions, data.doc_id)
    masked_cross_entropy(logits, data.targets, data.keep).backward()


def test_every_parameter_is_in_one_layer() -> None:
    net = model(positions="both", tied=True)
    layers = parameters_by_layer(net)
    assert list(layers) == [
        *("embedding", "blocks.0.attention", "blocks.0.mlp", "blocks.1.attention", "blocks.1.mlp"),
        *("final_norm", "position"),
    ]
    members = [id(p) for parameters in layers.values() for p in parameters]
    assert sorted(members) == sorted(id(p) for p in net.parameters())
    assert layer_of("blocks.10.mlp_norm.weight") == "blocks.10.mlp"
    assert layer_of("blocks.1.attention.query_norm.weight") == "blocks.1.attention"


def test_norms_ratios_and_zero_shares() -> None:
    net, data = model(), batch()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    monitor = Monitor(net, every=3)
    monitor.begin(1, [data])
    backward(net, data)
    net.blocks[1].mlp_norm.weight.grad = None  # as of a parameter that the loss does not reach
    before = {name: p.detach().double().clone() for name, p in net.named_parameters()}
    gradients = {name: p.grad.double().clone() for name, p in net.named_parameters() if p.grad is not None}
    monitor.after_backward(norm=2.0, clip=1.0)
    optimizer.step()
    figures = monitor.after_step()
    for layer, row in figures["layers"].items():
        names = [name for name in before if layer_of(name) == layer]
        grads = torch.cat([gradients[n].flatten() for n in names if n in gradients])
        weights = torch.cat([before[n].flatten() for n in names])
        missing = sum(before[n].numel() for n in names if n not in gradients)
        assert row["gradient_norm"] == pytest.approx(grads.norm().item(), rel=1e-5)
        assert row["weight_norm"] == pytest.approx(weights.norm().item(), rel=1e-5)
        assert row["update_ratio"] == pytest.approx(0.1 * (grads.norm() / weights.norm()).item(), rel=1e-3)
        zero = (int((grads == 0).sum()) + missing) / weights.numel()
        assert row["zero_gradient_share"] == pytest.approx(zero)
    assert figures["layers"]["blocks.1.mlp"]["zero_gradient_share"] == pytest.approx(12 / (12 + 2 * 12 * 48))
    json.dumps(figures, allow_nan=False)


def test_clip_share_counts_every_accepted_step_and_survives_a_resume() -> None:
    net, data = model(), batch()
    monitor = Monitor(net, every=4)
    tables = []
    for step, norm in enumerate([2.0, 0.5, 1.0, 3.0], start=1):
        monitor.begin(step, [data])
        monitor.after_backward(norm, clip=1.0)
        tables.append(monitor.after_step())
    assert [t and t["clip_share"] for t in tables] == [1.0, None, None, 0.5]
    other = Monitor(net, every=1)
    other.load_state_dict(json.loads(json.dumps(monitor.state_dict())))
    other.begin(5, [data])
    other.after_backward(0.1, clip=1.0)
    assert other.after_step()["clip_share"] == pytest.approx(2 / 5)


@pytest.mark.parametrize("documents", [True, False])
@pytest.mark.parametrize("changes", [{}, {"qk_norm": False}, {"positions": "learned"}, {"dropout": 0.4}])
def test_the_largest_logit_is_that_of_the_whole_table(documents: bool, changes: dict) -> None:
    """Against all scores, one by one, of the queries and keys that the model itself used."""
    net, data = model(**changes), batch(documents=documents)
    with torch.no_grad():
        net.blocks[0].attention.query.weight *= 40
    seen = {}

    def keep(module, args):
        x, angles, attend = args

        def watched(q, k, v, dropout):
            seen["q"], seen["k"] = q, k
            return attend(q, k, v, dropout)

        return x, angles, watched

    handle = net.blocks[0].attention.register_forward_pre_hook(keep)
    with torch.no_grad():
        net.eval()(data.inputs, data.positions, data.doc_id)
    handle.remove()
    net.train()
    q, k = (seen[name].double() for name in "qk")
    worst = torch.full((2,), -math.inf, dtype=torch.float64)
    for b in range(3):
        for i in range(24):
            for j in range(i + 1):
                if not documents or data.doc_id[b, i] == data.doc_id[b, j]:
                    worst = torch.maximum(worst, (q[b, i] * k[b, j]).sum(-1) / math.sqrt(6))
    found = probe(net, data).attention_logits["blocks.0"]
    assert found == pytest.approx(worst.tolist(), rel=1e-5)


def test_long_rows_are_sampled_but_the_last_query_is_always_asked() -> None:
    q = torch.zeros(1, 1000, 1, 4)
    q[0, -1] = 3.0
    assert largest_logits(q, torch.ones(1, 1000, 1, 4), None).item() == pytest.approx(6.0)


def test_dead_units_are_those_that_no_token_wakes() -> None:
    net, data = model(), batch()
    up = net.blocks[1].mlp.up.weight
    with torch.no_grad():
        up[:12] = 0.0  # a quarter of 48
    shares = probe(net, data).dead_units
    assert shares == {"blocks.0": 0.0, "blocks.1": pytest.approx(0.25)}


def test_the_probe_touches_neither_mode_nor_gradient_nor_generator() -> None:
    net, data = model(dropout=0.5), batch()
    net.train()
    generator = torch.get_rng_state()
    probe(net, data)
    assert torch.equal(torch.get_rng_state(), generator)
    assert all(module.training for module in net.modules())
    assert all(p.grad is None for p in net.parameters())
    assert not any(module._forward_pre_hooks for module in net.modules())


def test_the_hash_names_tokens_whatever_the_micro_batches() -> None:
    data = batch(rows=4)
    assert data_hash([data]) == data_hash(list(data.split(3)))
    assert data_hash([data]) != data_hash([batch(rows=4, seed=1)])
