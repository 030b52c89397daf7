"""`autograde matrix`: exit status, JSON, selection by week and exercise, mistakes of the user."""

from __future__ import annotations

import json

import pytest

from autograde.cli import matrix as command
from autograde.matrix import run as matrix_run
from lmcourse.cli.main import dispatch
from lmcourse.exercises import WEEKS


def _run(*argv: str) -> int:
    return dispatch("autograde", "", "autograde.cli", ("matrix",), ["matrix", *argv])


def test_exercises_come_in_the_registrys_order_once_each():
    names = [e.id for e in command._wanted(["W1.7", "W0", "W1.2", "w0.2", "W1.7"])]
    assert names == ["W0.1", "W0.2", "W1.2", "W1.7"]


def test_one_real_exercise_as_json_with_its_stub_missing(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(matrix_run, "SOLUTIONS", tmp_path)
    assert _run("W1.4", "--json", "--jobs", "1") == 1
    shown = capsys.readouterr()
    data = json.loads(shown.out)
    assert [m["exercise"] for m in data["matrices"]] == ["W1.4"]
    assert data["faults"] == [data["faults"][0]]
    assert data["faults"][0].startswith("the stubs of W1 could not be tried: there is no ")
    assert shown.err.startswith("autograde: the stubs of W1 could not be tried")
    assert all(not r["fault"] for r in data["matrices"][0]["rows"])


@pytest.mark.parametrize(
    ("argv", "line"),
    [
        (["W99"], f"autograde: there is no week 'W99'; the weeks are {', '.join(w.id for w in WEEKS)}\n"),
        (["W1.44"], "autograde: there is no exercise 'W1.44'; did you mean "),
        (["W0", "--jobs", "0"], "autograde: --jobs must be 1 or more, but is 0\n"),
    ],
)
def test_a_users_mistake_is_one_line(capsys, argv, line):
    assert _run(*argv) == 2
    said = capsys.readouterr().err
    assert said.startswith(line) and said.count("\n") == 1
