"""Private folders: their names, and deleting those of judges that were killed before they could."""

from __future__ import annotations

import tempfile
from pathlib import Path

import psutil

from autograde.sandbox import folders

PREFIX = "submission-"  # the judge's process id and a random part follow


def clear_leftovers() -> None:
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*-*"):
        judge = folder.name.removeprefix(PREFIX).partition("-")[0]
        if judge.isdecimal() and not psutil.pid_exists(int(judge)):
            folders.delete(folder)
