"""`lmcourse check` on files: which notebook it takes, and one line for each that it cannot."""

from __future__ import annotations

import json
from pathlib import Path

import nbformat
import pytest

from lmcourse.checks.notebook.cells import check_places, course_cells
from lmcourse.checks.notebook.read import find_notebook, read_notebook
from lmcourse.cli.main import main
from lmcourse.exercises import exercise, week


def write(path: Path, week_id: str = "W1", cells: list | None = None) -> Path:
    metadata = {"lmcourse": {"week": week_id}} if week_id else {}
    nbformat.write(nbformat.v4.new_notebook(cells=cells or [], metadata=metadata), path)
    return path


def damaged(*cells: object, metadata: object = None) -> bytes:
    """A file that is nearly a notebook."""
    content = {"cells": cells, "nbformat": 4, "nbformat_minor": 5, "metadata": metadata or {}}
    return json.dumps(content).encode()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b"  \n", "is empty"),
        (b'{"cells": [{"cell_type": "code", "sou', "breaks off or is damaged"),
        (b"<!DOCTYPE html><html>log in</html>", "web page"),
        (b'{\n<<<<<<< HEAD\n"cells": []\n=======\n', "conflict marks"),
        (b"print(1)", "it is no JSON"),
        (b"[1, 2]", "JSON, but not a notebook"),
        (b'{"a": 1}', "JSON, but not a notebook"),
        (b"\xff\xfe{\x00}\x00", "not UTF-8 text (byte 0)"),
        ('{"cells": [], "x": "é"}'.encode("latin-1"), "not UTF-8 text (byte 20)"),
        (damaged(3), "cell 1 is no object"),
        (damaged({"cell_type": "code", "metadata": {}}), "cell 1 has no source"),
        (damaged({"cell_type": "code", "metadata": {}, "source": [1]}), "cell 1 has no source"),
        (damaged({"cell_type": "code", "metadata": {}, "source": "\ud800"}), "half a surrogate pair"),
        (damaged({"cell_type": "code", "metadata": None, "source": ""}), "cell 1 has no metadata"),
        (damaged({"cell_type": ["code"], "metadata": {}, "source": ""}), "cell 1 is neither code nor text"),
        (damaged(metadata=[1]), "its metadata are no object"),
        (damaged().replace(b'"nbformat": 4', b'"nbformat": "4"'), "its nbformat is no number"),
        (b'{"cells": []}', "its nbformat is no number"),
        (b'{"cells": [], "nbformat": 4, "nbformat_minor": 5, "metadata": {}}', "no mark of W1"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_file_that_is_no_notebook_is_one_line_and_status_2(tmp_path, capsys, content, words):
    path = tmp_path / "mine.ipynb"
    path.write_bytes(content)
    assert main(["check", "W1", str(path)]) == 2
    captured = capsys.readouterr()
    assert words in captured.err and captured.err.count("\n") == 1 and captured.out == ""
    assert path.read_bytes() == content


def test_wrong_arguments_are_one_line_and_status_2(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    other = write(tmp_path / "a.ipynb", "W0")
    for arguments, words in (
        (["W77"], "there is no week 'W77'"),
        (["W1.44"], "did you mean 'W1.4'"),
        (["W1"], "no notebook of W1 in"),
        (["W1", "none.ipynb"], "there is no file none.ipynb"),
        (["W1", str(tmp_path)], "is a folder"),
        (["W1", "x" * 300], "cannot be read: File name too long"),
        (["W1", str(other)], "is a notebook of W0, not of W1"),
        (["W0", str(other), "--timeout", "0"], "--timeout must be a number of seconds above 0, not '0'"),
        (["W0", str(other), "--timeout", "soon"], "not 'soon'"),
        (["W0", str(other), "--timeout", "nan"], "not 'nan'"),
    ):
        assert main(["check", *arguments]) == 2, arguments
        err = capsys.readouterr().err
        assert words in err and err.count("\n") == 1, arguments


def test_the_week_inside_the_notebook_counts_and_not_its_name(tmp_path):
    write(tmp_path / "week01_packing.ipynb", "W0")
    mine = write(tmp_path / "week01_packing (1) novák.ipynb", "W1")
    (tmp_path / "broken.ipynb").write_text("{", "utf-8")
    assert find_notebook(week("W1"), tmp_path) == mine


def test_the_folder_itself_comes_before_its_notebooks(tmp_path):
    (tmp_path / "notebooks").mkdir()
    inner = write(tmp_path / "notebooks" / "b.ipynb")
    assert find_notebook(week("W1"), tmp_path) == inner
    outer = write(tmp_path / "a.ipynb")
    assert find_notebook(week("W1"), tmp_path) == outer


def test_two_notebooks_of_the_week_must_be_told_apart(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "a.ipynb")
    write(tmp_path / "b.ipynb")
    assert main(["check", "W1"]) == 2
    assert "several notebooks of W1: a.ipynb, b.ipynb" in capsys.readouterr().err


def test_a_bom_and_old_formats_are_read(tmp_path):
    path = tmp_path / "old.ipynb"
    cell = {"cell_type": "code", "input": ["x = 1"], "outputs": [], "language": "python", "metadata": {}}
    old = {"nbformat": 3, "nbformat_minor": 0, "worksheets": [{"cells": [cell], "metadata": {}}]}
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps({**old, "metadata": {"lmcourse": {"week": "W1"}}}).encode())
    assert [c.source for c in read_notebook(path, week("W1")).cells] == ["x = 1"]


def test_cells_without_marks_are_known_by_their_code(tmp_path):
    code = nbformat.v4.new_code_cell
    cells = [
        code("import torch"),
        code("def document_mask(doc_id):\n    return 1"),
        code('check("W1.4")'),
        code("overlap_share = 3"),
        code("def pack(docs, T, eos:\n    broken"),
        nbformat.v4.new_markdown_cell("def split_tail"),
    ]
    notebook = read_notebook(write(tmp_path / "bare.ipynb", "", cells), week("W1"))
    found = course_cells(notebook)
    assert [(c.exercise, c.role) for c in found] == [
        (None, None),
        ("W1.4", "answer"),
        ("W1.4", "check"),
        ("W1.2", "answer"),
        ("W1.3", "answer"),
        (None, None),
    ]
    places = check_places(found, [exercise(i) for i in ("W1.2", "W1.3", "W1.4", "W1.6")])
    assert places == {"W1.2": 3, "W1.3": 4, "W1.4": 2, "W1.6": 5}
