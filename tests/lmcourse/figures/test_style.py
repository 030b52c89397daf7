"""The house style leaves no trace, keeps its contrast, and puts labels where they can be read."""

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure

from lmcourse.errors import CourseError
from lmcourse.figures import PALETTE, course_style, label_line_ends, reference_line


def contrast(a: str, b: str) -> float:
    """WCAG 2 contrast ratio of two `#rrggbb` colors."""

    def luminance(color: str) -> float:
        channels = np.array([int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)])
        linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
        return float(linear @ [0.2126, 0.7152, 0.0722])

    light, dark = sorted((luminance(a), luminance(b)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_colors_stand_out_from_the_background(theme):
    palette = PALETTE[theme]
    for color in palette.series:
        assert contrast(color, palette.background) >= 3
    for color in (palette.text, palette.alarm, palette.neutral):
        assert contrast(color, palette.background) >= 4.5


def test_settings_hold_inside_the_block_only_even_after_an_error():
    before = dict(mpl.rcParams)
    with pytest.raises(ZeroDivisionError), course_style() as palette:
        assert mpl.rcParams["text.color"] == palette.text
        assert len(mpl.rcParams["axes.prop_cycle"]) == 4
        _ = 1 / 0
    assert dict(mpl.rcParams) == before


def test_roles_are_fixed_and_a_wrong_one_is_named():
    light = PALETTE["light"]
    assert light.role("train") == light.role("sgd") == light.series[0]
    assert light.role("validation") == light.series[1]
    with pytest.raises(CourseError, match=r"'valid'.*validation"):
        light.role("valid")
    with pytest.raises(CourseError, match="sepia"), course_style("sepia"):
        pass


def test_default_figure_has_the_fixed_margins():
    with course_style():
        figure = Figure()
        axes = figure.add_subplot()
    box = axes.get_window_extent()
    assert figure.get_size_inches() * 100 == pytest.approx([680, 380])
    assert [box.x0, 680 - box.x1, box.y0, 380 - box.y1] == pytest.approx([70, 90, 46, 14])


def test_reference_line_is_dotted_neutral_and_labeled_inside_the_axes():
    with course_style() as palette:
        axes = Figure().add_subplot()
        axes.set_ylim(0, 4)
        line = reference_line(axes, 2.77, "ln V = 2.77")
        left = reference_line(axes, 1.2, "floor", side="left")
    assert list(line.get_ydata()) == [2.77, 2.77] and list(left.get_ydata()) == [1.2, 1.2]
    assert line.get_color() == palette.neutral and line.get_linestyle() not in ("-", "solid")
    assert [text.get_text() for text in axes.texts] == ["ln V = 2.77", "floor"]
    box = axes.get_window_extent()
    assert all(box.x0 <= t.get_window_extent().x0 and t.get_window_extent().x1 <= box.x1 for t in axes.texts)


def test_labels_at_line_ends_do_not_overlap_and_keep_the_order_of_the_curves():
    with course_style():
        axes = Figure().add_subplot()
        axes.plot([0, 1, 2], [3, 2, 1.00], label="b")
        axes.plot([0, 1, 2], [3, 2, 1.02], label="c")
        axes.plot([0, 1, 2], [3, 0.5, np.nan], label="a")
        axes.plot([0, 1, 2], [3, 2, 1.5])
        axes.set_ylim(0, 4)
        label_line_ends(axes)
    boxes = {text.get_text(): text.get_window_extent() for text in axes.texts}
    assert list(boxes) == ["a", "b", "c"]
    assert boxes["b"].y1 <= boxes["c"].y0 and boxes["a"].y1 <= boxes["b"].y0
    assert min(box.x0 for box in boxes.values()) >= axes.get_window_extent().x1
