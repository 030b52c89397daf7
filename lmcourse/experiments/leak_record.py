"""The recorded results of the leak experiment, for several seeds: data/runs/leak.json."""

from __future__ import annotations

import json
import statistics
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lmcourse.errors import CourseError

if TYPE_CHECKING:
    from lmcourse.experiments.leak import LeakResult

SEEDS = range(6)
RUNS = (12, 1)
# What another seed, another machine or half the steps may add to the recorded bands, in nats per token.
MARGIN = 0.08
NAME = Path("data") / "runs" / "leak.json"


@dataclass(frozen=True)
class RecordedLeak:
    """
    Attributes:
        run: neighboring documents that share a regime.
        seeds: how many runs stand behind the numbers.
        gaps: mean over the seeds of each gap to the exact floor, in nats per target; keys as in `LeakResult`.
        bands: smallest and largest gap over the seeds.
        floor: exact expected nats per counted target of a document seen alone.
        steps: optimizer steps of each model.
    """

    run: int
    seeds: int
    gaps: dict[str, float]
    bands: dict[str, tuple[float, float]]
    floor: float
    steps: int


def load_recorded_leak(run: int = 12) -> RecordedLeak:
    """The recorded experiment for corpora with this `run`.

    Raises:
        CourseError: the record is missing or damaged, or holds no such run.
    """
    path = _find_record()
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        results = [r for r in record["results"] if r["run"] == run]
        known = sorted({r["run"] for r in record["results"]})
        if not results:
            raise CourseError(f"run: {run} is not recorded in {NAME}; there are {known}")
        gaps = {key: [r["gaps"][key] for r in results] for key in results[0]["gaps"]}
        return RecordedLeak(
            run=run,
            seeds=len(results),
            gaps={key: statistics.fmean(values) for key, values in gaps.items()},
            bands={key: (min(values), max(values)) for key, values in gaps.items()},
            floor=results[0]["floor"],
            steps=results[0]["steps"],
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CourseError(f"{path}: the recorded runs cannot be read ({error})") from None


def write_record(results: list[LeakResult], settings: dict[str, object], path: Path) -> None:
    """Write the results with what made them."""
    record = {
        "made by": "python -m lmcourse.experiments.leak --record",
        "unit": "nats per counted target, above (+) or below (-) the exact floor",
        **settings,
        # without the time they took, which says more about the machine's other work than about the experiment
        "results": [{k: v for k, v in asdict(result).items() if k != "seconds"} for result in results],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def _find_record() -> Path:
    """The record beside the package, or in the working folder or one above it."""
    places = [Path(__file__).resolve().parents[2], Path.cwd(), *Path.cwd().parents]
    for place in places:
        if (place / NAME).is_file():
            return place / NAME
    raise CourseError(
        f"{NAME}: not found beside the package nor above the working folder; it comes with the course"
    )
