"""The course's decoder-only transformer."""

from lmcourse.model.cache import KeyValueCache
from lmcourse.model.config import TransformerConfig
from lmcourse.model.transformer import Transformer

__all__ = ["KeyValueCache", "Transformer", "TransformerConfig"]
