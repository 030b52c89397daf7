"""The guard in the course's functions: which ways of calling them it sees, and the one that it cannot."""

import functools
import inspect
import types

import pytest

from autograde.worker import guards

SOURCE = b'''"""A module."""
from __future__ import annotations

import functools

LIMIT = 3


def plain(x):
    """Doubles."""
    return 2 * x


def generator(n):
    for i in range(n):
        yield i


async def later():
    return 1


def outer(x):
    return plain(x) + 1


class Counter:
    """Counts."""

    def __init__(self):
        self.n = 0

    @property
    def double(self):
        return 2 * self.n

    @staticmethod
    def still():
        return 1


@functools.cache
def cached(x):
    return x
'''


@pytest.fixture
def course():
    """The names of the module, its guard, and what the guard has `seen`."""
    seen = []
    guard = guards.Guard()
    guard.report = seen.append
    names = {"__name__": "lmcourse.made_up"}
    exec(guards.guarded(SOURCE, "made_up.py", "lmcourse.made_up", guard), names)
    return types.SimpleNamespace(guard=guard, seen=seen, **{k: v for k, v in names.items() if k[0] != "_"})


def test_nothing_changes_for_those_who_may_call(course):
    assert course.plain(4) == 8 and course.plain.__doc__ == "Doubles." and course.LIMIT == 3
    assert list(course.generator(3)) == [0, 1, 2] and course.Counter.__doc__ == "Counts."
    assert course.Counter().double == 0 and course.cached(5) == 5 and course.seen == []


def test_another_name_is_not_forbidden_with_it(course):
    course.guard.forbidden = ("lmcourse.made_up.pla", "lmcourse.made_up.plain.inner")
    course.plain(1)
    assert course.seen == []


CALLS = {
    "by its name": lambda c: c.plain(1),
    "partial": lambda c: functools.partial(c.plain, 1)(),
    "through another function": lambda c: c.outer(1),
    "a function made from its code": lambda c: types.FunctionType(c.plain.__code__, {})(1),
    "renamed code": lambda c: types.FunctionType(
        c.plain.__code__.replace(co_name="mine", co_filename="mine.py"), {}
    )(1),
    "under another name among the globals": lambda c: types.FunctionType(
        c.outer.__code__, {"plain": c.plain}
    )(1),
    "map": lambda c: list(map(c.plain, [1])),
}


@pytest.mark.parametrize("way", CALLS)
def test_every_way_of_running_the_code_is_seen(course, way):
    course.guard.forbidden = ("lmcourse.made_up.plain",)
    CALLS[way](course)
    assert course.seen == ["lmcourse.made_up.plain"]


@pytest.mark.parametrize("use", [lambda c: c.Counter(), lambda c: c.Counter.still()])
def test_a_class_is_seen_by_any_of_its_methods(course, use):
    course.guard.forbidden = ("lmcourse.made_up.Counter",)
    use(course)
    assert course.seen == ["lmcourse.made_up.Counter"]


def test_a_generator_is_seen_when_it_begins(course):
    course.guard.forbidden = ("lmcourse.made_up.generator",)
    made = course.generator(2)
    assert course.seen == [] and next(made) == 0 and course.seen == ["lmcourse.made_up.generator"]


def test_a_copy_of_the_text_is_not_seen(course):
    """Said in docs/grading.md: compiling the text anew gives a function of the student's own."""
    source = SOURCE.decode().split("def plain")[1].split("def generator")[0]
    names = {}
    exec("def mine" + source, names)
    course.guard.forbidden = ("lmcourse.made_up.plain",)
    assert names["mine"](2) == 4 and course.seen == []


def test_positions_in_the_source_are_as_before(course):
    assert course.outer.__code__.co_firstlineno == SOURCE.decode().split("\n").index("def outer(x):") + 1
    assert inspect.signature(course.plain) == inspect.signature(lambda x: None)
