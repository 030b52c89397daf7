"""Everything that decides a run, in one frozen object that is saved with each checkpoint."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields, replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from lmcourse.averages import AVERAGES
from lmcourse.errors import CourseError
from lmcourse.optimizers.settings import OptimizerSettings
from lmcourse.schedules import BatchPlan, Schedule, factor

if TYPE_CHECKING:
    from lmcourse.model import TransformerConfig
    from lmcourse.monitor import SkipList

GENERATED = ("stories", "markov", "regimes")
CORPORA = (*GENERATED, "text", "prepared")
TOKENIZERS = ("char", "word", "bpe")
BATCHES = ("windows", "documents")
PRECISIONS = ("auto", "fp32", "bf16", "fp16")
COMPILE = ("auto", "on", "off")


@dataclass(frozen=True)
class TrainConfig:
    """A run. Units: steps are optimizer steps, lengths are tokens.

    Raises:
        CourseError: a value that no run can have; one line for the first of them.
    """

    # data
    corpus: str = "stories"  # "text" takes the files at `text`, "prepared" the folder `data`
    text: str = ""
    data: str = ""
    tokenizer: str = "word"
    vocabulary: int = 512  # ids of a BPE tokenizer
    corpus_tokens: int = 1_500_000  # generated tokens, before the validation share is cut off
    validation: float = 0.04  # share of the stream's end
    batches: str = "documents"  # whole documents in each row, or random "windows"
    mask: bool = True  # documents do not see each other
    # model
    context: int = 256
    layers: int = 2
    heads: int = 2
    width: int = 80
    mlp: str = "swiglu"
    positions: str = "rotary"
    tied: bool = False
    qk_norm: bool = True
    gains: bool = True
    init: str = "small"
    dropout: float = 0.0
    # training
    steps: int = 2400
    batch: int = 4  # rows a step, of all ranks together
    micro_batches: int = 1  # parts that a rank computes its rows in
    loss_average: str = "tokens"
    z_loss: float = 0.0  # weight
    clip: float = 1.0  # largest global norm of the gradient
    precision: str = "auto"  # of the forward pass
    compile: str = "auto"  # its layers, where the run is long enough
    seed: int = 0
    loader_workers: int = 0  # threads that make batches ahead of time
    # optimizer
    optimizer: str = "adamw"
    lr: float = 6e-3  # peak
    weight_decay: float = 0.1
    beta1: float = 0.9
    beta2: float = 0.95
    momentum: float | None = None  # None: the optimizer's own
    muon_scale: str = "match_adamw"
    adamw_lr: float | None = None  # peak of what Muon leaves to AdamW; None: lr
    newton_schulz: str = "auto"  # number format of Muon's products
    # schedule
    schedule: str = "cosine"
    warmup: int = 100
    lr_floor: float = 0.1  # share of the peak that a decay ends at
    decay_share: float = 0.2  # share of the run that wsd decays in
    decay_shape: str = "linear"
    lengthen: int = 0  # steps with shorter rows, and as many more of them
    shortest: int = 64  # tokens in such a row, at least
    ramp: int = 0  # steps over which the batch grows
    first_rows: int = 1  # of a batch that grows
    # watching
    spikes: bool = (
        True  # pass over batches whose loss or gradient stands out, go back where that does not help
    )
    skip_batches: str = ""  # numbers of batches to pass over, such as "81,96-110"
    monitor_every: int = 20  # steps between two tables of per-layer figures
    # reports
    evaluate_every: int = 600
    save_every: int = 600

    def __post_init__(self) -> None:
        for field in fields(self):
            _check_type(field.name, str(field.type), getattr(self, field.name))
        for name, choices in _CHOICES:
            if getattr(self, name) not in choices:
                raise CourseError(f"{name}: expected {_any_of(choices)}, got {getattr(self, name)!r}")
        if (self.corpus == "text") != bool(self.text):
            raise CourseError("text: a file or folder belongs to the corpus 'text', and to no other")
        if (self.corpus == "prepared") != bool(self.data):
            raise CourseError("data: a prepared folder belongs to the corpus 'prepared', and to no other")
        for name, low, high in _BOUNDS:
            value = getattr(self, name)
            if not low <= value <= high:
                bound = f"at least {low}" if value < low else f"{low} to {high}"
                raise CourseError(f"{name}: expected {bound}, got {value}")
        if self.batches == "documents" and not self.mask:
            raise CourseError(
                "mask: rows of whole documents need the mask; take batches 'windows' to go without"
            )
        if self.micro_batches > self.batch:
            raise CourseError(
                f"micro_batches: {self.micro_batches} parts of a step of only {self.batch} rows"
            )
        self.optimizer_settings(), self.lr_schedule(), self.plan(), self.skips()
        self.model(vocab_size=2)

    def optimizer_settings(self) -> OptimizerSettings:
        """The optimizer and its constants."""
        return OptimizerSettings(
            name=self.optimizer,
            lr=self.lr,
            weight_decay=self.weight_decay,
            beta1=self.beta1,
            beta2=self.beta2,
            momentum=self.momentum,
            scale=self.muon_scale,
            adamw_lr=self.adamw_lr,
            newton_schulz=self.newton_schulz,
        )

    def lr_schedule(self) -> Schedule:
        """Share of the peak learning rate in each step."""
        return Schedule(
            self.schedule, self.steps, self.warmup, self.lr_floor, self.decay_share, self.decay_shape
        )

    def plan(self) -> BatchPlan:
        """Rows of each batch, and their length."""
        plan = BatchPlan(
            self.batch,
            self.context,
            self.lengthen,
            self.shortest,
            self.ramp,
            self.first_rows,
        )
        for length in {plan.length_at(0), plan.length_at(max(0, self.lengthen - 1))}:
            if self.context % length:
                raise CourseError(
                    f"context: rows of {self.context} tokens cannot be cut into rows of {length} to begin "
                    "with; take a multiple of 4, or another value for shortest"
                )
        return plan

    def continues(self, before: TrainConfig, step: int) -> bool:
        """Whether a run configured as `before` can go on from this step as if it had been configured so.

        That is: whether nothing differs but the schedule, and that only in what is still to come.
        """
        if self == before:
            return True
        if replace(self, **{name: getattr(before, name) for name in _TIME}) != before:
            return False
        ours, theirs = self.lr_schedule(), before.lr_schedule()
        return all(factor(ours, s) == factor(theirs, s) for s in range(step))

    def skips(self) -> SkipList:
        """The batches to pass over from the start."""
        from lmcourse.monitor.skips import SkipList

        return SkipList.parse(self.skip_batches)

    def model(self, vocab_size: int) -> TransformerConfig:
        """The shape of the model for a vocabulary of this size."""
        from lmcourse.model import TransformerConfig  # imports torch, which defaults and help do without

        return TransformerConfig(
            vocab_size=vocab_size,
            context=self.context,
            layers=self.layers,
            heads=self.heads,
            width=self.width,
            mlp=self.mlp,
            positions=self.positions,
            qk_norm=self.qk_norm,
            gains=self.gains,
            init=self.init,
            tied=self.tied,
            dropout=self.dropout,
        )

    def to_json(self) -> str:
        return json.dumps(asdict(self), indent=2) + "\n"

    @classmethod
    def from_json(cls, text: str, source: str = "the configuration") -> TrainConfig:
        """The configuration written by `to_json`.

        Args:
            text: JSON.
            source: file name for the messages.

        Raises:
            CourseError: no JSON object, an unknown key (names the nearest known one), or a wrong value.
        """
        try:
            values = json.loads(text)
        except ValueError as error:
            raise CourseError(f"{source}: not JSON ({error})") from None
        if not isinstance(values, dict):
            raise CourseError(f"{source}: expected a JSON object of settings, got {type(values).__name__}")
        return cls.from_values(values, source)

    @classmethod
    def from_values(cls, values: dict[str, Any], source: str = "the configuration") -> TrainConfig:
        """A configuration from names and values; what is not named keeps its default.

        Raises:
            CourseError: as `from_json`.
        """
        known = [field.name for field in fields(cls)]
        for name in values:
            if name not in known:
                near = get_close_matches(name, known, n=1)
                hint = f"; did you mean {near[0]!r}?" if near else f"; the settings are {', '.join(known)}"
                raise CourseError(f"{source}: there is no setting {name!r}{hint}")
        return cls(**values)


# What may change in a run that has begun, as long as the steps that are taken would have been the same.
_TIME = ("steps", "schedule", "lr_floor", "decay_share", "decay_shape")

_CHOICES = (
    ("corpus", CORPORA),
    ("tokenizer", TOKENIZERS),
    ("batches", BATCHES),
    ("loss_average", tuple(AVERAGES)),
    ("precision", PRECISIONS),
    ("compile", COMPILE),
)

# Upper ends are beyond any laptop, and below what overflows in a library without saying which setting it was.
_BOUNDS: tuple[tuple[str, float, float], ...] = (
    ("vocabulary", 257, 1_000_000),
    ("corpus_tokens", 100, 100_000_000),
    ("steps", 1, 1_000_000_000),
    ("batch", 1, 1_000_000),
    ("micro_batches", 1, 1_000_000),
    ("z_loss", 0.0, 1.0),
    ("loader_workers", 0, 64),
    ("lengthen", 0, 1_000_000_000),
    ("shortest", 1, 1_000_000),
    ("ramp", 0, 1_000_000),
    ("first_rows", 1, 1_000_000),
    ("warmup", 0, 1_000_000_000),
    ("weight_decay", 0.0, 1e6),
    ("beta1", 0.0, 0.9999999),
    ("beta2", 0.0, 0.9999999),
    ("seed", 0, 2**32 - 1),
    ("monitor_every", 1, 1_000_000_000),
    ("evaluate_every", 1, 1_000_000_000),
    ("save_every", 1, 1_000_000_000),
    ("lr", 1e-12, 1e6),
    ("clip", 1e-12, 1e12),
    ("validation", 0.001, 0.9),
    ("context", 1, 1_000_000),
    ("layers", 1, 1_000),
    ("heads", 1, 1_000),
    ("width", 1, 100_000),
)


def _check_type(name: str, kind: str, value: Any) -> None:
    if kind.endswith(" | None"):
        if value is None:
            return
        kind = kind.removesuffix(" | None")
    if kind == "float" and isinstance(value, int) and not isinstance(value, bool):
        return
    expected = {"str": str, "int": int, "float": float, "bool": bool}[kind]
    if not isinstance(value, expected) or (kind == "int" and isinstance(value, bool)):
        words = {"str": "text", "int": "a whole number", "float": "a number", "bool": "true or false"}
        raise CourseError(f"{name}: expected {words[kind]}, got {value!r}")


def _any_of(choices: tuple[str, ...]) -> str:
    return f"{', '.join(choices[:-1])} or {choices[-1]}"
