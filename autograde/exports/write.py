"""Puts the files for other programs into a folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from autograde.exports.canvas import canvas_csv
from autograde.exports.gradescope import results_json
from autograde.exports.moodle import moodle_csv
from autograde.grading.store import safe_name, write_atomically
from autograde.reports.rows import Row
from lmcourse.exercises import Week


def write_exports(week: Week, rows: Sequence[Row], folder: Path) -> None:
    """`canvas.csv`, `moodle.csv`, and `gradescope/<student>/results.json`."""
    write_atomically(folder / "canvas.csv", canvas_csv(week, rows))
    write_atomically(folder / "moodle.csv", moodle_csv(week, rows))
    for row in rows:
        write_atomically(folder / "gradescope" / safe_name(row.student) / "results.json", results_json(row))
