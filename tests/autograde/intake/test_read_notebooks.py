import json

import nbformat
import pytest
import small_course

from lmcourse.errors import CourseError
from lmcourse.handin.read import read_notebook

NOTEBOOK = small_course.submission(W1_1="# café ů 中\ndef sample_windows(x):\n    return x + 1")
TEXT = nbformat.writes(NOTEBOOK)
PLAIN = json.loads(TEXT)


def sources(notebook):
    return [cell.source for cell in notebook.cells]


def edited(**changes):
    return json.dumps({**PLAIN, **changes}).encode()


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_every_unicode_encoding_gives_the_same_notebook(encoding):
    raw = json.dumps(PLAIN, ensure_ascii=False).encode(encoding)
    assert sources(read_notebook(raw, "x.ipynb")) == sources(NOTEBOOK)


def test_latin_1_is_read():
    raw = json.dumps(PLAIN, ensure_ascii=False).replace("ů 中", "é").encode("latin-1")
    assert sources(read_notebook(raw, "x.ipynb"))[2].startswith("# café é")


NO_NOTEBOOKS = {
    "empty": (b"", "is empty"),
    "blanks": (b" \r\n\t\n", "is empty"),
    "zeros": (bytes(4096), "is empty"),
    "web page": (b"\n<!DOCTYPE html><html><body>Log in</body></html>", "web page"),
    "old web page": (b"<HTML><head></head></HTML>", "web page"),
    "cut off": (TEXT.encode()[:-40], "cut off"),
    "cut inside a text": (TEXT.encode()[: TEXT.index("café")], "cut off"),
    "a byte behind the end": (TEXT.encode().rstrip() + b"\n\xe9", "goes on behind the notebook's end"),
    "two notebooks in one": (TEXT.encode() * 2, "goes on behind the notebook's end"),
    "conflict": (
        TEXT.replace('\n "cells"', '\n<<<<<<< HEAD\n "cells"', 1).encode(),
        "Git conflict marks (line 2)",
    ),
    "plain text": (b"dear teacher,\nplease find attached", "not valid JSON (line 1)"),
    "JSON list": (b"[1, 2]", "no notebook"),
    "other JSON": (b'{"name": "package"}', "has no cells"),
    "cells of another kind": (edited(cells="none"), "has no cells"),
    "future format": (edited(nbformat=5), "format 5"),
    "zip": (b"PK\x03\x04" + bytes(50), "zip archive"),
    "deep": (b"[" * 500_000, "nested too deeply"),
    "deep metadata": (
        b'{"nbformat": 4, "metadata": {"x": ' + b"[" * 300 + b"]" * 300 + b'}, "cells": []}',
        "nested too deeply",
    ),
    "picture": (b"\x89PNG\r\n\x1a\n" + bytes(range(256)), "not valid JSON"),
    "many cells": (edited(cells=[{"cell_type": "raw", "source": ""}] * 2001), "2001 cells"),
    "long number": (b'{"cells": ' + b"1" * 10_000 + b"}", "no notebook"),
}


@pytest.mark.parametrize(("raw", "words"), NO_NOTEBOOKS.values(), ids=NO_NOTEBOOKS.keys())
def test_what_is_no_notebook_is_said_in_one_line(raw, words):
    with pytest.raises(CourseError) as info:
        read_notebook(raw, "p (1).ipynb")
    message = str(info.value)
    assert words in message and message.startswith("p (1).ipynb") and "\n" not in message


def test_a_file_that_is_too_large_is_not_parsed():
    with pytest.raises(CourseError, match="has more than 64 MiB: clear its outputs"):
        read_notebook(b" " * (64 * 2**20 + 1), "x.ipynb")


@pytest.mark.parametrize("minor", range(6))
def test_formats_4_0_to_4_5_are_the_same(minor):
    cells = [dict(cell) for cell in PLAIN["cells"]]
    if minor < 5:
        for cell in cells:
            del cell["id"]
    notebook = read_notebook(edited(cells=cells, nbformat_minor=minor), "x.ipynb")
    assert sources(notebook) == sources(NOTEBOOK)
    nbformat.validate(notebook)


def test_format_3_is_converted():
    old = nbformat.v3.new_notebook(
        metadata=nbformat.v3.new_metadata(name="old"),
        worksheets=[nbformat.v3.new_worksheet(cells=[nbformat.v3.new_code_cell("x = 1")])],
    )
    notebook = read_notebook(nbformat.v3.writes_json(old).encode(), "x.ipynb")
    assert sources(notebook) == ["x = 1"] and notebook.cells[0].cell_type == "code"


def test_missing_repeated_and_strange_parts_are_normalized():
    cells = [
        {"cell_type": "code", "source": ["a = 1\n", "b = 2"], "id": "same", "outputs": [{"text": "x" * 9}]},
        {"cell_type": "code", "source": "c", "id": "same", "metadata": None},
        {"cell_type": "heading", "source": None, "id": 7},
        {"cell_type": "markdown"},
        "no cell",
        {"cell_type": "code", "source": "d", "id": "with spaces and ü", "metadata": {"nbgrader": "text"}},
    ]
    notebook = read_notebook(edited(cells=cells, metadata={"kernelspec": None}), "x.ipynb")
    nbformat.validate(notebook)
    assert sources(notebook) == ["a = 1\nb = 2", "c", "", "", "d"]
    assert len({cell.id for cell in notebook.cells}) == 5
    assert notebook.cells[0].outputs == [] and notebook.metadata.kernelspec.name == "python3"
    assert nbformat.writes(read_notebook(edited(cells=cells), "x")) == nbformat.writes(
        read_notebook(edited(cells=cells), "y")
    )
