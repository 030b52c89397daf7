"""The four paths of W4.7 without their names: `python -m autograde.weeks.week04.race_paths` records them.

Who made which path is known here only; data/runs/race_paths.json holds the points and nothing else.
"""

from __future__ import annotations

from lmcourse.experiments.race_paths import LANDSCAPES, NAME
from lmcourse.experiments.records import write_record
from lmcourse.toys.race import RATES, race

MADE_BY = {"P1": "adam", "P2": "sgd", "P3": "muon", "P4": "momentum"}


def record() -> None:
    results = []
    for landscape in LANDSCAPES:
        runs = race(landscape, {name: RATES[landscape][name] for name in MADE_BY.values()})
        for path, name in MADE_BY.items():
            points = [[round(float(x), 6) for x in point] for point in runs[name].points]
            results.append({"landscape": landscape, "path": path, "points": points})
    write_record(
        NAME, "the optimizer race, names taken off", {"unit": "coordinates after each step"}, results
    )


if __name__ == "__main__":
    record()
