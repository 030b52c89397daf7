"""The recorded paths of week 4: four optimizers without their names, on two landscapes."""

from __future__ import annotations

import numpy as np

from lmcourse.experiments.records import load_record

NAME = "race_paths"
LANDSCAPES = ("ravine", "plateau")
PATHS = ("P1", "P2", "P3", "P4")


def load_race_paths() -> dict[str, dict[str, np.ndarray]]:
    """Landscape -> path -> points (201, 2), the first is the start.

    Raises:
        CourseError: the record is missing or damaged.
    """
    found: dict[str, dict[str, np.ndarray]] = {name: {} for name in LANDSCAPES}
    for result in load_record(NAME)["results"]:
        found[result["landscape"]][result["path"]] = np.array(result["points"], dtype=np.float64)
    return found
