from __future__ import annotations

import itertools
import json

import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from lmcourse.model import Transformer, TransformerConfig
from lmcourse.monitor import peak
from lmcourse.monitor.peak import Peak, peak_by_name, peak_of
from lmcourse.monitor.speed import Speed, flops_per_token


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("positions", ["rotary", "learned"])
def test_operations_by_hand(tied: bool, positions: str) -> None:
    shape = {"vocab_size": 100, "context": 64, "layers": 3, "heads": 2, "width": 32, "mlp": "relu2"}
    model = Transformer(TransformerConfig(**shape, tied=tied, positions=positions))
    multiplied = 3 * (4 * 32 * 32 + 2 * 32 * 128) + 100 * 32  # the head counts, the embedding does not
    attention = 3 * 3 * 2 * (2 * 2 * 16 * 40)  # backward twice forward; 3 layers; 2 heads; two products
    assert flops_per_token(model, 40) == 6 * multiplied + attention


def test_the_library_counts_as_many() -> None:
    """A forward and backward pass in plain products of matrices; the mask takes nothing off the count."""
    model = Transformer(TransformerConfig(vocab_size=50, context=32, layers=2, heads=2, width=16))
    tokens = torch.zeros(3, 32, dtype=torch.int64)
    with FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH):
        model(tokens, None, torch.zeros_like(tokens)).sum().backward()
    assert counter.get_total_flops() == tokens.numel() * flops_per_token(model, 32)


def test_rates_come_from_durations_not_from_readings() -> None:
    """A clock that starts at a million seconds, as after days of uptime."""
    readings = itertools.count(1_000_000.0, 2.5)
    speed = Speed()
    for _ in range(3):
        began = next(readings)
        speed.add(counted=900, processed=1000, flops=5_000_000, seconds=next(readings) - began)
    assert speed.rate(speed.counted) == pytest.approx(900 / 2.5)
    assert speed.words(Peak(8e6, "a peak")) == "360 tokens/s (400 with padding), 25% of a peak"
    assert speed.words(Peak(8e6, "a peak"), world=2).endswith(" 12% of 2 times a peak")
    assert Speed().rate(5) == 0.0


def test_an_unknown_card_is_unknown_and_not_a_known_one() -> None:
    for name in ("NVIDIA H100", "nvidia h200", "NVIDIA H200 NVL", "AMD Instinct MI300X", ""):
        assert peak_by_name(name, "bf16").flops is None
    assert peak_by_name("Tesla T4", "bf16").flops is None  # a known card without this type
    assert peak_by_name("NVIDIA H200", "bf16").flops == 989.4e12
    assert "unknown (no bf16 peak is known for 'X')" in Speed(1, 1, 1, 1.0).words(peak_by_name("X", "bf16"))


def test_a_processor_keeps_the_best_rate_that_it_ever_reached(tmp_path, monkeypatch) -> None:
    cache = tmp_path / "deep" / "peaks.json"
    for rate, kept in ((3e9, 3e9), (1e9, 3e9), (7e9, 7e9)):
        monkeypatch.setattr(peak, "_measure", lambda precision, rate=rate: rate)
        assert peak_of(torch.device("cpu"), "fp32", cache).flops == kept
    assert list(json.loads(cache.read_text()).values()) == [7e9]
    cache.write_text("[broken")
    assert peak_of(torch.device("cpu"), "fp32", cache).flops == 7e9


def test_the_probe_divides_operations_by_its_best_duration(monkeypatch) -> None:
    monkeypatch.setattr(peak, "SIDE", 8)
    readings = iter([100.0, 100.0, 100.09, 100.09, 100.12, 100.12, 100.2])
    assert peak._measure("fp32", lambda: next(readings)) == pytest.approx(2 * 8**3 / 0.03, rel=1e-3)
