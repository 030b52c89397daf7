"""The packing viewer's model follows the rules of lmcourse.packing, and keeps its own at the edges."""

import numpy as np
import pytest
import torch

from lmcourse.packing import document_mask, pack, positions_and_loss_mask
from lmcourse.toys.documents import parse_documents, random_documents
from lmcourse.toys.packing_view import (
    ALLOWED,
    BLOCKED,
    CROSSING,
    FUTURE,
    MODES,
    PADDING,
    STRATEGIES,
    averages,
    lay_out,
    view_packing,
)

MASKED = "pack + document mask"


def view(lengths, window=32, mode=MASKED, strategy="cut anywhere", eos=False, reset=True, row=0, selected=0):
    return view_packing(lengths, window, mode, strategy, eos, reset, row, selected)


def random_views(count=120, seed=3):
    rng = np.random.default_rng(seed)
    for k in range(count):
        lengths = rng.integers(0, 20, size=rng.integers(1, 9)).tolist()
        if k % 5 == 0:
            lengths[0] = int(rng.integers(40, 90))
        settings = {
            "window": int(rng.integers(1, 40)),
            "mode": MODES[k % 3],
            "strategy": STRATEGIES[k // 3 % 2],
            "eos": bool(k % 2),
            "row": int(rng.integers(0, 4)),
        }
        yield lengths, settings, view(lengths, **settings)


def test_mask_is_the_packages_document_mask_on_real_tokens():
    for _, settings, seen in random_views():
        real = seen.doc >= 0
        allowed = np.isin(seen.codes, (ALLOWED, CROSSING))
        doc = torch.from_numpy(seen.doc.astype(np.int64))[None]
        if settings["mode"] == "pack":
            expected = np.tri(len(real), dtype=bool)
        else:
            expected = document_mask(doc)[0].numpy()
        assert (allowed[real] == (expected & real[None, :])[real]).all()
        assert not allowed[~real].any()


def test_positions_and_loss_marks_are_the_packages():
    for _, _, seen in random_views():
        real = int((seen.doc >= 0).sum())
        doc = torch.from_numpy(seen.doc[:real].astype(np.int64))[None]
        pos, keep = positions_and_loss_mask(doc, torch.from_numpy(seen.eos[:real])[None])
        assert pos[0].tolist() == seen.position[:real].tolist()
        # What follows a row's last token the package cannot see; the viewer can.
        assert keep[0, :-1].tolist() == seen.keep[: max(real - 1, 0)].tolist()


def test_with_an_end_token_the_last_column_agrees_too():
    for lengths, settings, seen in random_views():
        full = (seen.doc >= 0).all()
        if settings["eos"] and full and lengths:
            doc = torch.from_numpy(seen.doc.astype(np.int64))[None]
            assert (
                positions_and_loss_mask(doc, torch.from_numpy(seen.eos)[None])[1][0].tolist()
                == seen.keep.tolist()
            )


def test_cut_anywhere_lays_rows_as_pack_does():
    lengths, window = [5, 0, 9, 31, 3, 12], 8
    docs = [[1] * n for n in lengths]
    _, doc_id = pack(docs, window - 1, eos=0)
    rows = [view(lengths, window, eos=True, row=r).doc.tolist() for r in range(doc_id.shape[0])]
    assert rows == doc_id.tolist()


def test_every_token_is_placed_once_and_no_row_overflows():
    for lengths, settings, _ in random_views():
        closed = [n + settings["eos"] for n in lengths]
        rows = lay_out(closed, settings["window"], settings["mode"], settings["strategy"])
        placed = sorted((d, i) for pieces in rows for d, start, stop in pieces for i in range(start, stop))
        assert placed == [(d, i) for d, length in enumerate(closed) for i in range(length)]
        assert all(sum(stop - start for _, start, stop in pieces) <= settings["window"] for pieces in rows)


def test_totals_are_the_sums_over_all_rows():
    for lengths, settings, seen in random_views(60):
        rows = [view(lengths, **{**settings, "row": r}) for r in range(seen.totals.rows)]
        codes = np.concatenate([row.codes.ravel() for row in rows])
        homes = [{int(d) for d in row.doc if d >= 0} for row in rows]
        total = seen.totals
        assert total.tokens == sum(int((row.doc >= 0).sum()) for row in rows)
        assert total.slots == total.rows * settings["window"]
        assert total.pairs == int(np.isin(codes, (ALLOWED, CROSSING)).sum())
        assert total.crossing == int((codes == CROSSING).sum())
        assert total.kept == sum(int(row.keep.sum()) for row in rows)
        assert total.cut == sum(sum(d in home for home in homes) > 1 for d in range(len(lengths)))


def test_best_fit_cuts_fewer_documents_and_fills_the_fullest_row():
    lengths = [10, 7, 6, 4, 3]
    assert lay_out(lengths, 12, "pack", "best fit") == [
        [(0, 0, 10)],
        [(1, 0, 7), (3, 0, 4)],
        [(2, 0, 6), (4, 0, 3)],
    ]
    assert view(lengths, 12, strategy="cut anywhere").totals.cut == 2
    assert view(lengths, 12, strategy="best fit").totals.cut == 0


def test_the_example_of_the_viewer():
    seen = view([5, 9, 3, 12], selected=7)
    assert seen.doc[7] == 1 and seen.position[7] == 2 and seen.visible.tolist() == [5, 6, 7]
    without = view([5, 9, 3, 12], mode="pack", selected=5)
    assert without.visible.tolist() == [0, 1, 2, 3, 4, 5] and without.codes[5, 0] == CROSSING
    assert without.position[5] == 0  # positions start again, and yet the mask lets A through
    assert view([5, 9, 3, 12], reset=False).position[:29].tolist() == list(range(29))


def test_long_document_goes_on_in_the_next_row_from_position_0():
    second = view([20], window=8, row=1)
    assert second.offset.tolist() == list(range(8, 16)) and second.position.tolist() == list(range(8))
    assert second.keep.all() and second.totals.cut == 1 and second.totals.rows == 3


@pytest.mark.parametrize("lengths", [[], [0], [0, 0]])
def test_nothing_to_show_is_a_row_of_padding_that_sees_nothing(lengths):
    seen = view(lengths, window=5, mode="pad")
    assert (seen.doc == -1).all() and len(seen.visible) == 0
    assert (seen.codes[np.tri(5, dtype=bool)] == PADDING).all() and not seen.keep.any()


def test_window_of_one_and_choices_behind_the_end():
    seen = view([3, 2], window=1, eos=True, row=99, selected=99)
    assert seen.row == 6 and seen.selected == 0 and seen.eos.tolist() == [True]
    assert seen.codes.tolist() == [[ALLOWED]]


def test_codes_name_each_kind_of_cell():
    codes = view([2, 1], window=4).codes
    assert codes.tolist() == [
        [ALLOWED, FUTURE, FUTURE, FUTURE],
        [ALLOWED, ALLOWED, FUTURE, FUTURE],
        [BLOCKED, BLOCKED, ALLOWED, FUTURE],
        [PADDING] * 4,
    ]
    assert codes.dtype == np.uint8


def test_two_ways_to_average():
    assert averages((2, 8), (4.0, 1.0)) == (1.6, 2.5)
    per_token, of_means = averages((0, 0), (4.0, 1.0))
    assert np.isnan(per_token) and of_means == 2.5


@pytest.mark.parametrize(
    ("text", "letters", "lengths", "problem"),
    [
        ("A:5 B:9, C:3;D:12", "ABCD", (5, 9, 3, 12), ""),
        ("5 9 A:1", "AB", (5, 9), "twice"),
        ("z:0 4", "ZA", (0, 4), ""),
        ("A:5 B: C", "A", (5,), "bad"),
        ("A:201", "", (), "long"),
        ("", "", (), "none"),
        ("A:-1 B:2.5 C:٣", "", (), "bad"),
        (" ".join(["1"] * 27), "ABCDEFGHIJKLMNOPQRSTUVWXYZ", (1,) * 26, "many"),
    ],
)
def test_reading_documents(text, letters, lengths, problem):
    found = parse_documents(text)
    assert ("".join(found.letters), found.lengths, found.problem) == (letters, lengths, problem)


def test_random_documents_can_be_read_and_differ_by_seed():
    texts = {random_documents(seed) for seed in range(50)}
    assert len(texts) == 50
    for text in texts:
        found = parse_documents(text)
        assert not found.problem and 3 <= len(found.lengths) <= 6 and min(found.lengths) >= 1
        assert str(found) == text
