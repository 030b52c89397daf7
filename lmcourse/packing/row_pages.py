"""Rows of whole documents of a stream of any length, packed a page at a time."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from lmcourse.packing.row_index import PADDING, document_rows

PAGE = 1 << 21  # tokens; a shorter stream is one page
OPEN_PAGES = 2  # a step may take rows of two


class RowPages:
    """The rows of `document_rows`, page by page; a page is packed when it is first asked for.

    A page holds the documents that begin in its stretch of the stream. Memory: two pages of places, however
    long the stream is.
    """

    def __init__(self, tokens: np.ndarray, eos: int, T: int, page: int = PAGE) -> None:
        """
        Args:
            tokens: (N,) integer stream, an array or a `TokenStream`.
            eos: id of the end-of-document token.
            T: tokens per row that the model sees.
            page: tokens of a page.
        """
        self._tokens, self._eos, self._T, self._page = tokens, eos, T, page
        self._counts: dict[int, int] = {}
        self._open: dict[int, tuple[int, Tensor]] = {}

    def __len__(self) -> int:
        """Number of pages; some may have no row."""
        return -(-len(self._tokens) // self._page)

    def count(self, page: int) -> int:
        """Rows of a page."""
        if page not in self._counts:
            self._counts[page] = len(self._rows(page)[1])
        return self._counts[page]

    def take(self, page: int, index: Tensor) -> Tensor:
        """Rows of a page by their index in it: (len(index), T+1) int64 places in the stream, or PADDING."""
        start, rows = self._rows(page)
        places = rows[index].long()
        return torch.where(places == PADDING, PADDING, places + start)

    def _rows(self, page: int) -> tuple[int, Tensor]:
        """Where the page begins, and its rows, (R, T+1) int32 places from there."""
        if page not in self._open:
            start, end = self._begin(page), self._begin(page + 1)
            while len(self._open) >= OPEN_PAGES:
                del self._open[next(iter(self._open))]
            self._open[page] = start, document_rows(self._tokens[start:end], self._eos, self._T).int()
        return self._open[page]

    def _begin(self, page: int) -> int:
        """The first document's start at or after the page's stretch begins."""
        place = page * self._page
        if page == 0:
            return 0
        while place < len(self._tokens):  # a document begins where the token before it is eos
            found = np.flatnonzero(self._tokens[place - 1 : place - 1 + self._page] == self._eos)
            if len(found):
                return place + int(found[0])
            place += self._page
        return len(self._tokens)
