"""Drivers carry what no message can; what they bring back is recorded and recognized as calls are."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest
import torch
from torch.nn.utils import skip_init

from autograde.exercise import HiddenExercise, StudentError
from autograde.judge.local import LocalAnswer
from autograde.judge.recognize import recognize
from autograde.worker import calls


@pytest.fixture
def drivers(monkeypatch):
    """A week of drivers: one hands the student a module, one wraps an implementation into an object."""
    module = ModuleType("opened.week00")

    def bend(names, weights):
        layer = skip_init(torch.nn.Linear, len(weights), 1, bias=False)  # draws nothing
        with torch.no_grad():
            layer.weight.copy_(weights[None])
        names["hello_check"](layer)
        return layer.weight.grad[0]

    def as_object(names, implementation):
        class Wrapped:
            def relu(self, x):
                return implementation(x)

        return names["test_relu"](Wrapped)

    module.bend, module.as_object = bend, as_object
    monkeypatch.setitem(sys.modules, "opened", ModuleType("opened"))
    monkeypatch.setitem(sys.modules, "opened.week00", module)
    monkeypatch.setattr(calls, "DRIVERS", "opened")


def right(layer):
    layer(torch.tensor([1.0, 2.0, -3.0])).sum().backward()


def doubled(layer):
    (2 * layer(torch.tensor([1.0, 2.0, -3.0]))).sum().backward()


def _exercise() -> HiddenExercise:
    exercise = HiddenExercise("W0.1")
    exercise.set_reference(hello_check=right)
    exercise.mutant("doubled", "You double it.")(doubled)
    return exercise


def test_a_driver_gives_the_student_a_model_and_brings_tensors_back(drivers):
    answer = LocalAnswer(_exercise(), {"hello_check": right})
    came = answer.drive("week00.bend", torch.tensor([0.5, 0.1, 0.2]))
    assert torch.equal(came, torch.tensor([1.0, 2.0, -3.0]))
    assert answer.rudeness == []


def test_a_mutant_is_recognized_by_what_a_driver_brought_back(drivers):
    exercise = _exercise()
    answer = LocalAnswer(exercise, {"hello_check": doubled})
    answer.drive("week00.bend", torch.tensor([0.5, 0.1, 0.2]))
    assert recognize(exercise, {"p": answer.calls}, ["p"])["p"].name == "doubled"


def test_an_error_below_a_driver_is_the_students(drivers):
    def broken(layer):
        raise ValueError("no layers today")

    answer = LocalAnswer(_exercise(), {"hello_check": broken})
    with pytest.raises(StudentError, match="no layers today") as caught:
        answer.drive("week00.bend", torch.ones(3))
    assert caught.value.kind == "ValueError"


def test_a_missing_name_is_said_before_any_driver_runs(drivers):
    with pytest.raises(StudentError, match="hello_check"):
        LocalAnswer(_exercise(), {}).drive("week00.bend", torch.ones(3))


def test_a_students_test_can_be_given_an_object(drivers):
    def test_relu(kind):
        assert kind().relu(torch.tensor([-1.0]))[0] == 0

    exercise = HiddenExercise("W0.2", test_driver="week00.as_object")
    exercise.accepts("clamp")(lambda x: x.clamp(min=0))
    exercise.rejects("identity", "It does nothing.")(lambda x: x)
    answer = LocalAnswer(exercise, {"test_relu": test_relu})
    assert answer.test(lambda x: x.clamp(min=0)).state == "accepted"
    assert answer.test(lambda x: x).state == "rejected"
