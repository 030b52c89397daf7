"""Recorded results of experiments: data/runs/NAME.json, written by the experiment's own script."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lmcourse.errors import CourseError

FOLDER = Path("data") / "runs"


def record_path(name: str) -> Path:
    """Where a record lies, relative to the course's folder."""
    return FOLDER / f"{name}.json"


def find_record(name: str) -> Path:
    """The record beside the package, or in the working folder or one above it.

    Raises:
        CourseError: it is in none of these places.
    """
    path = record_path(name)
    places = [Path(__file__).resolve().parents[2], Path.cwd(), *Path.cwd().parents]
    for place in places:
        if (place / path).is_file():
            return place / path
    raise CourseError(
        f"{path}: not found beside the package nor above the working folder; it comes with the course"
    )


def load_record(name: str) -> dict[str, Any]:
    """A whole record.

    Raises:
        CourseError: it is missing or damaged.
    """
    path = find_record(name)
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(record, dict) or not isinstance(record.get("results"), list):
            raise ValueError("no list of results")
    except (OSError, ValueError) as error:
        raise CourseError(f"{path}: the recorded runs cannot be read ({error})") from None
    return record


def write_record(
    name: str, made_by: str, settings: Mapping[str, Any], results: Sequence[Mapping[str, Any]]
) -> Path:
    """Write results with what made them.

    Leave times out: they say more of the machine than of the experiment.
    """
    path = record_path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    record = {"made by": made_by, **settings, "results": list(results)}
    path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    return path
