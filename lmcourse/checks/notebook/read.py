"""Find a week's notebook by the week written inside it, and read it or say in one line why not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

from lmcourse.checks.notebook.cells import course_cells
from lmcourse.errors import CourseError
from lmcourse.exercises import Week


def find_notebook(week: Week, folder: Path) -> Path:
    """The week's notebook in `folder`, else in `folder/notebooks`, whatever its file name.

    Raises:
        CourseError: there is none, there are several in one folder, or the only candidate cannot be read.
    """
    for place in (folder, folder / "notebooks"):
        files = sorted(place.glob("*.ipynb")) if place.is_dir() else []
        found = [file for file in files if _week_quietly(file) == week.id]
        if len(found) > 1:
            names = ", ".join(file.name for file in found)
            how = f"lmcourse check {week.id} NOTEBOOK"
            raise CourseError(f"{place} has several notebooks of {week.id}: {names}; name one: {how}")
        if found:
            return found[0]
        usual = place / f"{week.notebook}.ipynb"
        if usual.is_file():
            return usual
    raise CourseError(
        f"no notebook of {week.id} in {folder} or its folder notebooks; give its path: "
        f"lmcourse check {week.id} NOTEBOOK"
    )


def read_notebook(path: Path, week: Week) -> NotebookNode:
    """The notebook in format 4, outputs included.

    Raises:
        CourseError: no such file, not UTF-8, not JSON, not a notebook, or a notebook of another week.
    """
    data = _read_json(path)
    _refuse_damaged_parts(path, data)
    try:
        notebook = nbformat.reads(json.dumps(data), as_version=4, capture_validation_error={})
    except Exception as error:
        raise CourseError(f"{path} is not a notebook that can be read: {_first_line(error)}") from None
    marked = _marked_week(notebook)
    if marked is None:
        raise CourseError(f"{path} carries no mark of {week.id}; is it a notebook of this course?")
    if marked != week.id:
        raise CourseError(f"{path} is a notebook of {marked}, not of {week.id}")
    return notebook


def _read_json(path: Path) -> Any:
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        raise CourseError(f"there is no file {path}") from None
    except OSError as error:
        if isinstance(error, IsADirectoryError | PermissionError) and path.is_dir():  # Windows: no permission
            raise CourseError(f"{path} is a folder; give the notebook in it") from None
        raise CourseError(f"{path} cannot be read: {error.strerror}") from None
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise CourseError(f"{path} is not UTF-8 text (byte {error.start}); save it as UTF-8") from None
    if not text.strip():
        raise CourseError(f"{path} is empty")
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CourseError(f"{path} is not a notebook: {_what_is_it(text)} ({_first_line(error)})") from None
    cells = data.get("cells", data.get("worksheets")) if isinstance(data, dict) else None
    if not isinstance(cells, list):
        raise CourseError(f"{path} is JSON, but not a notebook: it has no list of cells")
    return data


def _refuse_damaged_parts(path: Path, data: dict) -> None:
    """In words of a notebook: what nbformat says of such parts are Python's words about its own insides."""
    if "cells" not in data:
        return  # an old format, which nbformat converts or refuses
    if type(data.get("nbformat")) is not int:
        raise CourseError(f"{path} is damaged: its nbformat is no number; take a fresh copy of the notebook")
    if not isinstance(data.get("metadata", {}), dict):
        raise CourseError(f"{path} is damaged: its metadata are no object; take a fresh copy of the notebook")
    for number, cell in enumerate(data["cells"], 1):
        fault = _fault_of(cell)
        if fault:
            raise CourseError(
                f"{path} is damaged: cell {number} {fault}; delete that cell, or take a fresh copy"
            )


def _fault_of(cell: Any) -> str:
    if not isinstance(cell, dict):
        return "is no object"
    if cell.get("cell_type") not in ("code", "markdown", "raw"):
        return "is neither code nor text"
    if not isinstance(cell.get("metadata"), dict):
        return "has no metadata"
    source = cell.get("source")
    lines = [source] if isinstance(source, str) else source
    if not isinstance(lines, list) or not all(isinstance(line, str) for line in lines):
        return "has no source"
    try:
        "".join(lines).encode("utf-8")
    except UnicodeEncodeError:
        return "holds half a surrogate pair (\\ud800..\\udfff), which is no text"
    return ""


def _what_is_it(text: str) -> str:
    start = text.lstrip()
    if start.startswith("<") and not start.startswith("<<<<<<<"):
        return "it is a web page, perhaps a log-in page that was saved"
    if "\n<<<<<<<" in f"\n{text}":
        return "it holds conflict marks of a merge"
    if start.startswith("{"):
        return "its JSON breaks off or is damaged"
    return "it is no JSON"


def _week_quietly(path: Path) -> str | None:
    try:
        data = _read_json(path)
    except CourseError:
        return None
    metadata = data.get("metadata")
    course = metadata.get("lmcourse") if isinstance(metadata, dict) else None
    return course.get("week") if isinstance(course, dict) else None


def _marked_week(notebook: NotebookNode) -> str | None:
    """The week in the notebook's metadata, else the one its cells belong to, else None."""
    course = notebook.metadata.get("lmcourse")
    if isinstance(course, dict) and isinstance(course.get("week"), str):
        return course["week"]
    weeks = [cell.exercise.partition(".")[0] for cell in course_cells(notebook) if cell.exercise]
    return max(set(weeks), key=weeks.count) if weeks else None


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)
