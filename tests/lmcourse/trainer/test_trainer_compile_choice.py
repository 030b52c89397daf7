import pytest

from lmcourse.trainer import compile_choice
from lmcourse.trainer.compile_choice import choose_compile
from lmcourse.trainer.config import TrainConfig

RATE = 300e9
LONG = {"layers": 4, "width": 128, "heads": 4, "context": 64, "batch": 64, "steps": 5000}


@pytest.fixture
def complete(monkeypatch):
    monkeypatch.setattr(compile_choice, "what_is_missing", lambda: None)


@pytest.mark.parametrize(
    ("changes", "answer"),
    [
        ({}, "on"),
        ({"steps": 500}, "off"),
        ({"ramp": 100}, "off"),
        ({"context": 1024, "batch": 4}, "off"),
        ({"context": 1024, "batch": 4, "mask": False, "batches": "windows"}, "on"),
    ],
    ids=str,
)
def test_only_long_runs_of_few_shapes_are_compiled(complete, changes, answer):
    choice, line = choose_compile(TrainConfig(**{**LONG, **changes}), RATE)
    assert choice == answer and line.startswith(f"compile {answer} (")


def test_without_a_compiler_there_is_no_choice(monkeypatch):
    monkeypatch.setattr(compile_choice, "what_is_missing", lambda: "there is no C++ compiler")
    assert choose_compile(TrainConfig(**LONG), RATE) == ("off", "compile off (there is no C++ compiler)")
