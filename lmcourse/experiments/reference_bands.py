"""What the shipped configurations do over several seeds: the band that a run of one of them should stay in.

python -m lmcourse.experiments.reference_bands --record markov --seeds 4
"""

from __future__ import annotations

import argparse
import io
import json
import tempfile
from dataclasses import dataclass, fields
from pathlib import Path

from lmcourse.errors import CourseError
from lmcourse.trainer import TrainConfig, configure

NAME = Path("data") / "reference_bands.json"
PLACES = 12  # steps at which the loss is compared, evenly spread
SMOOTHED = 20  # steps
# What another seed, thread count or number format may add to the widest difference between recorded seeds.
MARGIN = 0.5
LEAST = 0.02  # nats
# Settings that change how a run is computed, watched or saved, but not what it should come to.
OTHERWISE_EQUAL = {
    *("seed", "precision", "compile", "micro_batches", "loader_workers", "newton_schulz"),
    *("spikes", "skip_batches", "monitor_every", "evaluate_every", "save_every"),
}


@dataclass(frozen=True)
class Band:
    """
    Attributes:
        corpus: whose shipped configuration it is.
        seeds: recorded.
        steps: at which the smoothed training loss was recorded.
        low, high: of that loss over the seeds, in nats per token.
    """

    corpus: str
    seeds: list[int]
    steps: list[int]
    low: list[float]
    high: list[float]

    def outside(self, losses: dict[int, float]) -> list[tuple[int, float, float, float]]:
        """Where a run leaves the band and its margin: step, loss, lowest and highest usual value.

        Args:
            losses: smoothed training losses by step.
        """
        found = []
        for step, low, high in zip(self.steps, self.low, self.high, strict=True):
            room = max(LEAST, MARGIN * (high - low), 0.03 * high)
            if step in losses and not low - room <= losses[step] <= high + room:
                found.append((step, losses[step], low - room, high + room))
        return found


def band_for(config: TrainConfig) -> Band | None:
    """The recorded band of the configuration, if it is a shipped one but for its seed and the like.

    Raises:
        CourseError: the record is damaged.
    """
    path = next((place / NAME for place in _places() if (place / NAME).is_file()), None)
    if path is None:
        return None
    try:
        record = json.loads(path.read_text(encoding="utf-8"))["bands"].get(config.corpus)
        band = record and Band(corpus=config.corpus, **record)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise CourseError(f"{path}: the recorded bands cannot be read ({error})") from None
    if band is None:
        return None
    shipped = configure(config.corpus)
    compared = [field.name for field in fields(config) if field.name not in OTHERWISE_EQUAL]
    return band if all(getattr(config, n) == getattr(shipped, n) for n in compared) else None


def record_band(corpus: str, seeds: list[int], stop_at: int | None = None) -> Band:
    """Train the shipped configuration once for each seed."""
    from lmcourse.trainer import start_run
    from lmcourse.trainer.log import read_log, updates

    last = stop_at or configure(corpus).steps
    steps = [max(1, round(last * place / PLACES)) for place in range(1, PLACES + 1)]
    curves = []
    for seed in seeds:
        with tempfile.TemporaryDirectory() as folder:
            start_run(configure(corpus, seed=seed), Path(folder) / "run", stop_at, stream=io.StringIO())
            records = updates(read_log(Path(folder) / "run"))
        curves.append([smoothed_at({s: r.loss for s, r in records.items()}, step) for step in steps])
    at_each = list(zip(*curves, strict=True))
    return Band(
        corpus, seeds, steps, [min(losses) for losses in at_each], [max(losses) for losses in at_each]
    )


def smoothed_at(losses: dict[int, float], step: int) -> float:
    """The mean of the last 20 losses up to a step, or of as many as there are."""
    values = [losses[s] for s in range(max(1, step - SMOOTHED + 1), step + 1)]
    return sum(values) / len(values)


def write_band(band: Band, path: Path) -> None:
    """Put a band into the record, beside those of other corpora."""
    record = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"bands": {}}
    record["made by"] = "python -m lmcourse.experiments.reference_bands --record CORPUS"
    record["unit"] = f"nats per counted token, mean of the last {SMOOTHED} steps"
    values = {name: value for name, value in vars(band).items() if name != "corpus"}
    record["bands"][band.corpus] = {
        n: [round(v, 4) for v in value] if n in ("low", "high") else value for n, value in values.items()
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def _places() -> list[Path]:
    return [Path(__file__).resolve().parents[2], Path.cwd(), *Path.cwd().parents]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--record", metavar="CORPUS", required=True)
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--stop-at", type=int)
    parser.add_argument("--out", type=Path, default=NAME)
    args = parser.parse_args()
    import torch

    torch.set_num_threads(1)
    write_band(record_band(args.record, list(range(args.seeds)), args.stop_at), args.out)


if __name__ == "__main__":
    main()
