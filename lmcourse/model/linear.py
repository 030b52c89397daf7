"""Layers whose weights keep their type while the products compute in that of the input."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils import skip_init


class Linear(nn.Linear):
    """A product in the type of its input: float32 weights are cast anew in each pass.

    So the weights and their gradients are float32 whatever the products compute in, and one can read where
    each cast happens. The library's autocast does the same by a list of operations, and slower.
    """

    def forward(self, x: Tensor) -> Tensor:
        return F.linear(x, self.weight.to(x.dtype))


def linear(inputs: int, outputs: int) -> Linear:
    """A linear layer without bias whose weight is not yet set; the global generator is not used."""
    return skip_init(Linear, inputs, outputs, bias=False)


def embedding(rows: int, width: int) -> nn.Embedding:
    """An embedding whose weight is not yet set; the global generator is not used."""
    # not skip_init: for an embedding it imports torch's compiler, most of a second in every new process
    return nn.Embedding.from_pretrained(torch.empty(rows, width), freeze=False)
