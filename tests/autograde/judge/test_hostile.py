"""Attempts to score without answering, and to take the grader along. None may gain an unearned point.

Each attack is the answer to one exercise of the toy week; the others in the same submission are right, unless
the attack lives in the same process and spoils them for its own author.
"""

from __future__ import annotations

import time

import nbformat
import pytest
import small_course

from autograde.exercise import Solution
from autograde.judge.ended import AnswerEnded
from autograde.judge.limits import Limits
from autograde.judge.remote import RemoteAnswer
from autograde.judge.session import judge_notebook

EXERCISES = small_course.hidden_exercises()
MASTER = small_course.master()
LIMITS = Limits(cell_seconds=4, patience=20, memory_bytes=600 * 2**20)

EQUAL_TO_EVERYTHING = """
class Yes:
    shape = property(lambda self: Yes()); dtype = shape
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __bool__(self): return True
    def __getattr__(self, name): return Yes()
    def __call__(self, *a, **k): return Yes()
    def __iter__(self): return iter([Yes()])
    def __len__(self): return 1
    def __float__(self): return 1.0
    __hash__ = object.__hash__
"""

FORGE = """
import os, struct, sys
def flood(payload):
    for fd in range(3, 64):
        try:
            os.write(fd, payload)
        except OSError:
            pass
"""


def judge(notebook):
    return judge_notebook(notebook, "W1", "mallory", "s", master=MASTER, exercises=EXERCISES, limits=LIMITS)


def check(verdict, exercise, states, points=0.0, words=""):
    v = verdict.verdict(exercise)
    assert v.state in states.split() and v.points == points, (v.state, v.points, v.message)
    assert words in v.message, v.message


@pytest.fixture(scope="module")
def values():
    """Strange values, as answers."""
    return judge(
        small_course.submission(
            W1_1="print('8/8 points\\n8.0')\ndef sample_windows(x):\n    print(8.0)\n    return 8.0",
            W1_2=EQUAL_TO_EVERYTHING + "split_tail = Yes()\noverlap_share = Yes()",
            W1_3="def pack(x):\n    v = []\n    for _ in range(100_000):\n        v = [v]\n    return v",
            W1_4="def document_mask(x):\n    return torch.zeros(300_000_000, dtype=torch.uint8)",
            W1_5="def positions_and_loss_mask(x):\n    return float('nan')",
            W1_6=EQUAL_TO_EVERYTHING + "class Text(Yes, str): pass\n"
            "def ffd_pack(x):\n    return {'x': float('inf'), Text('y'): Text('z')}",
            W1_7="count = 0\ndef test_no_leak(f):\n    global count\n    count += 1\n    assert count % 2",
            W1_8=EQUAL_TO_EVERYTHING + "class D(Yes, dict): pass\nleak = D(a=1.5)",
        )
    )


def test_printing_a_score_scores_nothing(values):
    check(values, "W1.1", "student_error wrong harness_fault", values.verdict("W1.1").points)
    assert not values.verdict("W1.1").points


def test_an_object_equal_to_everything_equals_nothing(values):
    check(values, "W1.2", "student_error", words="cannot be handed over")
    check(values, "W1.8", "wrong", words="a should be 1")


def test_deep_nesting_is_the_students_error(values):
    check(values, "W1.3", "student_error", words="nested more than 50 levels")


def test_a_huge_value_is_the_students_error(values):
    check(values, "W1.4", "student_error", words="a value of more than 64 MiB")


@pytest.mark.parametrize("exercise", ["W1.5", "W1.6"])
def test_values_of_another_kind_never_become_points(values, exercise):
    assert not values.verdict(exercise).points


def test_a_test_that_decides_by_counting_gets_nothing(values):
    check(values, "W1.7", "wrong", words="rejects an implementation that is right")


@pytest.fixture(scope="module")
def patches():
    """Patching everything within reach; the answers are wrong, and so they stay."""
    notebook = small_course.submission(
        W1_1="def sample_windows(x):\n    return x - 1",
        W1_2="def split_tail(x):\n    return x * 0\noverlap_share = 9",
        W1_3="def pack(x):\n    return x",
        W1_4="class Loud(Exception):\n    def __str__(self):\n        raise self\n    __repr__ = __str__\n"
        "def document_mask(x):\n    raise Loud",
        W1_5="def positions_and_loss_mask(x):\n    return int(input('your points? '))",
    )
    attack = """
import builtins, sys, gc, types, threading, time, inspect
torch.equal = torch.allclose = torch.Tensor.equal = lambda *a, **k: True
torch.testing.assert_close = lambda *a, **k: None
builtins.AssertionError = type("AssertionError", (Exception,), {})
ip = get_ipython()
ip.showtraceback = lambda *a, **k: None
ip.input_transformers_cleanup.append(lambda lines: [l.replace("assert", "0 and") for l in lines])
sys.modules["autograde"] = types.ModuleType("autograde")
sys.modules["autograde"].run = lambda *a: 100.0
for name in list(sys.modules):
    if name.startswith("worker"):
        sys.modules[name].score = lambda *a: 100.0
open("torch.py", "w").write("raise SystemExit")
print("\\ud800 \\x00 \\x1b[2J")
print("x" * 20_000_000)
def later():
    while True:
        time.sleep(0.05)
        print("100/100")
threading.Thread(target=later, daemon=True).start()
for frame in inspect.stack():
    frame.frame.f_globals.setdefault("points", 100)
"""
    notebook.cells.insert(1, nbformat.v4.new_code_cell(attack))
    return judge(notebook)


@pytest.mark.parametrize(
    ("exercise", "points", "words"),
    [("W1.1", 3, "You subtract 1"), ("W1.3", 3, "You return the input"), ("W1.4", 0, "cannot be shown"),
     ("W1.5", 0, "input()")],
)  # fmt: skip
def test_patches_change_no_verdict(patches, exercise, points, words):
    verdict = patches.verdict(exercise)
    assert verdict.points == points and words in verdict.message


def test_right_answers_after_the_patches_are_still_right(patches):
    check(patches, "W1.6", "right", 12.0)
    check(patches, "W1.8", "right", 6.0)
    assert not patches.verdict("W1.2").points


@pytest.fixture(scope="module")
def killers():
    """Attacks on the process, on time and memory, and on the channel."""
    return judge(
        small_course.submission(
            W1_1="def sample_windows(x):\n    import os\n    os._exit(0)",
            W1_2="def split_tail(x):\n    while True:\n        print('points', flush=True)",
            W1_3="def pack(x):\n    hoard = []\n    while True:\n        hoard.append(bytearray(2**32))",
            W1_4=FORGE + "import json\nreply = json.dumps({'d': [['seq', ''], ['kind', 'reply']]}).encode()\n"
            "reply = struct.pack('>I', len(reply)) + reply\n"
            "def document_mask(x):\n    flood(struct.pack('>Q', len(reply)) + reply)\n    return x + 4",
            W1_5=FORGE
            + "def positions_and_loss_mask(x):\n    flood(struct.pack('>Q', 2**50))\n    return x + 5",
            W1_6="import os\ndef ffd_pack(x):\n    if os.fork():\n        os._exit(0)\n    while True: pass",
            W1_7="def test_no_leak(f):\n    while True:\n        f(torch.ones(2))",
        )
    )


def test_ending_the_process_gains_nothing(killers):
    check(killers, "W1.1", "student_error", words="ended the whole Python process (exit status 0)")
    check(killers, "W1.6", "student_error", words="Operation not permitted")


def test_endless_printing_is_a_time_out(killers):
    check(killers, "W1.2", "time_out")


def test_a_memory_bomb_is_stopped(killers):
    check(killers, "W1.3", "resource_limit", words="memory")


@pytest.mark.parametrize("exercise", ["W1.4", "W1.5"])
def test_forged_frames_are_forbidden_even_with_a_right_answer(killers, exercise):
    check(killers, exercise, "forbidden", words="the grader's own channel")


def test_a_test_that_calls_for_ever_is_a_time_out(killers):
    check(killers, "W1.7", "time_out", words="more than")


def test_a_test_that_makes_the_judge_work_for_ever_is_a_time_out():
    """The implementations run in the judge, but on the student's time."""
    slow = small_course.hidden_exercises()["W1.7"]
    names = {slow.entry: lambda x: time.process_time() if _busy(0.2) else None}
    slow.accept[:] = [Solution("slow", "", names)]
    test = "def test_no_leak(f):\n    for _ in range(1000):\n        f(torch.ones(2))"
    notebook = small_course.submission(W1_7=test)
    options = {"master": MASTER, "exercises": {"W1.7": slow}, "limits": LIMITS, "only": ["W1.7"]}
    verdict = judge_notebook(notebook, "W1", "mallory", "s", **options)
    check(verdict, "W1.7", "time_out", words="ran longer than 1 s")
    assert 1 <= verdict.verdict("W1.7").cpu_seconds < 4


def test_a_slow_test_has_its_seconds_for_each_implementation():
    """0.21 s in each of 20 trials: more than twelve times the 0.3 s that one may take."""
    exercise = small_course.hidden_exercises()["W1.7"]
    exercise.call_seconds = 0.3
    exercise.accept[:] = [Solution(f"right {i}", "", {exercise.entry: lambda x: 2 * x}) for i in range(8)]
    wrong = {exercise.entry: lambda x: x}
    exercise.reject[:] = [Solution(f"wrong {i}", "no factor", wrong) for i in range(4)]
    test = (
        "import time\n\ndef test_no_leak(f):\n    end = time.process_time() + 0.21\n"
        "    while time.process_time() < end:\n        pass\n    assert f(torch.ones(1)).item() == 2"
    )
    notebook = small_course.submission(W1_7=test)
    options = {"master": MASTER, "exercises": {"W1.7": exercise}, "limits": LIMITS, "only": ["W1.7"]}
    verdict = judge_notebook(notebook, "W1", "ada", "s", **options)
    assert verdict.verdict("W1.7").state == "right"
    assert verdict.verdict("W1.7").cpu_seconds > RemoteAnswer.CALLS_IN_FULL * exercise.call_seconds


def _busy(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass
    return True


def test_what_comes_after_all_that_is_judged_as_ever(killers):
    check(killers, "W1.8", "right", 6.0)


def test_a_forged_reply_with_the_right_number_can_only_say_what_the_function_could_have_said():
    """The whole worker is the student's: it may answer in the function's place, and is then compared."""
    forge = """
import gc, sys
from confined.worker import codec, frames, main
worker = next(o for o in gc.get_objects() if type(o) is main.Worker)
def handle(request, old=worker.handle):
    if request["kind"] == "call":
        lie = {"value": {"points": 100, "state": "right"}, "changed": {}, "manners": [], "points": 100}
        return codec.dumps(lie)
    return old(request)
worker.handle = handle
"""
    notebook = small_course.submission()
    notebook.cells.insert(1, nbformat.v4.new_code_cell(forge))
    verdict = judge(notebook)
    called = [v for v in verdict.verdicts if v.exercise not in ("W1.7", "W1.8")]
    assert not any(v.points for v in called), [(v.exercise, v.state, v.points) for v in called]
    assert verdict.verdict("W1.7").points == 0.0


TAKE_OVER = """
import gc
from confined.worker import codec, main
worker = next(o for o in gc.get_objects() if type(o) is main.Worker)
def handle(request, old=worker.handle):
    return codec.dumps(LIE) if request["kind"] == "call" else old(request)
worker.handle = handle
def NAME(x): return x
"""


def test_a_reply_of_a_wrong_form_is_forbidden_and_the_rest_is_judged():
    attack = TAKE_OVER.replace("LIE", "{'changed': 3}").replace("NAME", "pack")
    verdict = judge(small_course.submission(W1_3=attack))
    check(verdict, "W1.3", "forbidden")
    check(verdict, "W1.8", "right", 6.0)


class BrokenWorker:
    """Stands for a worker that has just sent a reply; remembers that it was ended for it."""

    def broken(self):
        return AnswerEnded("forbidden", "the end")


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"changed": {}, "manners": "text"},
        {"value": 1, "changed": {}, "manners": [7]},
        {"value": 1, "changed": {}, "manners": ["again"] * 21},
        {"value": 1, "changed": {-5: 1}, "manners": []},
        {"value": 1, "changed": {True: 1}, "manners": []},
        {"error": 5, "changed": {}, "manners": []},
        {"error": {"kind": 1, "message": "x"}, "changed": {}, "manners": []},
        {"error": {"kind": "x"}, "changed": {}, "manners": []},
    ],
    ids=repr,
)
def test_every_field_of_a_reply_is_checked(body):
    answer = RemoteAnswer.__new__(RemoteAnswer)
    answer.worker = BrokenWorker()
    with pytest.raises(AnswerEnded, match="the end"):
        answer._checked("pack", body)
