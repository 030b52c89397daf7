"""From logits to one token."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from lmcourse.errors import CourseError


@dataclass(frozen=True)
class Choice:
    """How the next token is chosen; the limits apply in the order in which they stand here.

    Attributes:
        temperature: divides the logits, in units of 1; 0, or what rounds to it, takes the likeliest token.
        top_k: choose among this many likeliest tokens; None among all. Tokens as likely as the last stay in.
        top_p: choose among the fewest likeliest tokens that together have at least this probability (Holtzman
            et al. 2020, arXiv:1904.09751); 1 chooses among all.

    Raises:
        CourseError: a value that leaves no distribution.
    """

    temperature: float = 1.0
    top_k: int | None = None
    top_p: float = 1.0

    def __post_init__(self) -> None:
        if not self.temperature >= 0:  # nan too
            raise CourseError(
                f"temperature: expected 0 (always the likeliest) or more, got {self.temperature}"
            )
        if self.top_k is not None and self.top_k < 1:
            raise CourseError(f"top_k: expected at least 1 token to choose from, got {self.top_k}")
        if not 0 < self.top_p <= 1:
            raise CourseError(f"top_p: expected a probability above 0, up to 1, got {self.top_p}")

    def distribution(self, logits: Tensor) -> Tensor:
        """(V,) logits of any type to (V,) float32 probabilities, zero for what cannot be chosen."""
        logits = logits.float()
        if self.temperature < torch.finfo(logits.dtype).tiny:  # as a divisor it would count as 0
            return torch.zeros_like(logits).index_fill_(0, logits.argmax(), 1.0)
        if self.top_k is not None and self.top_k < len(logits):
            bound = logits.topk(self.top_k).values[-1]
            logits = logits.masked_fill(logits < bound, float("-inf"))
        probabilities = torch.softmax((logits - logits.max()) / self.temperature, dim=0)
        if self.top_p == 1:
            return probabilities
        likeliest, order = probabilities.sort(descending=True, stable=True)
        before = likeliest.cumsum(0) - likeliest  # what the likelier ones have together
        left_out = order[before >= self.top_p]
        kept = probabilities.index_fill(0, left_out, 0.0)
        return kept / kept.sum()

    def pick(self, logits: Tensor, generator: torch.Generator) -> int:
        """A token; the generator, of the CPU, is the only source of chance."""
        return int(torch.multinomial(self.distribution(logits.cpu()), 1, generator=generator))
