"""Where known texts are, and what they must look like when they have arrived."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Source:
    """
    Attributes:
        url: of one file.
        sha256: of its bytes, in hex; None where the course has not seen the file. What arrives first is then
            written down, and later downloads are compared with that.
        terms: of use.
    """

    url: str
    sha256: str | None
    terms: str

    @property
    def file(self) -> str:
        """Its name."""
        return self.url.rpartition("/")[2]


_TINY_STORIES = "https://huggingface.co/datasets/roneneldan/TinyStories/resolve/main/"
_SHARING = "CDLA-Sharing-1.0; R. Eldan and Y. Li, 2023, https://arxiv.org/abs/2305.07759"

SOURCES: dict[str, tuple[Source, ...]] = {
    "shakespeare": (
        Source(
            "https://raw.githubusercontent.com/karpathy/char-rnn/master/data/tinyshakespeare/input.txt",
            "86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed",
            "the plays are in the public domain",
        ),
    ),
    "tinystories": (
        Source(_TINY_STORIES + "TinyStoriesV2-GPT4-valid.txt", None, _SHARING),
        Source(_TINY_STORIES + "TinyStoriesV2-GPT4-train.txt", None, _SHARING),
    ),
}
