"""Faults planted at known places are named."""

from __future__ import annotations

import pytest
import torch

from lmcourse.model import Transformer, TransformerConfig
from lmcourse.monitor.nan_trace import find_non_finite
from lmcourse.objective import masked_cross_entropy
from lmcourse.packing import document_batch

V, EOS = 9, 0


def model() -> Transformer:
    return Transformer(
        TransformerConfig(vocab_size=V, context=12, layers=3, heads=2, width=8, dropout=0.1), seed=1
    )


def batch(rows: int = 5):
    tokens = torch.randint(1, V - 1, (rows, 13), generator=torch.Generator().manual_seed(2))
    tokens[:, 6] = EOS
    return document_batch(tokens, EOS)


def with_rare_token(row: int):
    data = batch()
    data.inputs[row, 3] = V - 1
    return data


def backward(net: Transformer, micro_batches) -> None:
    for data in micro_batches:
        masked_cross_entropy(
            net(data.inputs, data.positions, data.doc_id), data.targets, data.keep
        ).backward()


def test_a_healthy_step_gives_no_finding() -> None:
    net, data = model(), batch()
    backward(net, [data])
    report = find_non_finite(net, torch.optim.AdamW(net.parameters()), [data])
    assert (report.rows, report.module, report.weights, report.gradient) == ([], "", [], "")
    assert report.in_float32 is None
    assert "did not happen again" in report.verdict()


def test_a_module_that_breaks_on_one_token_is_named_with_its_row() -> None:
    net, data = model(), with_rare_token(row=3)

    def break_on_rare(module, args, output):
        loud = args[0].abs().amax() > 1e4
        return output * torch.nan if loud else output

    with torch.no_grad():
        net.embedding.weight[V - 1] = 1e5  # large but finite; the norm in front of the MLP takes it back
    net.blocks[1].attention_norm.register_forward_hook(break_on_rare)
    micro_batches = list(data.split(5))
    backward(net, micro_batches)
    generator = torch.get_rng_state()
    gradients = [p.grad.clone() for p in net.parameters()]
    report = find_non_finite(net, None, micro_batches)
    assert report.rows == [3]
    assert report.module == "blocks.1.attention_norm"
    assert report.gradient == "head.weight"
    assert report.in_float32 is False
    assert "these rows" in report.verdict()
    assert torch.equal(torch.get_rng_state(), generator)
    assert all(
        torch.equal(p.grad, g) or p.grad.isnan().any()
        for p, g in zip(net.parameters(), gradients, strict=True)
    )
    assert all(
        not module._forward_hooks for name, module in net.named_modules() if name != "blocks.1.attention_norm"
    )


def test_arithmetic_between_modules_is_named_by_its_way() -> None:
    net, data = model(), batch()
    net.blocks[2].attention.register_forward_pre_hook(
        lambda module, args: (*args[:2], lambda q, k, v, p: args[2](q, k, v, p) / 0)
    )
    report = find_non_finite(net, None, [data])
    assert report.module == "blocks.2.attention, on the way into blocks.2.attention.residual"
    assert report.rows == [0, 1, 2, 3, 4]


@pytest.mark.filterwarnings("ignore:Mismatch dtype between input and weight")
def test_a_number_format_is_told_from_the_data() -> None:
    net, data = model(), batch()
    with torch.no_grad():
        net.head.weight.fill_(3e4)  # products beyond 65,504
    report = find_non_finite(net, None, [data], lambda: torch.autocast("cpu", torch.float16))
    assert report.module == "head"
    assert report.in_float32 is True
    assert "number format" in report.verdict()


def test_broken_weights_and_moments_point_to_an_earlier_update() -> None:
    net, data = model(), batch()
    optimizer = torch.optim.AdamW(net.parameters())
    backward(net, [data])
    optimizer.step()
    with torch.no_grad():
        optimizer.state[net.blocks[0].mlp.up.weight]["exp_avg"][0, 0] = torch.nan
        net.blocks[1].attention.key.weight[2, 2] = torch.inf
    report = find_non_finite(net, optimizer, [data])
    assert report.moments == ["blocks.0.mlp.up.weight"]
    assert report.weights == ["blocks.1.attention.key.weight"]
    assert report.module.startswith("blocks.1.attention")
    assert "earlier update" in report.verdict()
    assert all("\n" not in line for line in report.words())


def test_only_the_backward_pass_can_break_too() -> None:
    net, data = model(), batch()
    backward(net, [data])
    net.blocks[0].mlp.gate.weight.grad[0, 0] = torch.inf
    net.embedding.weight.grad[0, 0] = torch.nan
    report = find_non_finite(net, None, [data])
    assert (report.rows, report.module) == ([], "")
    assert report.gradient == "blocks.0.mlp.gate.weight"  # later in the model, so earlier on the way back
    assert "backward pass" in report.verdict()
