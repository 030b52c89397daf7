"""Documents as a learner types them: a letter and a length each, "A:5 B:9 C:3"."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from lmcourse.toys.hashing import hashed

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
LONGEST = 200  # tokens in one document
ITEM = re.compile(r"(?:([A-Za-z]):)?([0-9]{1,6})")


@dataclass(frozen=True)
class Documents:
    """What could be read. `problem` names the first thing that could not: bad, twice, long, many or none."""

    letters: tuple[str, ...]
    lengths: tuple[int, ...]  # tokens, without the end-of-document token
    problem: str = ""
    item: str = ""  # the words the problem is about

    def __str__(self) -> str:
        return " ".join(f"{a}:{n}" for a, n in zip(self.letters, self.lengths, strict=True))


def parse_documents(text: str) -> Documents:
    """Read "A:5 B:9 C:3"; a plain number takes the next free letter. Items that make no sense are left out.

    Separators are spaces, commas and semicolons. At most 26 documents of 0 to 200 tokens.
    """
    letters: list[str] = []
    lengths: list[int] = []
    problem, item = "", ""

    def complain(kind: str, about: str) -> None:
        nonlocal problem, item
        if not problem:
            problem, item = kind, about

    for part in (p for p in re.split(r"[\s,;]+", text) if p):
        match = ITEM.fullmatch(part)
        if not match:
            complain("bad", part)
            continue
        free = next((a for a in LETTERS if a not in letters), "")
        letter = (match[1] or free).upper()
        if not free:
            complain("many", part)
        elif letter in letters:
            complain("twice", letter)
        elif int(match[2]) > LONGEST:
            complain("long", part)
        else:
            letters.append(letter)
            lengths.append(int(match[2]))
    if not letters:
        complain("none", "")
    return Documents(tuple(letters), tuple(lengths), problem, item)


def random_documents(seed: int) -> str:
    """Three to six documents of 1 to 14 tokens, in the form that `parse_documents` reads."""
    words = hashed(seed, np.arange(7)).tolist()
    count = 3 + words[0] % 4
    return " ".join(f"{LETTERS[k]}:{1 + words[k + 1] % 14}" for k in range(count))
