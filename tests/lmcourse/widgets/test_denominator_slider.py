"""The denominator slider without a browser: numbers, words, limits and the still picture."""

import itertools
import json
import warnings

import matplotlib
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

import lmcourse.widgets as widgets
from lmcourse.errors import CourseError
from lmcourse.widgets.text import strings

SETTINGS = [
    {},
    {"first_tokens": 1, "second_tokens": 64},
    {"first_tokens": 64, "second_tokens": 64, "first_loss": 0, "second_loss": 8},
    {"first_tokens": 1, "second_tokens": 1},
]


def test_numbers_of_the_text():
    payload = widgets.denominator().payload
    assert payload.arrays["means"] == pytest.approx([1.6, 2.5])
    assert payload.arrays["weights"] @ [2, 8] == pytest.approx([1, 1])
    assert payload.readout == (
        "Token mean 1.60, example mean 2.50 nats. "
        "In the example mean a token of A weighs 4.0 times a token of B."
    )
    equal = widgets.denominator(first_tokens=8).payload
    assert equal.arrays["means"][0] == equal.arrays["means"][1] and "equal" in equal.readout


@pytest.mark.parametrize("settings", SETTINGS)
def test_words_and_still_picture(settings):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        widget = widgets.denominator(**settings)
        payload = widget.payload
        assert 150 <= len(payload.alt) <= 300, payload.alt
        assert widget.still().alt == payload.alt and payload.table()
    figure = widget.design.draw(payload, strings("en", "denominator"))
    FigureCanvasAgg(figure).draw()
    texts = [t for axes in figure.axes for t in axes.findobj(matplotlib.text.Text) if t.get_visible()]
    texts = [t for t in texts if t.get_text().strip()]
    boxes = [t.get_window_extent().padded(-1) for t in texts]
    for a, b in itertools.combinations(range(len(texts)), 2):
        assert not boxes[a].overlaps(boxes[b]), (texts[a].get_text(), texts[b].get_text(), settings)
    for text, box in zip(texts, boxes, strict=True):
        assert box.x0 >= 0 and box.y0 >= 0 and box.x1 <= 680 and box.y1 <= 400, text.get_text()


def test_every_change_of_a_setting_changes_the_alt_text():
    base = widgets.denominator()
    for control in base.design.controls:
        for value in (control.low, control.high):
            assert widgets.denominator(**{control.name: value}).payload.alt != base.payload.alt


def test_state_and_limits():
    widget = widgets.denominator(first_tokens=3, second_loss=0.7)
    again = widgets.from_state(json.loads(json.dumps(widget.state())))
    assert again.payload.packed() == widget.payload.packed() and repr(again) == repr(widget)
    assert np.isfinite(again.payload.arrays["weights"]).all()
    for wrong in ({"first_tokens": 0}, {"first_loss": -1}, {"third_tokens": 2}):
        with pytest.raises(CourseError, match=next(iter(wrong))):
            widgets.denominator(**wrong)
