"""The shape of a model, checked when it is made."""

from __future__ import annotations

from dataclasses import dataclass

from lmcourse.errors import CourseError

MLP_KINDS = ("swiglu", "relu2")
POSITION_KINDS = ("rotary", "learned", "both")
INIT_KINDS = ("small", "zero")


@dataclass(frozen=True)
class TransformerConfig:
    """Everything that decides a model's parameters and its forward pass.

    Raises:
        CourseError: a value that no model can have.
    """

    vocab_size: int
    context: int = 128  # longest sequence, in tokens; positions are 0..context-1
    layers: int = 4
    heads: int = 4
    width: int = 128
    mlp: str = "swiglu"
    qk_norm: bool = True
    gains: bool = True  # learned factors behind each normalization
    tied: bool = False  # one matrix for the embedding and the head
    dropout: float = 0.0
    positions: str = "rotary"  # angles in every layer; "learned" vectors added to the embedding; or "both"
    rope_base: float = 10_000.0
    init: str = "small"  # or "zero": each block begins as the identity; see `Transformer.reset_parameters`

    def __post_init__(self) -> None:
        for name in ("vocab_size", "context", "layers", "heads", "width"):
            value = getattr(self, name)
            if not isinstance(value, int) or value < 1:
                raise CourseError(f"{name}: expected a whole number of at least 1, got {value!r}")
        if self.width % self.heads:
            raise CourseError(f"width: {self.width} cannot be divided among {self.heads} heads")
        if self.positions not in POSITION_KINDS:
            raise CourseError(
                f"positions: expected one of {', '.join(POSITION_KINDS)}, got {self.positions!r}"
            )
        if self.positions != "learned" and self.head_width % 2:
            raise CourseError(
                f"width: {self.width} over {self.heads} heads leaves {self.head_width} a head, but rotary "
                "positions turn pairs, so this must be even"
            )
        if self.mlp not in MLP_KINDS:
            raise CourseError(f"mlp: expected one of {', '.join(MLP_KINDS)}, got {self.mlp!r}")
        if self.init not in INIT_KINDS:
            raise CourseError(f"init: expected one of {', '.join(INIT_KINDS)}, got {self.init!r}")
        if self.init == "zero" and self.tied:
            raise CourseError("init: 'zero' draws embedding and head at different sizes; leave tied out")
        if not 0 <= self.dropout < 1:
            raise CourseError(f"dropout: expected a share from 0 to below 1, got {self.dropout}")

    @property
    def head_width(self) -> int:
        return self.width // self.heads
