"""What every command of both programs shares: a user's mistake is one line, whoever notices it."""

import subprocess
import sys
from types import ModuleType

import numpy as np
import pytest
import torch

from autograde.cli.main import main as autograde
from lmcourse.cli.main import dispatch
from lmcourse.cli.main import main as lmcourse


@pytest.mark.parametrize(
    ("program", "arguments", "line"),
    [
        (lmcourse, [], "lmcourse: the following arguments are required: COMMAND; see lmcourse --help"),
        (
            lmcourse,
            ["train", "--stps", "3"],
            "lmcourse: unrecognized arguments: --stps 3; see lmcourse --help",
        ),
        (
            lmcourse,
            ["sample"],
            "lmcourse sample: the following arguments are required: RUN; see lmcourse sample --help",
        ),
        (
            autograde,
            ["grade", "W1", "--submissions", ".", "--jobs", "abc"],
            "autograde grade: argument --jobs: invalid int value: 'abc'; see autograde grade --help",
        ),
        (
            autograde,
            ["matrix", "--jobs", "1.5"],
            "autograde matrix: argument --jobs: invalid int value: '1.5'; see autograde matrix --help",
        ),
    ],
)
def test_arguments_that_cannot_be_parsed_are_one_line(capsys, program, arguments, line):
    with pytest.raises(SystemExit) as info:
        program(arguments)
    said = capsys.readouterr()
    assert (info.value.code, said.err, said.out) == (2, line + "\n", "")


def test_an_unknown_command_names_the_commands(capsys):
    with pytest.raises(SystemExit) as info:
        lmcourse(["trian"])
    said = capsys.readouterr().err
    assert info.value.code == 2 and said.count("\n") == 1
    assert all(word in said for word in ("'trian'", "train", "sample", "check"))


def run_as_command(monkeypatch, work) -> int:
    module = ModuleType("some.work")
    module.HELP = "work"
    module.add_arguments = lambda parser: None
    module.run = lambda args: work()
    monkeypatch.setitem(sys.modules, "some", ModuleType("some"))
    monkeypatch.setitem(sys.modules, "some.work", module)
    return dispatch("prog", "d", "some", ("work",), ["work"])


@pytest.mark.parametrize(
    ("work", "words"),
    [
        (lambda: torch.empty(2**58, dtype=torch.uint8), f"{2**58} bytes"),
        (lambda: np.ones(2**46, dtype=np.uint8), "64.0 TiB"),
        (lambda: bytearray(2**60), "MemoryError"),
    ],
    ids=["torch", "numpy", "python"],
)
def test_more_memory_than_there_is_is_one_line(monkeypatch, capsys, work, words):
    assert run_as_command(monkeypatch, work) == 2
    said = capsys.readouterr().err
    assert said.startswith("prog: not enough memory; ask for something smaller (") and words in said
    assert said.count("\n") == 1


def test_an_error_of_the_program_itself_is_not_hidden(monkeypatch):
    def work():
        raise RuntimeError("a defect")

    with pytest.raises(RuntimeError, match="a defect"):
        run_as_command(monkeypatch, work)


def test_a_reader_that_goes_away_is_one_line():
    code = (
        "import sys, types; m = types.ModuleType('some.work')\n"
        "m.HELP = ''; m.add_arguments = lambda p: None\n"
        "m.run = lambda a: [print('x' * 1000, flush=True) for _ in range(1000)] and 0\n"
        "sys.modules.update({'some': types.ModuleType('some'), 'some.work': m})\n"
        "from lmcourse.cli.main import dispatch\n"
        "sys.exit(dispatch('prog', '', 'some', ('work',), ['work']))"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.close()
    assert process.stderr.read() == b"prog: standard output was closed, so the command ended\n"
    assert process.wait() == 1
