from __future__ import annotations

import json
from dataclasses import replace

import pytest

from lmcourse.errors import CourseError
from lmcourse.experiments import reference_bands
from lmcourse.experiments.reference_bands import Band, band_for, smoothed_at, write_band
from lmcourse.trainer import configure


@pytest.fixture
def record(tmp_path, monkeypatch):
    path = tmp_path / "data" / "reference_bands.json"
    monkeypatch.setattr(reference_bands, "_places", lambda: [tmp_path])
    write_band(Band("markov", [0, 1], [10, 20], [2.6, 2.4], [2.7, 2.44]), path)
    write_band(Band("regimes", [0], [10], [2.0], [2.0]), path)
    return path


def test_a_band_is_found_for_its_configuration_with_any_seed(record) -> None:
    config = configure("markov", seed=77, precision="fp32", save_every=3)
    assert band_for(config) == Band("markov", [0, 1], [10, 20], [2.6, 2.4], [2.7, 2.44])
    assert band_for(replace(config, lr=1e-3)) is None
    assert band_for(configure("stories")) is None


def test_outside_is_beyond_the_margin_on_either_side() -> None:
    band = Band("markov", [0, 1], [10, 20], [2.6, 2.4], [2.7, 2.44])
    assert band.outside({10: 2.65, 20: 2.42}) == []
    assert band.outside({10: 2.6 - 0.08, 15: 9.0}) == []
    (step, loss, low, high) = band.outside({10: 2.9, 20: 2.42})[0]
    assert (step, loss) == (10, 2.9) and low < 2.6 and 2.7 < high < 2.9
    assert [s for s, *_ in band.outside({10: 2.4, 20: 2.2})] == [10, 20]


def test_smoothed_over_the_last_twenty() -> None:
    losses = {step: float(step) for step in range(1, 41)}
    assert smoothed_at(losses, 40) == sum(range(21, 41)) / 20
    assert smoothed_at(losses, 3) == 2.0


def test_a_damaged_record_is_one_line(record) -> None:
    record.write_text(json.dumps({"bands": {"markov": {"seeds": 3}}}))
    with pytest.raises(CourseError, match="recorded bands cannot be read"):
        band_for(configure("markov"))


def test_the_shipped_record_is_of_the_shipped_configurations() -> None:
    for corpus in ("markov", "regimes", "stories"):
        band = band_for(configure(corpus))
        assert band is not None and len(band.seeds) >= 3, corpus
        assert all(low <= high for low, high in zip(band.low, band.high, strict=True))
