"""Attention document by document: the cost of a long row is that of its documents, not of its square."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor

LIKE = 1.25  # the longest document of a group by the shortest; closer groups pad less, but there are more


class ByDocument:
    """The places of every document of a batch, grouped by like length and padded to the longest of the group.

    Padding stands behind a document, where causal attention hides it from every token of the document; what
    it computes itself is dropped, so its gradient is exactly zero.

    Args:
        doc_id: (B, T) integer ids; equal ids of a row are one document, in whatever places.
    """

    def __init__(self, doc_id: Tensor) -> None:
        B, T = doc_id.shape
        device = doc_id.device
        sorted_ids, order = doc_id.sort(dim=1, stable=True)
        order = (
            order + torch.arange(B, device=device)[:, None] * T
        ).flatten()  # (B * T,) places, by document
        new = torch.ones(B, T, dtype=torch.bool, device=device)
        new[:, 1:] = sorted_ids[:, 1:] != sorted_ids[:, :-1]
        starts = new.flatten().nonzero()[:, 0]
        lengths = torch.diff(starts, append=starts.new_tensor([B * T]))
        sizes = (lengths.double().log() / math.log(LIKE)).ceil()

        self.shapes: list[tuple[int, int]] = []  # documents and padded length of each group
        self.place_of = torch.empty(B * T, dtype=torch.int64, device=device)  # of each token, in the groups
        gathered, filled = [], 0
        for size in sizes.unique().tolist():
            members = sizes == size
            first, length = starts[members], lengths[members]
            L = int(length.max())
            column = torch.arange(L, device=device)
            places = order[first[:, None] + torch.minimum(column, length[:, None] - 1)]  # (documents, L)
            real = column < length[:, None]
            self.place_of[places[real]] = filled + real.flatten().nonzero()[:, 0]
            gathered.append(places.flatten())
            self.shapes.append((len(first), L))
            filled += places.numel()
        self.places = torch.cat(gathered)

    def __call__(self, q: Tensor, k: Tensor, v: Tensor, dropout: float) -> Tensor:
        """(B, T, H, D) three times -> (B, T, H, D)"""
        B, T, H, D = q.shape
        rows = torch.cat((q, k, v), dim=2).view(B * T, 3, H, D).index_select(0, self.places)
        parts = []
        for (documents, L), part in zip(
            self.shapes, rows.split([n * L for n, L in self.shapes]), strict=True
        ):
            heads = part.view(documents, L, 3, H, D).permute(2, 0, 3, 1, 4)  # (3, documents, H, L, D)
            if q.device.type == "cpu":
                heads = heads.to(torch.promote_types(q.dtype, torch.float32))  # quicker than 16 bits
            mixed = F.scaled_dot_product_attention(*heads, dropout_p=dropout, is_causal=True)
            parts.append(mixed.transpose(1, 2).reshape(documents * L, H, D).to(q.dtype))
        return torch.cat(parts).index_select(0, self.place_of).view(B, T, H, D)
