"""Keys and values of tokens already seen, so that a new token costs one token and not the whole text."""

from __future__ import annotations

import torch
from torch import Tensor

from lmcourse.model.attend import Attend, masked
from lmcourse.packing.masks import document_mask


class KeyValueCache:
    """What a model has computed of the rows so far; pass the same one with each new piece of them.

    Rows of unequal length are padded on the left, with a document id of their own for the padding.
    """

    def __init__(self) -> None:
        self._keys: list[Tensor] = []  # (B, t, H, D) of each layer
        self._values: list[Tensor] = []
        self._doc_id: Tensor | None = None  # (B, t)
        self._attend: Attend | None = None

    def __len__(self) -> int:
        """Tokens a row so far."""
        return 0 if self._doc_id is None else self._doc_id.shape[1]

    def extend(self, doc_id: Tensor) -> None:
        """Take note of the documents of the next tokens, (B, T), before any layer computes them.

        The new queries are the *last* T of all tokens. A causal mask that the library makes for fewer queries
        than keys starts at the first key instead, and would let them see almost nothing.
        """
        self._doc_id = doc_id if self._doc_id is None else torch.cat((self._doc_id, doc_id), dim=1)
        self._attend = masked(document_mask(self._doc_id)[:, -doc_id.shape[1] :])

    def layer(self, number: int) -> Attend:
        """Attention of one layer over its old and new keys."""

        def attend(q: Tensor, k: Tensor, v: Tensor, dropout: float) -> Tensor:
            if number == len(self._keys):
                self._keys.append(k)
                self._values.append(v)
            else:
                self._keys[number] = torch.cat((self._keys[number], k), dim=1)
                self._values[number] = torch.cat((self._values[number], v), dim=1)
            return self._attend(q, self._keys[number], self._values[number], dropout)

        return attend
