import pytest
import torch

from lmcourse.errors import CourseError
from lmcourse.model import Transformer, TransformerConfig
from lmcourse.objective import masked_cross_entropy
from lmcourse.precision import DTYPES, Precision, Probe, choose_precision, probe


def tiny() -> Transformer:
    return Transformer(TransformerConfig(20, context=16, layers=2, heads=2, width=32), seed=1)


def loss_and_gradients(name: str, scale: float = 1.0) -> tuple[float, list[torch.Tensor]]:
    model = tiny()
    Precision(name).apply(model)
    tokens = torch.randint(20, (3, 17), generator=torch.Generator().manual_seed(0))
    logits = model(tokens[:, :-1])
    assert logits.dtype == torch.float32
    loss = masked_cross_entropy(logits, tokens[:, 1:])
    (loss * scale).backward()
    return loss.item(), [p.grad / scale for p in model.parameters()]


@pytest.mark.parametrize(("name", "scale"), [("bf16", 1.0), ("fp16", 2.0**12)])
def test_narrow_products_leave_weights_and_gradients_wide(name, scale):
    exact, reference = loss_and_gradients("fp32")
    loss, gradients = loss_and_gradients(name, scale)
    assert 0 < abs(loss - exact) < 0.01  # narrow, and not by much
    assert all(g.dtype == torch.float32 for g in gradients)
    for got, expected in zip(gradients, reference, strict=True):
        assert (got - expected).norm() <= 0.05 * expected.norm() + 1e-6


def test_a_model_goes_back_to_full_precision():
    model, tokens = tiny().eval(), torch.arange(16)[None]
    before = model(tokens)
    Precision("bf16").apply(model)
    assert not torch.equal(model(tokens), before)
    Precision("fp32").apply(model)
    assert torch.equal(model(tokens), before)


def test_products_really_compute_in_the_type():
    model, seen = tiny(), []
    Precision("bf16").apply(model)
    for module in (model.blocks[0].mlp.up, model.blocks[1].attention.value, model.head):
        module.register_forward_hook(lambda m, args, out: seen.append(out.dtype))
    model(torch.arange(16)[None])
    assert seen == [torch.bfloat16, torch.bfloat16, torch.float32]


def test_the_choice_goes_by_measured_speed():
    def fastest(fp32: float, bf16: float, fp16: float) -> str:
        return Probe({"fp32": fp32, "bf16": bf16, "fp16": fp16}, "cpu").fastest

    assert fastest(100, 200, 5) == "bf16"
    assert fastest(100, 20, 5) == "fp32"
    assert fastest(100, 110, 5) == "fp32"  # not worth the rounding
    assert fastest(100, 20, 800) == "fp16"
    assert fastest(100, 700, 800) == "bf16"


def test_the_probe_measures_every_type_and_fits_a_line():
    measured = probe(rows=256)
    assert set(measured.rates) == set(DTYPES) and all(rate > 0 for rate in measured.rates.values())
    assert "\n" not in str(measured) and measured.fastest in str(measured)
    precision, line = choose_precision("auto")
    assert precision.name in line and precision.needs_scaler == (precision.name == "fp16")
    assert choose_precision("fp16")[0].needs_scaler


@pytest.mark.parametrize("name", ["bf61", "", "float32"])
def test_an_unknown_name_is_one_line(name):
    with pytest.raises(CourseError, match="precision: expected one of fp32, bf16, fp16"):
        choose_precision(name)
    with pytest.raises(CourseError, match="precision: expected one of fp32, bf16, fp16"):
        Precision(name)
