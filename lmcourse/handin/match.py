"""Which week a notebook belongs to, whatever its file is called."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from nbformat import NotebookNode

from lmcourse.exercises import WEEKS
from lmcourse.handin.code import defined_names


def week_of(notebook: NotebookNode) -> str | None:
    """The id of the week: by the notebook's mark, else by its cells' marks, else by the names it defines."""
    known = {week.id for week in WEEKS}
    own = notebook.metadata.get("lmcourse")
    named = own.get("week") if isinstance(own, dict) else None
    if isinstance(named, str) and named in known:
        return named
    for evidence in (_marks(notebook), _names(notebook)):
        count = Counter(week for week in evidence if week in known)
        if count:
            return count.most_common(1)[0][0]
    return None


def _marks(notebook: NotebookNode) -> Iterator[str]:
    for cell in notebook.cells:
        for key, field in (("nbgrader", "grade_id"), ("lmcourse", "exercise")):
            marks = cell.metadata.get(key)
            name = marks.get(field) if isinstance(marks, dict) else None
            found = re.match(r"W\d+(?=[-.])", name) if isinstance(name, str) else None
            if found:
                yield found.group()


def _names(notebook: NotebookNode) -> Iterator[str]:
    owner = {name: week.id for week in WEEKS for e in week.exercises for name in e.names}
    for cell in notebook.cells:
        for name in defined_names(cell.source):
            if name in owner:
                yield owner[name]
