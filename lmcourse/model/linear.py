"""Layers without values: the transformer fills them from its own generator."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn.utils import skip_init


def linear(inputs: int, outputs: int) -> nn.Linear:
    """A linear layer without bias whose weight is not yet set; the global generator is not used."""
    return skip_init(nn.Linear, inputs, outputs, bias=False)


def embedding(rows: int, width: int) -> nn.Embedding:
    """An embedding whose weight is not yet set; the global generator is not used."""
    # not skip_init: for an embedding it imports torch's compiler, most of a second in every new process
    return nn.Embedding.from_pretrained(torch.empty(rows, width), freeze=False)
