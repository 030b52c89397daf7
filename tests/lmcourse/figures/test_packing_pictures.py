"""Pictures of week 1: their words follow their numbers, and drawing leaves matplotlib as it was."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np

from lmcourse import packing
from lmcourse.figures import packing as pictures
from lmcourse.figures import picture_of

DOCS = [[5, 6, 7], [8, 9], [4, 4, 4, 3, 2], [1]]


def test_letters_go_on_after_z() -> None:
    assert [pictures.letter(i) for i in (0, 25, 26, 51, 52)] == ["A", "Z", "A1", "Z1", "A2"]


def test_windows_are_named_by_their_starts() -> None:
    _figure, alt = pictures.windows_figure("the cat sat on the mat", [3, 9], 5)
    assert "2 windows of 5" in alt
    assert "starting at 3, 9" in alt


def test_rows_are_told_by_letters_and_run_lengths() -> None:
    tokens, doc_id = packing.pack(DOCS, 5, 0)
    _figure, alt = pictures.rows_figure({"yours": (tokens, doc_id)}, 0)
    assert "row 0: A4 B2; row 1: B1 C5" in alt


def test_no_rows_can_be_drawn_too() -> None:
    figure, alt = pictures.rows_figure({"yours": packing.pack([[1]], 9, 0)}, 0)
    assert "no row" in alt
    assert picture_of(figure, alt).png


def test_masks_count_their_differences() -> None:
    ids = np.array([7, 7, 3, 3, 3])
    right = (ids[:, None] == ids) & np.tri(5, dtype=bool)
    figure, alt = pictures.mask_figure(np.tri(5, dtype=bool), right, ids)
    assert "documents A2 B3" in alt
    assert "allows 15 pairs" in alt
    assert "allows 9" in alt
    assert "differ in 6 cells" in alt
    crosses = [text for text in figure.axes[2].texts if text.get_text() == "×"]
    assert len(crosses) == 6


def test_bins_tell_their_fill_rate() -> None:
    lengths = [1, 2, 5, 3, 6, 7]
    panels = {"in order": [[0, 1, 2], [3], [4], [5]], "longest first": packing.ffd_pack(lengths, 8)}
    _figure, alt = pictures.bins_figure(panels, lengths, 8)
    assert "in order: 4 bins of 8, 75.0% filled" in alt
    assert "longest first: 3 bins of 8, 100.0% filled" in alt


def test_leak_bars_stand_on_the_side_of_the_floor_that_their_numbers_say() -> None:
    gaps = dict(in_order_masked=0.05, in_order_unmasked=-0.3, shuffled_masked=0.06, shuffled_unmasked=0.4)
    figure, alt = pictures.leak_figure({12: gaps, 1: {key: 0.04 for key in gaps}})
    assert sorted(round(bar.get_height(), 2) for bar in figure.axes[0].patches) == [-0.3, 0.05, 0.06, 0.4]
    assert "in order +0.050 with and -0.300 without the mask" in alt


def test_drawing_changes_no_setting() -> None:
    before = {name: value for name, value in mpl.rcParams.items() if name != "backend"}
    pictures.windows_figure("abcdef", [0], 3)
    assert {name: mpl.rcParams[name] for name in before} == before
