"""The widgets without a browser: settings, words, saved states, still pictures, and what stands on a page."""

import itertools
import json
import sys
import warnings

import matplotlib
import numpy as np
import pytest

import lmcourse.widgets as widgets
from lmcourse.errors import CourseError
from lmcourse.widgets.controls import Control
from lmcourse.widgets.payload import Payload, unpacked
from lmcourse.widgets.stage import Register
from lmcourse.widgets.text import TEXT, decimal, fill, percent, strings

matplotlib.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.backends.backend_agg import FigureCanvasAgg

MAKERS = {"packing": widgets.packing, "waste": widgets.waste}
KINDS = sorted(MAKERS)


def ends(control: Control) -> list:
    if control.kind in ("range", "number", "seed"):
        return [control.low, control.high]
    if control.kind == "check":
        return [False, True]
    if control.kind == "set":
        return [[], list(control.options)]
    return list(control.options) or ["", "A:1", "A:200 B:0", "?"]


@pytest.mark.parametrize("kind", KINDS)
def test_every_setting_at_both_ends_without_a_browser_or_a_warning(kind):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        widget = MAKERS[kind]()
        seen = set()
        for control in widget.design.controls:
            for value in ends(control):
                changed = MAKERS[kind](**{control.name: value})
                payload = changed.payload
                assert 150 <= len(payload.alt) <= 300, payload.alt
                assert all(np.isfinite(array).all() for array in payload.arrays.values())
                assert payload.table() and payload.readout and payload.caption
                seen.add(payload.alt)
        assert len(seen) > len(widget.design.controls) / 2
        still = widget.still()
    assert (still.width, still.height) == (680, 400) and still.alt == widget.payload.alt
    assert not plt.get_fignums()


@pytest.mark.parametrize("kind", KINDS)
def test_state_gives_the_same_payload_byte_for_byte(kind):
    changes = {
        "packing": {"documents": "A:9 B:31", "window": 20, "eos": True},
        "waste": {"mean": 77, "spread": 1.1},
    }
    widget = MAKERS[kind](**changes[kind], seed=5)
    again = widgets.from_state(json.loads(json.dumps(widget.state())))
    assert again.payload.packed() == widget.payload.packed()
    assert again.payload.readout == widget.payload.readout and again.state() == widget.state()
    assert repr(again) == repr(widget)


@pytest.mark.parametrize("kind", KINDS)
def test_repr_is_the_call_that_makes_the_widget_again(kind):
    widget = MAKERS[kind](seed=3)
    assert eval(repr(widget), {"lmcourse": sys.modules["lmcourse"]}).state() == widget.state()


def test_words_of_the_example():
    payload = widgets.packing().payload
    assert payload.readout == "Token 7 (B, position 2) sees 3 tokens: B0 B1 B2. It counts in the loss."
    assert dict(payload.numbers)["use of the window"] == "90.6\N{NO-BREAK SPACE}%"
    assert (payload.scalars["per_token"], payload.scalars["of_means"]) == ("1.60", "2.50")
    leak = widgets.packing(mode="pack", selected=5).payload
    assert "5 belong to another document" in leak.readout
    padding = widgets.packing("A:3", window=8, selected=6).payload
    assert "softmax of nothing is NaN" in padding.readout


@pytest.mark.parametrize("kind", KINDS)
def test_alt_changes_when_the_picture_does(kind):
    base = MAKERS[kind]()
    for control in base.design.controls:
        for value in ends(control):
            changed = MAKERS[kind](**{control.name: value}).payload
            moved = any((changed.arrays[k].tobytes() != a.tobytes()) for k, a in base.payload.arrays.items())
            if moved and control.name not in ("reset", "batch"):
                assert changed.alt != base.payload.alt, (control.name, value)


def test_documents_in_every_form():
    assert widgets.packing([[4, 4, 4], [], [1]]).params["documents"] == "3 0 1"
    assert widgets.packing([[4, 4, 4], [], [1]]).payload.scalars["letters"] == "ABC"
    assert (
        widgets.packing(None, seed=4).params["documents"] == widgets.packing(None, seed=4).params["documents"]
    )
    assert (
        widgets.packing(None, seed=4).params["documents"] != widgets.packing(None, seed=5).params["documents"]
    )
    unreadable = widgets.packing("A:5 B:").payload
    assert "B:" in unreadable.problems["documents"] and unreadable.scalars["letters"] == "A"


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: widgets.packing(window=0), r"window.*1 to 64.*0"),
        (lambda: widgets.packing(window=2.5), r"window.*whole"),
        (lambda: widgets.packing(window="8"), r"window.*'8'"),
        (lambda: widgets.packing(window=float("nan")), r"window.*nan"),
        (lambda: widgets.packing(mode="packed"), r"mode.*'pack'.*'packed'"),
        (lambda: widgets.packing(mode=["pad"]), r"mode"),
        (lambda: widgets.packing(eos=1), r"eos.*True or False"),
        (lambda: widgets.packing(5), r"documents.*lists of token ids"),
        (lambda: widgets.packing([3, 4]), r"documents.*lists of token ids"),
        (lambda: widgets.packing([[1] * 201]), r"documents.*200"),
        (lambda: widgets.packing("A" * 500), r"documents.*400"),
        (lambda: widgets.packing(None, seed=-1), r"seed"),
        (lambda: widgets.packing(windows=3), r"windows.*no such setting"),
        (lambda: widgets.waste(shown="padded"), r"shown"),
        (lambda: widgets.waste(shown=["all"]), r"shown"),
        (lambda: widgets.waste(language="xx"), r"language.*'xx'.*en"),
        (lambda: widgets.from_state({"widget": "waste"}), r"state.*version"),
        (lambda: widgets.from_state({**widgets.waste().state(), "version": 9}), r"version 9"),
        (lambda: widgets.from_state({**widgets.waste().state(), "widget": "race"}), r"'race'"),
    ],
)
def test_a_wrong_argument_is_named_in_one_line(call, words):
    with pytest.raises(CourseError, match=words) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_update_changes_all_or_nothing():
    widget = widgets.waste()
    widget.update(mean=50, spread=0.2)
    with pytest.raises(CourseError):
        widget.update(mean=60, spread=9)
    assert (widget.params["mean"], widget.params["spread"]) == (50, 0.2)


def test_settings_from_a_browser_are_moved_into_their_limits():
    window = widgets.DESIGNS["packing"].controls[2]
    spread = widgets.DESIGNS["waste"].controls[2]
    assert [window.clamped(v) for v in (0, 7.5, 1e9, None, "8", float("inf"))] == [1, 8, 64, 32, 32, 32]
    assert [spread.clamped(v) for v in (-1, 0.333, 2)] == [0.0, 0.333, 1.5]


@pytest.mark.parametrize("kind", KINDS)
def test_packed_arrays_come_back(kind):
    payload = MAKERS[kind]().payload
    spec, data = payload.packed()
    again = unpacked(spec, data)
    assert len(data) < 20_000 and all(place["offset"] % 8 == 0 for place in spec.values())
    for name, array in payload.arrays.items():
        assert again[name].dtype == array.dtype and np.array_equal(again[name], array)


def test_arrays_that_a_browser_cannot_read_are_refused():
    payload = widgets.waste().payload
    wrong = Payload(**{**vars(payload), "arrays": {"x": np.zeros(2, dtype=np.int64)}})
    with pytest.raises(TypeError, match="int64"):
        wrong.packed()


@pytest.mark.parametrize("kind", KINDS)
def test_no_text_overlaps_in_the_still_picture(kind):
    settings = {
        "packing": [
            {},
            {"documents": "A:30 B:20 C:14", "window": 64, "mode": "pack", "eos": True},
            {"window": 1},
        ],
        "waste": [{}, {"spread": 0.0}, {"mean": 2048, "spread": 1.5, "row_length": 16}],
    }
    for changed in settings[kind]:
        widget = MAKERS[kind](**changed)
        figure = widget.design.draw(widget.payload, strings("en", kind))
        FigureCanvasAgg(figure).draw()
        texts = [t for axes in figure.axes for t in axes.findobj(matplotlib.text.Text) if t.get_visible()]
        texts = [t for t in texts if t.get_text().strip()]
        boxes = [t.get_window_extent().padded(-1) for t in texts]
        assert min(t.get_fontsize() for t in texts) >= 8
        for a, b in itertools.combinations(range(len(texts)), 2):
            assert not boxes[a].overlaps(boxes[b]), (texts[a].get_text(), texts[b].get_text(), changed)
        for text, box in zip(texts, boxes, strict=True):
            assert box.x0 >= 0 and box.y0 >= 0 and box.x1 <= 680 and box.y1 <= 400, (text.get_text(), changed)


def test_experiments_are_settings_that_the_controls_take():
    for design in widgets.DESIGNS.values():
        assert len(design.experiments) == 3
        names = {control.name: control for control in design.controls}
        for experiment in design.experiments:
            for name, value in experiment.items():
                assert names[name].checked(value) == value


@pytest.mark.parametrize("kind", KINDS)
def test_every_control_option_and_experiment_has_its_words(kind):
    text = strings("en", kind)
    for control in widgets.DESIGNS[kind].controls:
        assert text[control.label or control.name]
        prefix = "curve" if control.kind == "set" else control.name
        for option in control.options:
            assert text[f"{prefix}.{option}"]
    assert all(text[f"try.{k}"] and text[f"try.{k}.text"] for k in (1, 2, 3))
    assert all(
        words.strip() == words and words
        for language in TEXT.values()
        for t in language.values()
        for words in t.values()
    )


def test_templates_and_numbers():
    assert fill("{n:token|tokens}, {m}", n=1, m="x") == "1 token, x"
    assert fill("{n:token|tokens}", n=12345) == "12,345 tokens"
    assert [
        percent(a, b).replace("\N{NO-BREAK SPACE}", " ") for a, b in ((1, 16), (1, 3), (0, 0), (7, 7))
    ] == [
        "6.3 %",
        "33.3 %",
        "0.0 %",
        "100.0 %",
    ]
    assert [decimal(1.6, 2), decimal(2.005, 1), decimal(float("nan"), 2)] == ["1.60", "2.0", "–"]


class FakeStage:
    """Stands for a live widget; closing twice is a fault."""

    def __init__(self):
        self.open = True
        self.layout = self

    def close(self):
        self.open = False


def test_a_second_run_of_a_cell_closes_what_the_first_showed_and_nothing_else():
    register = Register()
    first, twin, other_cell, other_kind, second = (FakeStage() for _ in range(5))
    register.add("packing", "cell-1", "run-1", first)
    register.add("packing", "cell-1", "run-1", twin)
    register.add("packing", "cell-2", "run-2", other_cell)
    register.add("waste", "cell-1", "run-1", other_kind)
    assert first.open and twin.open and len(register) == 4
    register.add("packing", "cell-1", "run-3", second)
    assert not first.open and not twin.open
    assert other_cell.open and other_kind.open and second.open and len(register) == 3


def test_showing_puts_out_the_still_picture_first_and_then_the_live_one(monkeypatch):
    shown = []
    monkeypatch.setattr("IPython.display.display", lambda bundle, raw: shown.append(bundle))
    widget = widgets.packing(window=12)
    widget._ipython_display_()
    still, live = shown
    stage = widget._stage
    assert (
        stage.twin in still["text/html"]
        and "<img" in still["text/html"]
        and still["text/plain"] == widget.payload.alt
    )
    assert live["application/vnd.jupyter.widget-view+json"]["model_id"] == stage.model_id
    stage.params = {**stage.params, "window": 99}  # as a browser might send
    assert widget.params["window"] == 64 and widget.payload.arrays["codes"].shape == (64, 64)
    widget.update(window=7)
    assert stage.params["window"] == 7
    stage.close()
