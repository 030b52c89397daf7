"""Bytes of a file to a notebook, or one line that says what the file is instead."""

from __future__ import annotations

import json
import re
from typing import Any

import nbformat
from nbformat import NotebookNode

from lmcourse.errors import CourseError

MAX_BYTES = 64 * 2**20
MAX_CELLS = 2_000
MAX_NESTING = 50  # levels of metadata; what copies and writes a notebook later walks it recursively
TYPES = ("code", "markdown", "raw")
KERNELSPEC = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}


def read_notebook(data: bytes, name: str) -> NotebookNode:
    """The notebook in `data`, in format 4.5, with an id for every cell and without outputs.

    Accepts UTF-8 with or without BOM, UTF-16 and Latin-1; formats 3 and 4.x; cells without ids, metadata or
    with a source in one string or many.

    Raises:
        CourseError: says what `name` is instead of a notebook, in one line.
    """
    if len(data) > MAX_BYTES:  # callers read no more than one byte beyond, so the size itself is not known
        raise CourseError(f"{name} has more than {MAX_BYTES // 2**20} MiB: clear its outputs")
    content = _parse(_decode(data, name), name)
    if not isinstance(content, dict):
        raise CourseError(f"{name} holds JSON, but no notebook: save it again from JupyterLab")
    version = content.get("nbformat")
    if version == 3 or "worksheets" in content:
        content = _from_version_3(content, name)
    elif isinstance(version, int) and version > 4:
        raise CourseError(f"{name} has notebook format {version}; this course reads format 4: save it as 4.5")
    cells = content.get("cells")
    if not isinstance(cells, list):
        raise CourseError(f"{name} holds JSON, but has no cells: it is no notebook")
    if len(cells) > MAX_CELLS:
        raise CourseError(f"{name} has {len(cells)} cells; at most {MAX_CELLS} are read")
    if _nested_deeper([content.get("metadata"), *(c.get("metadata") for c in cells if isinstance(c, dict))]):
        raise CourseError(f"{name} is nested too deeply to be a notebook")
    return _normalized(cells, content.get("metadata"))


def _decode(data: bytes, name: str) -> str:
    if not data.strip(b"\0 \t\r\n"):
        raise CourseError(f"{name} is empty: save the notebook again and hand it in once more")
    if data.startswith(b"PK\x03\x04"):
        raise CourseError(f"{name} is a zip archive, not a notebook: unpack it, or let its name end in .zip")
    encodings = ["utf-8-sig"]
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        encodings = ["utf-16"]
    elif data[1:2] == b"\0":
        encodings = ["utf-16-le"]
    elif data[:1] == b"\0":
        encodings = ["utf-16-be"]
    for encoding in (*encodings, "latin-1"):
        try:
            return data.decode(encoding)
        except UnicodeDecodeError:
            continue
    raise CourseError(f"{name} is in no encoding that this course reads: save it as UTF-8")


def _parse(text: str, name: str) -> Any:
    start = text.lstrip()[:500].lower()
    if start.startswith(("<!doctype", "<html", "<?xml", "<head")):
        raise CourseError(f"{name} is a web page, perhaps a log-in page: download the notebook file itself")
    try:
        return json.loads(text)
    except RecursionError:
        raise CourseError(f"{name} is nested too deeply to be a notebook") from None
    except ValueError as error:
        if re.search(r"^(<{7}|>{7}) ", text, re.MULTILINE):
            line = text[: re.search(r"^(<{7}|>{7}) ", text, re.MULTILINE).start()].count("\n") + 1
            raise CourseError(
                f"{name} holds Git conflict marks (line {line}): resolve the conflict and save again"
            ) from None
        if getattr(error, "msg", "") == "Extra data":
            raise CourseError(
                f"{name} goes on behind the notebook's end (line {error.lineno}): save it again"
            ) from None
        if getattr(error, "pos", 0) >= len(text.rstrip()) - 1 or "Unterminated" in str(error):
            raise CourseError(f"{name} is cut off: the end of the file is missing") from None
        line = getattr(error, "lineno", 1)
        raise CourseError(f"{name} is no notebook: it is not valid JSON (line {line})") from None


def _nested_deeper(value: Any, levels: int = MAX_NESTING) -> bool:
    """Whether lists and dicts stand in one another more than `levels` deep."""
    layer = [value]
    for _ in range(levels + 1):
        layer = [
            part
            for outer in layer
            if isinstance(outer, dict | list)
            for part in (outer.values() if isinstance(outer, dict) else outer)
        ]
    return bool(layer)


def _from_version_3(content: dict, name: str) -> dict:
    try:
        return nbformat.convert(nbformat.from_dict({"metadata": {}, **content}), 4)
    except Exception as error:
        reason = type(error).__name__
        raise CourseError(
            f"{name} is a notebook of an old format that cannot be converted ({reason})"
        ) from None


def _normalized(cells: list, metadata: Any) -> NotebookNode:
    notebook = nbformat.v4.new_notebook()
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    notebook.metadata = nbformat.from_dict(metadata) if isinstance(metadata, dict) else NotebookNode()
    spec = notebook.metadata.get("kernelspec")
    if not isinstance(spec, dict) or not isinstance(spec.get("name"), str):
        notebook.metadata.kernelspec = nbformat.from_dict(KERNELSPEC)
    seen: set[str] = set()
    notebook.cells = [_cell(raw, seen, number) for number, raw in enumerate(cells) if isinstance(raw, dict)]
    return notebook


def _cell(raw: dict, seen: set[str], number: int) -> NotebookNode:
    kind = raw.get("cell_type") if raw.get("cell_type") in TYPES else "raw"
    source = raw.get("source", raw.get("input", ""))
    if isinstance(source, list):
        source = "".join(part for part in source if isinstance(part, str))
    metadata = raw.get("metadata")
    # Written out, since nbformat's own makers validate each cell against the whole schema.
    cell = NotebookNode(
        cell_type=kind, metadata=NotebookNode(), source=source if isinstance(source, str) else ""
    )
    if isinstance(metadata, dict):
        cell.metadata = nbformat.from_dict(metadata)
    if kind == "code":
        cell.update(outputs=[], execution_count=None)
    name = raw.get("id")
    usable = isinstance(name, str) and re.fullmatch(r"[a-zA-Z0-9-_]{1,64}", name) and name not in seen
    cell.id = name if usable else _new_id(seen, number)
    seen.add(cell.id)
    return cell


def _new_id(seen: set[str], number: int) -> str:
    """An id that depends on the place only, so that reading a file twice gives the same notebook."""
    candidate = f"cell-{number}"
    while candidate in seen:
        candidate += "-x"
    return candidate
