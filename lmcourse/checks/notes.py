"""What a student wrote down, in `.lmcourse/` beside the notebook: predictions and quiz answers as JSON.

    predictions.json  {"format": 1, "W1.4": {QUESTION: [{"answer": "...", "time": "..."}, ...]}}
    quiz.json         {"format": 1, "W1": {"3": [{"option": "b", "right": true, "time": "..."}, ...]}}

Every answer is kept, in order; one that repeats the last is not added again. Files are replaced in one
step, so a crash leaves the old one. A file that cannot be read is set aside under a new name, never
deleted.
"""

from __future__ import annotations

import json
import os
import tempfile
from datetime import datetime
from pathlib import Path
from typing import Any

from lmcourse.checks.report import Prediction

FOLDER = ".lmcourse"
FORMAT = 1
PREDICTIONS = "predictions.json"
QUIZ = "quiz.json"


def stored_answers(file: str, owner: str, key: str) -> list[dict[str, Any]]:
    """All stored entries for one question, oldest first; none where the file cannot be read."""
    data, _ = _load(_path(file))
    return _entries(data, owner, key)


def stored_predictions(exercise_id: str) -> tuple[Prediction, ...]:
    """The first answer to each question of an exercise: what the student thought before any check."""
    data, _ = _load(_path(PREDICTIONS))
    questions = data.get(exercise_id)
    if not isinstance(questions, dict):
        return ()
    found = []
    for question in questions:
        entries = _entries(data, exercise_id, question)
        if entries:
            first = entries[0]
            found.append(Prediction(question, str(first.get("answer", "")), str(first.get("time", ""))))
    return tuple(found)


def store_answer(file: str, owner: str, key: str, entry: dict[str, Any]) -> str:
    """Add an entry with the local time; returns an empty text, or one line that says why it was not kept."""
    path = _path(file)
    data, broken = _load(path)
    entries = _entries(data, owner, key)
    if entries and {k: v for k, v in entries[-1].items() if k != "time"} == entry:
        return ""
    stamped = {**entry, "time": datetime.now().astimezone().isoformat(timespec="seconds")}
    part = data[owner] if isinstance(data.get(owner), dict) else {}
    changed = {**data, "format": FORMAT, owner: {**part, key: [*entries, stamped]}}
    try:
        path.parent.mkdir(exist_ok=True)
        if broken:
            os.replace(path, _free_name(path))
        _replace(path, json.dumps(changed, ensure_ascii=False, indent=1) + "\n")
    except OSError as error:
        return f"not stored: {error.strerror or error} ({path.parent})"
    return ""


def local_time(stamp: str) -> str:
    """`30 Nov 2026, 18:05` for a stored time; the text itself where it is no time."""
    try:
        return f"{datetime.fromisoformat(stamp):%d %b %Y, %H:%M}"
    except ValueError:
        return stamp


def _path(file: str) -> Path:
    return Path.cwd() / FOLDER / file


def _load(path: Path) -> tuple[dict[str, Any], bool]:
    """The file's content, and whether there is one that cannot be read."""
    try:
        data = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}, False
    except (OSError, ValueError):
        return {}, True
    return (data, False) if isinstance(data, dict) else ({}, True)


def _entries(data: dict[str, Any], owner: str, key: str) -> list[dict[str, Any]]:
    part = data.get(owner)
    entries = part.get(key) if isinstance(part, dict) else None
    return [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []


def _free_name(path: Path) -> Path:
    number = 1
    while (name := path.with_name(f"{path.stem}.unreadable-{number}{path.suffix}")).exists():
        number += 1
    return name


def _replace(path: Path, text: str) -> None:
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
