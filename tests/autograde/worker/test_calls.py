import random

import numpy as np
import pytest
import torch

from autograde.worker import calls, codec


def reply(function, *args, **kwargs):
    return codec.loads(calls.encode(calls.perform(function, args, kwargs)))


def test_a_polite_call_gives_its_value_and_nothing_else():
    assert reply(lambda x, y=1: x + y, 2, y=3) == {"value": 5, "changed": {}, "manners": []}


def test_changed_arguments_come_back():
    def rude(x, values, *, flag):
        x.mul_(0)
        values.append(flag)

    answer = reply(rude, torch.ones(2), [1], flag=7)
    assert list(answer["changed"]) == [0, 1]
    assert answer["changed"][0].tolist() == [0.0, 0.0] and answer["changed"][1] == [1, 7]


def test_a_generator_may_be_used_up():
    answer = reply(lambda g: torch.rand(1, generator=g), torch.Generator().manual_seed(1))
    assert answer["changed"] == {}


DISTURBED = {
    "torch's global random state": lambda: torch.rand(1),
    "numpy's global random state": lambda: np.random.rand(),
    "Python's global random state": lambda: random.random(),
    "default dtype at float64": lambda: torch.set_default_dtype(torch.float64),
    "gradients switched off": lambda: torch.set_grad_enabled(False) and None,
}


@pytest.mark.parametrize("what", DISTURBED)
def test_disturbed_global_state_is_named_and_put_back(what):
    before = (torch.get_rng_state(), np.random.get_state()[1].copy(), random.getstate())
    answer = calls.perform(lambda: DISTURBED[what]() and None, (), {})
    assert len(answer["manners"]) == 1 and what in answer["manners"][0]
    assert torch.equal(torch.get_rng_state(), before[0])
    assert np.array_equal(np.random.get_state()[1], before[1]) and random.getstate() == before[2]
    assert torch.get_default_dtype() == torch.float32 and torch.is_grad_enabled()


def test_an_error_is_text_with_the_line_in_the_function():
    def broken(x):
        return x[9]

    error = reply(broken, [1])["error"]
    assert error["kind"] == "IndexError" and "list index out of range" in error["message"]
    assert "return x[9]" in error["message"] and not error["assertion"]


def test_assertion_errors_are_marked_and_subclasses_too():
    class Mine(AssertionError):
        pass

    def fail():
        raise Mine("no")

    assert reply(fail)["error"]["assertion"] is True


@pytest.mark.parametrize("escape", [SystemExit, KeyboardInterrupt, GeneratorExit])
def test_exceptions_that_end_programs_are_errors_like_others(escape):
    def leave():
        raise escape("bye")

    assert reply(leave)["error"]["kind"] == escape.__name__


def test_an_exception_that_cannot_be_shown_is_still_described():
    class Meta(type):
        @property
        def __name__(cls):
            raise RuntimeError

    class Broken(Exception, metaclass=Meta):
        def __str__(self):
            raise RuntimeError

    def fail():
        raise Broken

    error = reply(fail)["error"]
    assert error["kind"] == "Broken" and "cannot be shown" in error["message"]


@pytest.mark.parametrize(
    "value", [object(), lambda: 1, "x" * (65 * 2**20)], ids=["object", "function", "65 MiB"]
)
def test_a_value_that_does_not_cross_is_the_students_error(value):
    answer = reply(lambda: value)
    assert answer["error"]["kind"] == "TypeError" and "cannot be handed over" in answer["error"]["message"]
    assert "value" not in answer


def test_a_value_that_fights_back_is_the_students_error():
    class Trap(dict):
        def items(self):
            raise MemoryError("boo")

    assert "MemoryError" in reply(Trap)["error"]["message"]


def test_unwrap_raises_known_exceptions_by_name_and_others_as_runtime_error():
    assert calls.unwrap({"value": 3}) == 3
    with pytest.raises(ZeroDivisionError, match="zero"):
        calls.unwrap({"error": {"kind": "ZeroDivisionError", "message": "zero"}})
    for kind in ("SystemExit", "OutOfMemoryError", "eval", "UnicodeDecodeError"):
        with pytest.raises(RuntimeError, match="text"):
            calls.unwrap({"error": {"kind": kind, "message": "text"}})
