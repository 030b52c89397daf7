"""`lmcourse params`: every parameter of a model, and what the optimizer does with it."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from lmcourse.errors import CourseError
from lmcourse.trainer.config import TrainConfig
from lmcourse.trainer.presets import configure

if TYPE_CHECKING:
    from lmcourse.model import Transformer

HELP = "List a model's parameters: shape, size, group, update rule, decay, base learning rate."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.usage = "lmcourse params [RUN | NAME=VALUE ...]"
    parser.add_argument(
        "what",
        nargs="*",
        metavar="RUN | NAME=VALUE",
        help="folder of a run, or its name below runs/; or settings of a run that need not exist, such as "
        "corpus=markov layers=4 optimizer=muon tied=true (default: lmcourse train without options). "
        "vocab=N says how many ids there are without making the corpus",
    )


def run(args: argparse.Namespace) -> int:
    """Exit status 0.

    Raises:
        CourseError: no run there, or settings that no run can have.
    """
    settings = [word for word in args.what if "=" in word]
    if (settings and len(settings) < len(args.what)) or len(args.what) - len(settings) > 1:
        raise CourseError(f"params: give one run, or settings as NAME=VALUE; got {' '.join(args.what)!r}")
    config, vocab_size = _planned(settings) if settings or not args.what else _existing(args.what[0])

    from lmcourse.model import Transformer

    model = Transformer(config.model(vocab_size), seed=config.seed)
    print("\n".join(parameter_table(model, config)))
    return 0


def _existing(name: str) -> tuple[TrainConfig, int]:
    from lmcourse.cli.train import find_run
    from lmcourse.trainer.data_files import load_data
    from lmcourse.trainer.run_folder import open_run

    folder = find_run(name)
    return open_run(folder), load_data(folder).vocab_size


def _planned(words: list[str]) -> tuple[TrainConfig, int]:
    settings = dict(_setting(word) for word in words)
    vocab_size = settings.pop("vocab", None)
    corpus = settings.pop("corpus", "text" if "text" in settings else "stories")
    config = configure(corpus, **settings)
    if vocab_size is None:
        from lmcourse.trainer.data import build_data

        return config, build_data(config).vocab_size
    if not isinstance(vocab_size, int) or vocab_size < 1:
        raise CourseError(f"vocab: expected a whole number of at least 1, got {vocab_size!r}")
    return config, vocab_size


def _setting(word: str) -> tuple[str, Any]:
    """Name and value of NAME=VALUE; the configuration itself refuses a value of the wrong kind."""
    name, _, text = word.partition("=")
    name = name.strip().lstrip("-").replace("-", "_")
    if text.lower() in ("true", "on", "false", "off"):
        return name, text.lower() in ("true", "on")
    for kind in (int, float):
        try:
            return name, kind(text)
        except ValueError:
            continue
    return name, text


def parameter_table(model: Transformer, config: TrainConfig) -> list[str]:
    """Lines: a row for each parameter in the order of the model, one for each group, and the total.

    A weight that is used twice is listed once, under its first name; the other names follow it.
    """
    from lmcourse.optimizers import optimizer_groups

    groups = optimizer_groups(model, config.optimizer_settings())
    home = {id(p): number for number, group in enumerate(groups) for _, p in group["params"]}
    names: dict[int, list[str]] = {}
    for name, p in model.named_parameters(remove_duplicate=False):
        names.setdefault(id(p), []).append(name)
    parameters = list(model.parameters())
    rows = [("parameter", "shape", "numbers", "group", "rule", "decay", "base rate")]
    for p in parameters:
        number = home[id(p)]
        shape = " x ".join(map(str, p.shape))
        rows.append(
            (" = ".join(names[id(p)]), shape, f"{p.numel():,}", str(number), *_treatment(groups[number]))
        )
    rows.append(("",) * 7)
    for number, group in enumerate(groups):
        members = [p for _, p in group["params"]]
        numbers = f"{sum(p.numel() for p in members):,}"
        rows.append((_counted(members), "", numbers, str(number), *_treatment(group)))
    rows.append((_counted(parameters), "", f"{sum(p.numel() for p in parameters):,}", "all", "", "", ""))
    return _aligned(rows)


def _treatment(group: dict[str, Any]) -> tuple[str, str, str]:
    return group["rule"], f"{group['weight_decay']:g}", f"{group['base_lr']:g}"


def _counted(parameters: list[Any]) -> str:
    return f"{len(parameters)} parameter{'s' if len(parameters) != 1 else ''}"


def _aligned(rows: Iterable[tuple[str, ...]]) -> list[str]:
    """Names to the left, all else to the right."""
    rows = list(rows)
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  ".join(
            [row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))]
        ).rstrip()
        for row in rows
    ]
