"""`lmcourse train`: train a small language model and say how far it is from the floor."""

from __future__ import annotations

import argparse
import math
import os
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lmcourse.averages import AVERAGES
from lmcourse.errors import CourseError
from lmcourse.optimizers.settings import FORMATS, SCALES
from lmcourse.optimizers.settings import NAMES as OPTIMIZERS
from lmcourse.schedules import KINDS, SHAPES
from lmcourse.trainer.config import BATCHES, GENERATED, PRECISIONS, TOKENIZERS, TrainConfig
from lmcourse.trainer.presets import PRESETS, configure

if TYPE_CHECKING:
    from lmcourse.distributed import Ranks
    from lmcourse.trainer.loop import RunResult

HELP = "Train a small language model on a corpus with a known floor, or on your own text."
SAMPLE_TOKENS = 260
MOST_THREADS = 256  # thousands end the process inside the thread library

_DATA = (
    ("corpus", f"what to train on: {', '.join(GENERATED)} (made on the spot; the floor is known)"),
    ("text", "train on your own text instead: UTF-8 files, .jsonl with a text field, or a folder of these"),
    ("data", "train on what lmcourse data prepare has made of files of any size: its folder"),
    ("tokenizer", f"of your own text: {', '.join(TOKENIZERS)}"),
    ("vocabulary", "ids of a bpe tokenizer"),
    ("corpus-tokens", "tokens to generate, validation included"),
    ("validation", "share of the data, at its end, that is held out"),
    ("batches", f"{' or '.join(BATCHES)}: random windows of the stream, or rows of whole documents"),
    ("mask", "documents in a row do not see each other"),
)
_MODEL = (
    ("context", "tokens that the model sees at once"),
    ("layers", "number of blocks"),
    ("heads", "attention heads in a block; must divide the width"),
    ("width", "size of the residual stream"),
    ("mlp", "feed-forward part: relu2 or swiglu"),
    ("positions", "rotary (distances), learned (places in the document), or both"),
    ("tied", "one matrix for embedding and head"),
    ("qk-norm", "normalize queries and keys"),
    ("gains", "learn a factor for each place behind a normalization"),
    ("init", "small (all matrices), or zero (blocks begin as the identity, the embedding large)"),
    ("dropout", "share of activations dropped while training"),
)
_LISTED_AVERAGES = "; ".join(f"{name}, {meaning}" for name, meaning in AVERAGES.items())
_TRAINING = (
    ("steps", "optimizer steps"),
    ("batch", "rows in a step"),
    ("micro-batches", "parts that a step is computed in; the result is the same, the memory less"),
    ("loss-average", f"all but the first for lessons: {_LISTED_AVERAGES}"),
    ("z-loss", "weight of the squared log of the partition sum, such as 1e-4"),
    ("clip", "largest global norm of the gradient"),
    ("precision", f"of the products: {', '.join(PRECISIONS)} (what this machine is fast at)"),
    ("compile", "on, off, or auto (where the run is long enough to pay for half a minute)"),
    ("seed", "of weights, order of data and dropout"),
    ("loader-workers", "threads that make batches ahead of time"),
)
_OPTIMIZER = (
    ("optimizer", f"{', '.join(OPTIMIZERS)}"),
    ("lr", "peak learning rate"),
    ("weight-decay", "of matrices; gains have none"),
    ("beta1", "memory of AdamW's first moment"),
    ("beta2", "memory of AdamW's second moment"),
    ("momentum", "memory of momentum and of muon (default: 0.9; muon 0.95)"),
    ("muon-scale", f"size of muon's updates: {', '.join(SCALES)}"),
    ("adamw-lr", "peak learning rate of what muon leaves to AdamW (default: lr)"),
    ("newton-schulz", f"number format of muon's products: {', '.join(FORMATS)}"),
)
_SCHEDULE = (
    ("schedule", f"of the learning rate: {', '.join(KINDS)}"),
    ("warmup", "steps of linear warm-up"),
    ("lr-floor", "share of the peak at which cosine, linear and wsd end"),
    ("decay-share", "share of the run, at its end, in which wsd decays"),
    ("decay-shape", f"of that decay: {', '.join(SHAPES)}"),
    ("lengthen", "steps with rows of a quarter (a third of them), then half the context"),
    ("shortest", "tokens of such rows, at least"),
    ("ramp", "steps over which the rows of a step grow from --first-rows to --batch"),
    ("first-rows", "rows of the first step under --ramp"),
)
_WATCHING = (
    ("spikes", "pass over batches whose loss or gradient stands out; go back if that does not help"),
    ("skip-batches", "numbers of batches to pass over, such as 81,96-110; the ones behind them move up"),
    ("monitor-every", "steps between two tables of per-layer figures (monitor.jsonl)"),
    ("evaluate-every", "steps between losses over the whole validation set"),
    ("save-every", "steps between checkpoints"),
)
_GROUPS = {
    "data": _DATA,
    "model": _MODEL,
    "training": _TRAINING,
    "optimizer": _OPTIMIZER,
    "schedule": _SCHEDULE,
    "watching": _WATCHING,
}
_PATHS = {"text": "PATH", "data": "DIR"}
_NUMBERS = ("stop_at", "threads", "extend", "decay")
_FIELDS = {field.name: field for field in fields(TrainConfig)}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    sources = "--corpus NAME | --text PATH | --data DIR | --resume RUN | --branch-from RUN"
    parser.usage = f"lmcourse train [{sources}] [options]"
    for title, options in _GROUPS.items():
        group = parser.add_argument_group(title)
        for option, meaning in options:
            _add_setting(group, option, meaning)
    run_group = parser.add_argument_group("run")
    run_group.add_argument(
        "--out", metavar="DIR", help="folder of the run (default: runs/CORPUS, or with a number)"
    )
    run_group.add_argument(
        "--overwrite", action="store_true", help="remove the run in --out that is there already"
    )
    run_group.add_argument("--resume", metavar="RUN", help="continue this run, with its own settings")
    run_group.add_argument(
        "--extend",
        metavar="STEPS",
        help="with --resume: add steps, if its schedule leaves its past as it was",
    )
    run_group.add_argument(
        "--branch-from",
        metavar="RUN",
        help="decay the learning rate of this run from its last checkpoint on the plateau, in a new run",
    )
    run_group.add_argument("--decay", metavar="STEPS", help="with --branch-from: steps of the decay")
    run_group.add_argument(
        "--stop-at", metavar="STEP", help="save and stop after this step, to be resumed later"
    )
    run_group.add_argument(
        "--threads", metavar="N", help="processor threads (default: one a core; --resume: as before)"
    )


def _add_setting(group: argparse._ArgumentGroup, option: str, meaning: str) -> None:
    field = _FIELDS[option.replace("-", "_")]
    text = f"{meaning}{_default_text(field.name)}"
    if field.type == "bool":
        group.add_argument(
            f"--{option}", action=argparse.BooleanOptionalAction, default=argparse.SUPPRESS, help=text
        )
        return
    metavar = {"int": "N", "float": "X", "str": _PATHS.get(option, "NAME")}[
        str(field.type).removesuffix(" | None")
    ]
    group.add_argument(f"--{option}", metavar=metavar, default=argparse.SUPPRESS, help=text)


def _default_text(name: str) -> str:
    def shown(value: Any) -> str:
        return {True: "on", False: "off"}[value] if isinstance(value, bool) else f"{value}"

    default = _FIELDS[name].default
    if default in ("", None):
        return ""
    others = [f"{corpus} {shown(preset[name])}" for corpus, preset in PRESETS.items() if name in preset]
    return f" (default: {'; '.join([shown(default), *others])})"


def run(args: argparse.Namespace) -> int:
    """Exit status 0 after the last step or at --stop-at, 130 after Ctrl-C.

    Raises:
        CourseError: any mistake in the options, the text or the run's folder.
    """
    # How long idle threads spin before they sleep; torch reads it when it is loaded. A step of the stories on
    # two cores: 28 ms alone, at 1,000 turns and at 10,000; beside two busy processes 69 to 97 ms at 1,000 and
    # 175 ms at 10,000.
    os.environ.setdefault("GOMP_SPINCOUNT", "1000")
    settings = {name: _converted(name, vars(args)[name]) for name in _FIELDS if name in vars(args)}
    numbers = {name: _whole_number(f"--{name.replace('_', '-')}", vars(args)[name]) for name in _NUMBERS}
    _refuse_mixtures(args, settings)

    import torch

    from lmcourse.distributed import from_environment
    from lmcourse.trainer.loop import saved_threads

    threads = numbers["threads"]
    if args.resume is not None and not threads:
        threads = saved_threads(find_run(args.resume))  # another number would change the last bits
    if threads:
        torch.set_num_threads(threads)
    with from_environment() as ranks:
        result = _train(args, settings, numbers, ranks)
        if ranks.is_main:
            print("\n".join(_report(result)))
    if result.state.step in (result.config.steps, numbers["stop_at"]):
        return 0
    return 130


def _train(
    args: argparse.Namespace, settings: dict[str, Any], numbers: dict[str, int | None], ranks: Ranks
) -> RunResult:
    from lmcourse.trainer.loop import branch_run, resume_run, start_run
    from lmcourse.trainer.run_folder import free_name

    stop_at = numbers["stop_at"]
    if args.resume is not None:
        return resume_run(find_run(args.resume), stop_at, extend=numbers["extend"] or 0, ranks=ranks)
    if args.branch_from is not None:
        parent = find_run(args.branch_from)
        folder = Path(args.out) if args.out else free_name(parent.parent, f"{parent.name}-decay")
        return branch_run(parent, ranks.from_main(folder), numbers["decay"], stop_at, ranks=ranks)
    config = _config(settings)
    folder = ranks.from_main(Path(args.out) if args.out else free_name(Path("runs"), config.corpus))
    if ranks.is_main:
        print(f"{folder}: {_headline(config)}", flush=True)
    return start_run(config, folder, stop_at, overwrite=args.overwrite, ranks=ranks)


def _refuse_mixtures(args: argparse.Namespace, settings: dict[str, Any]) -> None:
    """Options that do not go together."""
    if args.out == "":
        raise CourseError("--out: name a folder, or leave the option out")
    if args.extend is not None and args.resume is None:
        raise CourseError("--extend: name the run with --resume RUN")
    if (args.decay is None) != (args.branch_from is None):
        raise CourseError("--branch-from: give the steps of the decay with --decay STEPS, and both or none")
    chosen = "resume" if args.resume is not None else "branch_from" if args.branch_from is not None else None
    if chosen is None:
        return
    others = {"resume": ("branch_from", "out"), "branch_from": ()}[chosen]
    given = [*settings, *(name for name in others if vars(args)[name] is not None)]
    given += ["overwrite"] if args.overwrite else []
    if given:
        options = ", ".join(f"--{name.replace('_', '-')}" for name in given)
        option = f"--{chosen.replace('_', '-')}"
        raise CourseError(f"{option}: a run keeps its own settings, so leave out {options}")


def find_run(name: str) -> Path:
    """The folder of a run, given as a path or as a name below runs/."""
    inside = Path("runs") / name
    return inside if not Path(name).exists() and inside.exists() else Path(name)


def _config(settings: dict[str, Any]) -> TrainConfig:
    sources = {"text": "text", "data": "prepared"}
    chosen = [sources[option] for option in sources if option in settings]
    corpus = settings.pop("corpus", chosen[0] if chosen else "stories")
    for option, own in sources.items():
        if option in settings and corpus != own:
            raise CourseError(f"--{option}: give that or --corpus {corpus}, not both")
        if corpus == own and not settings.get(option):
            raise CourseError(f"--{option}: name the file or folder to train on")
    for name in ("tokenizer", "vocabulary"):
        if name in settings and corpus != "text":
            raise CourseError(f"--{name}: the corpus {corpus!r} brings its own; this is for --text")
    if "validation" in settings and corpus == "prepared":
        raise CourseError("--validation: what prepared data hold out is chosen by lmcourse data prepare")
    return configure(corpus, **settings)


def _converted(name: str, value: Any) -> Any:
    kind = str(_FIELDS[name].type).removesuffix(" | None")
    if kind in ("str", "bool"):
        return value
    if kind == "int":
        return _whole_number(f"--{name.replace('_', '-')}", value)
    try:
        return float(value)
    except ValueError:
        raise CourseError(f"--{name.replace('_', '-')}: expected a number, got {value!r}") from None


def _whole_number(option: str, text: str | None) -> int | None:
    if text is None:
        return None
    try:
        value = int(text)
    except ValueError:
        raise CourseError(f"{option}: expected a whole number, got {text!r}") from None
    if option[2:].replace("-", "_") in _NUMBERS and value < 1:
        raise CourseError(f"{option}: expected at least 1, got {value}")
    if option == "--threads" and value > MOST_THREADS:
        raise CourseError(f"{option}: expected at most {MOST_THREADS}, got {value}")
    return value


def _headline(config: TrainConfig) -> str:
    source = config.text or config.data or config.corpus
    return (
        f"{source}, {config.steps} steps of {config.batch} rows of {config.context} tokens, "
        f"{config.layers} layers of width {config.width}"
    )


def _report(result: RunResult) -> list[str]:
    step, steps = result.state.step, result.config.steps
    if step < steps:
        return [
            f"stopped after step {step} of {steps}; the state is saved. Go on with",
            f"  lmcourse train --resume {result.run}",
        ]
    loss, floor = result.validation.loss, result.floor
    lines = [
        "",
        f"validation loss   {loss:.4f} nats per token, over all {result.validation.tokens:,} targets",
    ]
    if floor is not None:
        lines.append(f"floor             {floor:.4f} (the true distribution on the same targets)")
        lines.append(f"above the floor   {loss - floor:+.4f}")
    lines += [
        f"perplexity        {result.validation.perplexity:.2f}",
        f"to compare        {result.data.unigram_entropy():.4f} unigram entropy, "
        f"{math.log(result.data.vocab_size):.4f} = ln {result.data.vocab_size}",
        f"speed             {_speed(result)}, {result.seconds:.0f} s of training",
        f"run               {result.run} (log.csv, log.jsonl, checkpoints)",
        "",
        f"sample (more: lmcourse sample {result.run}):",
        _sample(result),
    ]
    return lines


def _speed(result: RunResult) -> str:
    """Of the whole run, over all that took part in it."""
    from lmcourse.monitor.peak import peak_of
    from lmcourse.monitor.speed import Speed, flops_per_token
    from lmcourse.trainer.log import read_log, updates

    speed, model = Speed(), result.state.model
    for record in updates(read_log(result.run)).values():
        processed = record.rows * record.row_tokens
        speed.add(
            record.tokens, processed, processed * flops_per_token(model, record.row_tokens), record.seconds
        )
    world = int(os.environ.get("WORLD_SIZE", "1"))
    return speed.words(peak_of(next(model.parameters()).device, result.config.precision), world)


def _sample(result: RunResult) -> str:
    from lmcourse.evaluation.sampling import generate
    from lmcourse.trainer.batches import generator_for

    data = result.data
    prompt = data.opening()
    ids = generate(
        result.state.model, prompt, SAMPLE_TOKENS, generator_for(result.config.seed), stop=data.eos
    )
    return data.describe([*prompt, *ids])
