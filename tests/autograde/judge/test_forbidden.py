"""What an exercise forbids to call, in a confined worker: every detour ends as `forbidden`."""

import pytest
import small_course

from autograde.exercise import HiddenExercise
from autograde.judge.forbidden import Forbidden, defined_as
from autograde.judge.limits import Limits
from autograde.judge.session import judge_notebook
from autograde.weeks import hidden
from lmcourse.exercises import WEEKS

MASTER = small_course.master()
TWINS = ["W1.1", "W1.2", "W1.3", "W1.4", "W1.5", "W1.6"]


@pytest.fixture(scope="module")
def exercises():
    """The toy week, in which no answer may use the course's own bin packing."""
    made = small_course.hidden_exercises()
    for exercise in made.values():
        exercise.forbidden = ("lmcourse.packing.ffd_pack",)
        exercise.instead = "Sort them yourself."
    return made


def judge(exercises, **answers):
    notebook = small_course.submission(**answers)
    options = {"master": MASTER, "exercises": exercises, "limits": Limits(cell_seconds=10, patience=20)}
    return judge_notebook(notebook, "W1", "ada", "s", **options)


DETOURS = {
    "alias": """
from lmcourse.packing import ffd_pack as mine
def NAME(x):
    mine([1], 2)
    return x + K
""",
    "defining module": """
import lmcourse.packing.bins as b
def NAME(x):
    b.ffd_pack([1], 2)
    return x + K
""",
    "partial": """
import functools, lmcourse.packing as p
mine = functools.partial(p.ffd_pack, [1], 2)
def NAME(x):
    mine()
    return x + K
""",
    "code": """
import types, lmcourse.packing as p
f = p.ffd_pack
mine = types.FunctionType(f.__code__, f.__globals__)
def NAME(x):
    mine([1], 2)
    return x + K
""",
    "reload": """
import importlib, lmcourse.packing.bins as b
def NAME(x):
    importlib.reload(b)
    b.ffd_pack([1], 2)
    return x + K
""",
    "fresh import": """
import sys
def NAME(x):
    for m in list(sys.modules):
        if m.startswith('lmcourse'):
            del sys.modules[m]
    from lmcourse.packing import ffd_pack
    ffd_pack([1], 2)
    return x + K
""",
    "caught": """
from lmcourse.packing import ffd_pack
def NAME(x):
    try:
        ffd_pack([1], 2)
    except BaseException:
        pass
    return x + K
""",
    "thread": """
import threading
from lmcourse.packing import ffd_pack
def NAME(x):
    t = threading.Thread(target=ffd_pack, args=([1], 2))
    t.start()
    t.join()
    return x + K
""",
    "thread from before": """
import _thread, queue
from lmcourse.packing import ffd_pack
into = queue.Queue()
out = queue.Queue()
def serve():
    while True:
        out.put(ffd_pack(*into.get()))
_thread.start_new_thread(serve, ())
def NAME(x):
    into.put(([1], 2))
    out.get()
    return x + K
""",
    "while it is read": """
from lmcourse.packing import ffd_pack
class Lazy(list):
    def __iter__(self):
        ffd_pack([1], 2)
        return super().__iter__()
def NAME(x):
    return Lazy([x + K])
""",
}


@pytest.mark.parametrize("detour", DETOURS)
def test_every_detour_is_seen(exercises, detour):
    spec = small_course.WEEK.exercises[2]
    source = DETOURS[detour].replace("NAME", spec.names[0]).replace("K", "3")
    verdict = judge(exercises, W1_3=source)
    v = verdict.verdict("W1.3")
    assert (v.state, v.points) == ("forbidden", 0.0), (v.state, v.message)
    assert "called `lmcourse.packing.ffd_pack`" in v.message and "Sort them yourself." in v.message
    assert verdict.verdict("W1.8").state == "right"  # the notebook goes on


def test_using_it_elsewhere_is_fine(exercises):
    """In a cell of the student's own, as in a figure, or for another exercise that does not forbid it."""
    ours = dict(exercises, **{"W1.4": small_course.hidden_exercises()["W1.4"]})
    used = "from lmcourse.packing import ffd_pack\nffd_pack([3, 2], 4)\n"
    verdict = judge(
        ours,
        W1_3=used + "def pack(x):\n    return x + 3",
        W1_4=used + "def document_mask(x):\n    ffd_pack([1], 2)\n    return x + 4",
    )
    assert {v.state for v in verdict.verdicts} == {"right"}


def test_a_class_or_function_is_named_where_it_is_defined():
    assert defined_as("lmcourse.packing.ffd_pack") == "lmcourse.packing.bins.ffd_pack"


@pytest.mark.parametrize("name", ["lmcourse.packing.nothing", "lmcourse.nothing.x", "torch.nn.Linear", "x"])
def test_what_cannot_be_watched_is_the_authors_mistake(name):
    exercise = HiddenExercise("W1.3")
    exercise.forbidden = (name,)
    with pytest.raises(ValueError, match=name):
        Forbidden(exercise)


def test_every_week_forbids_only_what_exists_and_says_what_to_do():
    for exercise in (hidden(e.id) for week in WEEKS for e in week.exercises):
        assert len(Forbidden(exercise).names) == len(exercise.forbidden)
        assert exercise.instead.endswith(".")


@pytest.mark.parametrize("exercise_id", TWINS)
def test_exercises_with_a_twin_in_the_course_forbid_it(exercise_id):
    exercise = hidden(exercise_id)
    assert f"lmcourse.packing.{exercise.entry}" in exercise.forbidden
