"""Corpora with a known floor, and the user's own text."""

from lmcourse.corpora.markov import MarkovCorpus
from lmcourse.corpora.regimes import RegimeDocs

__all__ = ["MarkovCorpus", "RegimeDocs"]
