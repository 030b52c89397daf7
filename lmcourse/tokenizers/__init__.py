"""Tokenizers: characters, words, byte-level BPE."""

from lmcourse.tokenizers.base import Tokenizer, check_ids
from lmcourse.tokenizers.bpe import BPETokenizer
from lmcourse.tokenizers.files import load_tokenizer
from lmcourse.tokenizers.lists import CharTokenizer, WordTokenizer
from lmcourse.tokenizers.words import split_words

__all__ = [
    "BPETokenizer",
    "CharTokenizer",
    "Tokenizer",
    "WordTokenizer",
    "check_ids",
    "load_tokenizer",
    "split_words",
]
