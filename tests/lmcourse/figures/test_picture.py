"""Pictures carry their alt text, are safe HTML, and leave no figure open."""

import base64
import io
import re
import struct

import matplotlib
import pytest

from lmcourse.errors import CourseError
from lmcourse.figures import course_style, picture_of, show_figure

matplotlib.use("Agg")
from matplotlib import pyplot as plt


@pytest.fixture
def figure():
    with course_style():
        figure, axes = plt.subplots()
        axes.plot([0, 1, 2], [3.2, 1.1, 0.7])
    yield figure
    plt.close(figure)


def test_picture_is_sharp_and_keeps_its_size_on_the_page(figure):
    picture = picture_of(figure, "Loss against step.")
    width, height = struct.unpack(">II", picture.png[16:24])
    assert (picture.width, picture.height) == (680, 380)
    assert (width, height) == (1360, 760)


def test_html_holds_the_image_the_alt_text_and_the_caption_escaped(figure):
    alt = 'Loss "falls" <fast> & far'
    page = picture_of(figure, alt, "Caption <b>").html()
    assert 'alt="Loss &quot;falls&quot; &lt;fast&gt; &amp; far"' in page
    assert "Caption &lt;b&gt;" in page and "<script" not in page
    assert "http" not in page
    data = base64.b64decode(re.search(r"base64,([^\"]+)", page).group(1))
    assert data.startswith(b"\x89PNG")
    assert plt.imread(io.BytesIO(data)).shape == (760, 1360, 4)


def test_showing_outside_a_notebook_returns_the_picture_and_closes_the_figure(figure):
    picture = show_figure(figure, "Loss against step.", "One run.")
    assert picture is not None and picture.png.startswith(b"\x89PNG") and picture.caption == "One run."
    assert not plt.get_fignums()


def test_showing_in_a_notebook_displays_once_and_returns_nothing(figure, monkeypatch):
    shown = []
    monkeypatch.setattr("lmcourse.figures.picture.in_notebook", lambda: True)
    monkeypatch.setattr("IPython.display.display", shown.append)
    assert show_figure(figure, "Loss against step.") is None
    bundle = shown[0]._repr_mimebundle_()
    assert len(shown) == 1 and bundle["text/plain"] == "Loss against step."


def test_same_figure_gives_the_same_bytes(figure):
    assert picture_of(figure, "a").png == picture_of(figure, "a").png


def test_a_picture_without_alt_text_is_refused(figure):
    with pytest.raises(CourseError, match="alt is empty"):
        show_figure(figure, "  ")
