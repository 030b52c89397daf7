"""Attacks that want points without an answer: on comparisons, harness, channel and score."""

from __future__ import annotations

from attack import GAIN, Attack, answer

YES = """
class Yes:
    shape = property(lambda self: Yes()); dtype = shape; names = shape
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __bool__(self): return True
    def __getattr__(self, name): return Yes()
    def __call__(self, *a, **k): return Yes()
    def __iter__(self): return iter([Yes()])
    def __len__(self): return 1
    def __float__(self): return 1.0
    def __index__(self): return 1
    __hash__ = object.__hash__
"""
TAKE_OVER = """
import gc, sys
kind = next(m for n, m in sys.modules.items() if n.endswith('worker.main')).Worker
codec = next(m for n, m in sys.modules.items() if n.endswith('worker.codec'))
frames = next(m for n, m in sys.modules.items() if n.endswith('worker.frames'))
worker = next(o for o in gc.get_objects() if type(o) is kind)
"""
EVERY = ("W1.1", "W1.2", "W1.3", "W1.4", "W1.5", "W1.6")

ATTACKS = [
    Attack(
        "patched comparisons",
        GAIN,
        "Every comparison of torch and numpy says yes.",
        cell="""
import numpy, torch.testing
for owner in (torch, torch.Tensor, numpy, torch.testing, numpy.testing):
    for name in ("equal", "allclose", "isclose", "eq", "__eq__", "array_equal", "assert_close", "all",
                 "assert_allclose", "assert_array_equal"):
        if hasattr(owner, name):
            try:
                setattr(owner, name, lambda *a, **k: True)
            except (TypeError, AttributeError):
                pass
""",
    ),
    Attack(
        "assert without teeth",
        GAIN,
        "AssertionError becomes an exception that nobody raises.",
        cell="import builtins\nbuiltins.AssertionError = type('AssertionError', (BaseException,), {})\n"
        "builtins.isinstance = lambda *a: True\nbuiltins.all = builtins.any = lambda *a: True",
    ),
    Attack(
        "agreeable object",
        GAIN,
        "An object that equals everything, everywhere.",
        cell=YES,
        answers={e: "def NAME(x):\n    return Yes()\noverlap_share = Yes()" for e in EVERY},
    ),
    Attack(
        "agreeable tensor",
        GAIN,
        "A subclass of Tensor for which every operation is true.",
        cell="""
class Agreeable(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return True
""",
        answers={e: "def NAME(x):\n    return torch.zeros_like(x).as_subclass(Agreeable)" for e in EVERY},
    ),
    Attack(
        "agreeable numbers",
        GAIN,
        "Subclasses of int, float, str, list and dict with obliging comparisons.",
        cell="""
def obliging(base):
    return type(base.__name__, (base,), {"__eq__": lambda *a: True, "__ne__": lambda *a: False,
                                         "__hash__": lambda self: 0, "get": lambda *a: 1})
Int, Float, Text, Items, Table = map(obliging, (int, float, str, list, dict))
""",
        answers={
            "W1.1": "def NAME(x):\n    return Int(3)",
            "W1.2": "def NAME(x):\n    return Float(1)\noverlap_share = Float(9)",
            "W1.3": "def NAME(x):\n    return Items([Int(1)])",
            "W1.8": "leak = Table(a=Int(7))\nrevealing_order = Text('x')",
        },
    ),
    Attack(
        "a class that lies",
        GAIN,
        "An object whose __class__ says Tensor and whose parts are made to please.",
        cell="""
class Liar:
    __class__ = property(lambda self: torch.Tensor)
    def __init__(self, x): self.x = x
    def __getattr__(self, name): return getattr(self.x, name)
    def __eq__(self, other): return True
""",
        answers={e: "def NAME(x):\n    return Liar(x)" for e in EVERY},
    ),
    Attack(
        "fake harness",
        GAIN,
        "A module of the grader's name that gives full marks.",
        cell="""
import sys, types
for name in ("autograde", "autograde.judge", "nbgrader", "otter", "lmcourse.checks"):
    fake = types.ModuleType(name)
    fake.run = fake.score = fake.check = fake.grade = lambda *a, **k: 100.0
    sys.modules[name] = fake
""",
    ),
    Attack(
        "frames",
        GAIN,
        "Every frame above gets points in its variables.",
        answers=answer("""
import sys
frame = sys._getframe()
while frame is not None:
    for names in (frame.f_locals, frame.f_globals):
        for name in ("points", "score", "passed", "result", "verdict", "state"):
            try:
                names[name] = 100.0
            except Exception:
                pass
    frame = frame.f_back
"""),
    ),
    Attack(
        "garbage collector",
        GAIN,
        "Every object in memory that has points gets more of them.",
        cell="""
import gc
for thing in gc.get_objects():
    for name in ("points", "passed", "score"):
        try:
            if hasattr(thing, name):
                setattr(thing, name, 100.0)
        except BaseException:
            pass
""",
    ),
    Attack(
        "input transformer",
        GAIN,
        "Asserts disappear from every cell before it is compiled.",
        cell="ip = get_ipython()\nip.input_transformers_cleanup.append(\n"
        "    lambda ls: [line.replace('assert', '0 and').replace('return', 'return 8 or') for line in ls])",
    ),
    Attack(
        "syntax-tree transformer",
        GAIN,
        "Every comparison is rewritten into True.",
        cell="""
import ast
class Rewrite(ast.NodeTransformer):
    def visit_Compare(self, node):
        return ast.copy_location(ast.Constant(True), node)
    def visit_Assert(self, node):
        return ast.copy_location(ast.Pass(), node)
get_ipython().ast_transformers.append(Rewrite())
""",
    ),
    Attack(
        "hooks of the shell",
        GAIN,
        "Errors are not shown, and every cell ends with a number.",
        cell="""
ip = get_ipython()
ip.showtraceback = ip.showsyntaxerror = lambda *a, **k: None
ip.set_custom_exc((BaseException,), lambda *a, **k: None)
ip.events.register("post_run_cell", lambda result: setattr(result, "error_in_exec", None))
none = {"error_before_exec": None, "error_in_exec": None, "result": 8.0}
ip.run_cell = lambda *a, **k: type("R", (), none)()
""",
    ),
    Attack(
        "printed score",
        GAIN,
        "What a grader might read from the output.",
        cell="print('points: 100')\nprint('W1.3: 12 of 12')\nprint('{\"score\": 100, \"state\": \"right\"}')",
        answers=answer("print('12.0')\nimport sys\nprint('passed', file=sys.stderr)\nreturn 12.0"),
    ),
    Attack(
        "a score as the answer",
        GAIN,
        "Whatever is asked for, points come back.",
        answers={
            e: "def NAME(x):\n    return {'points': 100, 'state': 'right', 'value': 100.0}" for e in EVERY
        },
    ),
    Attack(
        "taken-over worker",
        GAIN,
        "The code that answers the grader is replaced by one that praises.",
        cell=TAKE_OVER
        + "worker.handle = lambda request: codec.dumps({'value': {'points': 100}, 'points': 100,\n"
        "    'changed': {}, 'manners': [], 'state': 'right', 'error': None})",
    ),
    Attack(
        "forged reply",
        GAIN,
        "A reply of the student's own goes down every open descriptor.",
        answers=answer("""
import os, struct, json
tree = json.dumps({"d": [["seq", ""], ["kind", "reply"], ["body", "right"]]}).encode()
reply = struct.pack(">I", len(tree)) + tree
for fd in range(64):
    try:
        os.write(fd, struct.pack(">Q", len(reply)) + reply)
    except OSError:
        pass
"""),
        state="forbidden",
    ),
    Attack(
        "answered twice",
        GAIN,
        "After the reply comes another, for the question that is yet to come.",
        cell=TAKE_OVER
        + """
import builtins
real = frames.send
def twice(channel, payload, *rest):
    real(channel, payload, *rest)
    if b"reply" in payload[:200]:
        real(channel, payload, *rest)
""",
        answers={"W1.3": "frames.send = twice\ndef NAME(x):\n    return x"},
        state="forbidden",
    ),
    Attack(
        "late reply",
        GAIN,
        "A thread answers a question that was answered long ago.",
        cell=TAKE_OVER
        + """
import threading, time
def later():
    while True:
        time.sleep(0.002)
        frames.send(worker.channel, codec.dumps({"seq": "0" * 16, "kind": "reply", "body": b""}))
""",
        answers={
            "W1.3": "threading.Thread(target=later, daemon=True).start()\ntime.sleep(0.05)\n"
            "def NAME(x):\n    return x"
        },
    ),
    Attack(
        "a test that counts",
        GAIN,
        "It rejects by turns and never looks at the implementation.",
        answers={"W1.7": "n = 0\ndef NAME(f):\n    global n\n    n += 1\n    assert n % 2"},
    ),
    Attack(
        "a test that looks at names",
        GAIN,
        "It reads the implementation's name, code and address.",
        answers={
            "W1.7": "def NAME(f):\n    seen = repr(f) + str(getattr(f, '__closure__', '')) + f.__name__\n"
            "    assert not any(w in seen for w in ('triple', 'negative', 'zero', 'reject'))"
        },
    ),
    Attack(
        "a test that asks for others",
        GAIN,
        "It calls implementations by numbers that it was not given.",
        cell=TAKE_OVER,
        answers={
            "W1.7": """
def NAME(f):
    payload = codec.dumps(((torch.ones(1),), {}))
    for name in ("callback1", "callback2", "judge", "__builtins__"):
        frames.send(worker.channel, codec.dumps(
            {"seq": "", "kind": "callback", "name": name, "payload": payload}))
"""
        },
        state="forbidden",
    ),
    Attack(
        "a test that forges what it heard",
        GAIN,
        "The replies of implementations are replaced by wrong ones.",
        cell=TAKE_OVER,
        answers={
            "W1.7": "def NAME(f):\n    frames.receive = lambda *a: codec.dumps({'value': 0})\n"
            "    assert f(torch.ones(1)) == 2"
        },
    ),
    Attack(
        "hard-coded answers",
        GAIN,
        "The values of the open examples, whatever the input.",
        answers={e: "def NAME(x):\n    return torch.tensor([[1, 2, 3], [4, 5, 6]])" for e in EVERY},
    ),
    Attack(
        "constant random numbers",
        GAIN,
        "Every source of random numbers gives nought, in the hope of known data.",
        cell="""
import random, numpy, os
torch.randint = torch.rand = torch.randn = lambda *a, **k: torch.zeros(2, 3, dtype=torch.long)
torch.manual_seed = lambda *a: None
numpy.random.default_rng = lambda *a: numpy.random.RandomState(0)
random.random = lambda: 0.0
os.urandom = lambda n: bytes(n)
""",
        answers={e: f"def NAME(x):\n    return torch.zeros(2, 3, dtype=torch.long) + {e[-1]}" for e in EVERY},
    ),
    Attack(
        "patched reference",
        GAIN,
        "The course's own functions and registry are bent to the wrong answer.",
        cell="""
import lmcourse.exercises, lmcourse.packing
for exercise in [e for week in lmcourse.exercises.WEEKS for e in week.exercises]:
    object.__setattr__(exercise, "points", 0)
    object.__setattr__(exercise, "names", ())
for name in lmcourse.packing.__all__:
    setattr(lmcourse.packing, name, lambda *a, **k: "wrong")
""",
    ),
    Attack(
        "arguments bent to fit",
        GAIN,
        "The inputs are changed in place to what the wrong output would need.",
        answers={
            "W1.3": "def NAME(x):\n    x -= 3\n    return x",
            "W1.4": "def NAME(x):\n    x.resize_(0)\n    return x",
        },
    ),
    Attack(
        "a pickle",
        GAIN,
        "An answer that runs code where it is unpacked.",
        answers={
            "W1.3": """
import os
class Bomb:
    def __reduce__(self):
        return (exec, ("import autograde.judge.score as s; s.score = None",))
def NAME(x):
    return Bomb()
"""
        },
    ),
    Attack(
        "not a number",
        GAIN,
        "Infinity, nan and numbers of a thousand digits, for sums that go wrong.",
        answers={
            "W1.1": "def NAME(x):\n    return float('nan')",
            "W1.2": "def NAME(x):\n    return -float('inf')\noverlap_share = float('nan')",
            "W1.3": "def NAME(x):\n    return 10 ** 1000",
            "W1.8": "leak = {'a': float('nan')}",
        },
    ),
    Attack(
        "skipped",
        GAIN,
        "Exceptions by which test runners skip or stop.",
        answers={
            "W1.1": "import unittest\ndef NAME(x):\n    raise unittest.SkipTest",
            "W1.2": "def NAME(x):\n    raise KeyboardInterrupt",
            "W1.3": "def NAME(x):\n    raise SystemExit(0)",
            "W1.4": "def NAME(x):\n    raise GeneratorExit",
            "W1.7": "def NAME(f):\n    raise SystemExit(0)",
        },
    ),
    Attack(
        "success by exit status",
        GAIN,
        "The process ends with status 0 in the middle of the call.",
        answers=answer("import os\nos._exit(0)"),
        state="student_error",
    ),
    Attack(
        "out of time",
        GAIN,
        "A call that never comes back, in the hope that what is not decided counts.",
        answers=answer("while True:\n    pass"),
        state="time_out",
    ),
    Attack(
        "lazy answers",
        GAIN,
        "Generators, coroutines and functions instead of values.",
        answers={
            "W1.1": "def NAME(x):\n    yield x",
            "W1.2": "async def NAME(x):\n    return x\noverlap_share = 9",
            "W1.3": "def NAME(x):\n    return lambda *a: True",
        },
    ),
    Attack(
        "patched encoder",
        GAIN,
        "json and struct of the process write what pleases.",
        cell="""
import json, struct
real = json.dumps
json.dumps = lambda value, **k: real(value, **k).replace("wrong", "right").replace("false", "true ")
""",
    ),
    Attack(
        "exceptions that cannot be read",
        GAIN,
        "Errors whose text, type name and traceback raise or lie.",
        cell="class Loud(Exception):\n    def __str__(self):\n        raise self\n    __repr__ = __str__\n"
        "    __class__ = property(lambda self: AssertionError)",
        answers={"W1.3": "def NAME(x):\n    raise Loud", "W1.7": "def NAME(f):\n    raise Loud"},
    ),
]
