"""The course's decoder-only transformer."""

from lmcourse.model.config import TransformerConfig
from lmcourse.model.transformer import Transformer

__all__ = ["Transformer", "TransformerConfig"]
