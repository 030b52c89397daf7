"""Week 1 in JupyterLab as a student sees it: an exercise done wrong, told why, then done right."""

from __future__ import annotations

import shutil
from typing import Any

import nbformat
import pytest
from conftest import ROOT, WAIT

pytestmark = pytest.mark.browser

NOTEBOOK = "week01_packing.ipynb"
WRONG = """def document_mask(doc_id):
    same = doc_id[:, :, None] == doc_id[:, None, :]
    return same"""
RIGHT = """def document_mask(doc_id):
    T = doc_id.shape[1]
    causal = torch.ones(T, T, dtype=torch.bool).tril()
    return causal & (doc_id[:, :, None] == doc_id[:, None, :])"""


@pytest.fixture
def week1(lab: Any) -> Any:
    shutil.copy(ROOT / "notebooks" / NOTEBOOK, lab.folder / NOTEBOOK)
    lab.open(NOTEBOOK)
    return lab


def place(exercise: str | None, role: str) -> int:
    """Index of the first cell with this role."""
    cells = nbformat.read(ROOT / "notebooks" / NOTEBOOK, as_version=4).cells
    marks = [cell.metadata.get("lmcourse", {}) for cell in cells]
    return next(i for i, m in enumerate(marks) if m.get("role") == role and m.get("exercise") == exercise)


def fill(lab: Any, index: int, source: str) -> None:
    lab.page.evaluate(
        "([i, text]) => jupyterapp.shell.currentWidget.content.widgets[i].model.sharedModel.setSource(text)",
        [index, source],
    )


def check(lab: Any, answer: str) -> Any:
    """Fill in an answer to W1.4, run it and its check; the output of the check."""
    answer_cell, check_cell = place("W1.4", "answer"), place("W1.4", "check")
    fill(lab, answer_cell, answer)
    lab.run_cell(answer_cell)
    lab.run_cell(check_cell)
    output = lab.cell(check_cell).locator(".jp-OutputArea-output").first
    output.locator("table").wait_for(timeout=WAIT)
    return lab.cell(check_cell).locator(".jp-Cell-outputArea")


def test_a_wrong_mask_is_named_and_a_right_one_passes(week1: Any) -> None:
    for index, kind in enumerate(week1.cells()[: place("W1.1", "title")]):
        if kind == "code" and index <= place(None, "setup") + 1:
            week1.run_cell(index)

    wrong = check(week1, WRONG)
    text = wrong.inner_text()
    assert "later" in text, "the misconception (a mask that is not causal) is named in words"
    assert "all tests" not in text
    assert wrong.locator("img[alt]").count() >= 1
    week1.size(1000, 1100)
    week1.screenshot("w1-4-wrong", wrong)

    right = check(week1, RIGHT)
    text = right.inner_text()
    assert "More checks run" in text and "all tests" not in text
    week1.screenshot("w1-4-right", right)
    assert not week1.foreign
