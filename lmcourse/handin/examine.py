"""What the grader will find in a notebook, told before it is handed in: by the same reading and repairs."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from nbformat import NotebookNode

from lmcourse import exercises as registry
from lmcourse.errors import CourseError
from lmcourse.handin.code import without_magics
from lmcourse.handin.master import Master
from lmcourse.handin.match import week_of
from lmcourse.handin.read import MAX_BYTES, read_notebook
from lmcourse.handin.repair import repair
from lmcourse.handin.untouched import untouched

LIBRARIES = {"torch", "numpy", "lmcourse", "matplotlib", "IPython", "tokenizers"} | set(
    sys.stdlib_module_names
)
ENDS = {"exit", "quit", "sys.exit", "os._exit", "os.abort"}
CONFLICT = re.compile(r"^(<{7}|={7}|>{7})( |$)", re.MULTILINE)


@dataclass(frozen=True)
class Examined:
    """`repairs` are what grading will put right by itself, `warnings` what it cannot; one line each.

    `notebook` is the repaired notebook, without outputs; `not_attempted` are exercise ids.
    """

    week: registry.Week
    notebook: NotebookNode
    repairs: tuple[str, ...]
    warnings: tuple[str, ...]
    not_attempted: tuple[str, ...]


def examine(path: Path) -> Examined:
    """Read and repair a notebook as the grader does.

    Raises:
        CourseError: the file cannot be read, is no notebook, or is none of this course; says what it is.
    """
    data = _read(path)
    notebook = read_notebook(data, path.name)
    week_id = week_of(notebook)
    if week_id is None:
        raise CourseError(
            f"{path} is no notebook of this course: it has none of its marks and none of its names"
        )
    master = Master.load(week_id)
    repaired = repair(notebook, master)
    week = registry.week(week_id)
    missing = untouched(repaired.notebook, master)
    return Examined(
        week,
        repaired.notebook,
        repaired.repairs,
        tuple([*_encoding(data), *_neighbors(path), *_cells(repaired.notebook)]),
        tuple(e.id for e in week.exercises if e.id in missing),
    )


def _read(path: Path) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise CourseError(f"there is no file {path}") from None
    except OSError as error:
        if path.is_dir():
            raise CourseError(f"{path} is a folder; give the notebook in it") from None
        raise CourseError(f"{path} cannot be read: {error.strerror}") from None


def _encoding(data: bytes) -> Iterator[str]:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        yield "the file is not UTF-8: it can be read, but other programs show wrong letters; save it again"


def _neighbors(path: Path) -> Iterator[str]:
    for other in sorted(path.resolve().parent.glob("*.py")):
        if other.stem in LIBRARIES:
            yield (
                f"{other.name} lies beside the notebook, so `import {other.stem}` takes that file, while "
                "the grader takes the library: rename the file"
            )


def _cells(notebook: NotebookNode) -> Iterator[str]:
    """What stops a cell, or makes it behave in another way when nobody sits in front of it."""
    for number, cell in enumerate(notebook.cells, 1):
        if cell.cell_type != "code":
            continue
        own = cell.metadata.get("lmcourse", {})
        if own.get("role") in ("grade", "check", "setup", "show"):
            continue
        place = f"cell {number}" + (f" (answer of {own['exercise']})" if own.get("role") == "answer" else "")
        if CONFLICT.search(cell.source):
            yield f"{place} holds conflict marks of a merge (<<<<<<<): choose one version"
            continue
        try:
            tree = ast.parse(without_magics(cell.source))
        except (SyntaxError, ValueError, RecursionError) as error:
            line = getattr(error, "lineno", None)
            yield f"{place} is not Python" + (f" (line {line}: {error.msg})" if line else "")
            continue
        for name in sorted({_called(node) for node in ast.walk(tree) if isinstance(node, ast.Call)}):
            if name == "input":
                yield f"{place} calls input(): nobody answers when it is graded, so it will stop there"
            elif name in ENDS:
                yield f"{place} calls {name}(): that ends the whole notebook, so what follows is not run"
        if any(line.lstrip().startswith("!") for line in cell.source.split("\n")):
            yield f"{place} starts another program (a line with !): that is not possible when it is graded"


def _called(node: ast.Call) -> str:
    if isinstance(node.func, ast.Name):
        return node.func.id
    if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name):
        return f"{node.func.value.id}.{node.func.attr}"
    return ""
