"""Corpora with a known floor, and the user's own text."""

from lmcourse.corpora.markov import MarkovCorpus
from lmcourse.corpora.regimes import RegimeDocs
from lmcourse.corpora.stories.story_grammar import StoryGrammar
from lmcourse.corpora.text_files import read_documents

__all__ = ["MarkovCorpus", "RegimeDocs", "StoryGrammar", "read_documents"]
