"""`autograde build`: writes only what changed, finds what differs, refuses in one line a fault."""

from __future__ import annotations

import pytest

from autograde import project
from autograde.build import pipeline
from autograde.build.pipeline import BuiltWeek
from lmcourse.cli.main import dispatch
from lmcourse.exercises import WEEKS


def _run(*argv: str) -> int:
    return dispatch("autograde", "", "autograde.cli", ("build",), ["build", *argv])


@pytest.fixture
def built(tmp_path, monkeypatch):
    """The command with a build that is quick: each week makes one notebook, unless faults are put in."""
    monkeypatch.setattr(project, "NOTEBOOKS", tmp_path)
    faults: list[str] = []

    def build_week(week, solutions, root, hidden):
        files = {tmp_path / f"{week.notebook}.ipynb": f"the notebook of {week.id}\n"}
        return BuiltWeek(week, {} if faults else files, [f"{week.id} {fault}" for fault in faults])

    monkeypatch.setattr(pipeline, "build_week", build_week)
    monkeypatch.setattr(pipeline, "package_faults", lambda: [])
    return tmp_path, faults


def test_all_weeks_are_written_and_then_left_alone(built, capsys):
    folder, _ = built
    assert _run() == 0
    assert {p.name for p in folder.iterdir()} == {f"{week.notebook}.ipynb" for week in WEEKS}
    assert capsys.readouterr().out.count("  written  ") == len(WEEKS)
    stamp = (folder / "week00_start.ipynb").stat().st_mtime_ns
    assert _run("W0") == 0
    assert "unchanged" in capsys.readouterr().out
    assert (folder / "week00_start.ipynb").stat().st_mtime_ns == stamp


def test_check_passes_only_when_every_file_is_in_step(built, capsys):
    folder, _ = built
    assert _run("--check") == 1
    assert capsys.readouterr().out.count("  missing  ") == len(WEEKS)
    assert list(folder.iterdir()) == []
    _run()
    assert _run("--check") == 0
    (folder / "week01_packing.ipynb").write_text("edited by hand")
    assert _run("--check") == 1
    shown = capsys.readouterr()
    assert "differs    " in shown.out and "autograde build` and commit" in shown.err
    assert (folder / "week01_packing.ipynb").read_text() == "edited by hand"


def test_check_finds_a_notebook_that_no_week_makes(built, capsys):
    folder, _ = built
    _run()
    (folder / "week05_old.ipynb").write_text("")
    assert _run("--check") == 1
    assert "stray" in capsys.readouterr().out


def test_a_refused_week_writes_nothing_at_all(built, capsys):
    folder, faults = built
    faults += ["has no mutants", "has no points"]
    assert _run() == 1
    assert list(folder.iterdir()) == []
    said = capsys.readouterr().err.splitlines()
    assert said[0] == "autograde: refused: W0 has no mutants" and len(said) == 2 * len(WEEKS)


@pytest.mark.parametrize(
    ("argv", "line"),
    [
        (["W99"], f"autograde: there is no week 'W99'; the weeks are {', '.join(w.id for w in WEEKS)}"),
        (
            ["--check", "--course", "x"],
            "autograde: --check builds in a folder of its own; leave --course out",
        ),
    ],
)
def test_a_users_mistake_is_one_line(built, capsys, argv, line):
    assert _run(*argv) == 2
    assert capsys.readouterr().err == line + "\n"


def test_a_missing_source_is_one_line(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(project, "SOLUTIONS", tmp_path)
    assert _run("W0", "--course", str(tmp_path / "course")) == 2
    said = capsys.readouterr().err
    assert "week00_start.py: the week's source is missing" in said and said.count("\n") == 1
