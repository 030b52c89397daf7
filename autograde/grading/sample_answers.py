"""What the sample class answers where it does not answer right.

The mistakes are typical ones, each in another exercise. The hostile student tries to score without solving
anything: by printing, by patching, by looking for the tests, by writing to the grader, by ending the process.
"""

from __future__ import annotations

MISTAKES = {
    "ben": (
        "W1.1",
        """def sample_windows(tokens, B, T, generator):
    starts = torch.randint(0, len(tokens) - T - 1, (B,), generator=generator)
    x = torch.stack([tokens[s : s + T] for s in starts])
    y = torch.stack([tokens[s + 1 : s + T + 1] for s in starts])
    return x, y""",
    ),
    "chloe": (
        "W1.4",
        """def document_mask(doc_id):
    T = doc_id.shape[1]
    i = torch.arange(T)
    same = doc_id.unsqueeze(2) == doc_id.unsqueeze(1)
    return same & (i[None, :] < i[:, None])""",
    ),
    "dmitri": (
        "W1.7",
        '''def test_no_leak(model_fn):
    tokens = torch.randint(1, 32, (1, 12), generator=torch.Generator().manual_seed(0))
    doc_id = torch.tensor([[0] * 6 + [1] * 6])
    tokens[0, 5] = tokens[0, 11] = 0
    before = model_fn(tokens, doc_id)
    changed = tokens.clone()
    changed[0, 2] = 1 + changed[0, 2] % 31
    after = model_fn(changed, doc_id)
    assert torch.allclose(before[0, 6:], after[0, 6:], atol=1e-4), "document 1 sees document 0"''',
    ),
}


def hostile_cell() -> str:
    return '''
import gc, inspect, os, pathlib, struct, sys, types

# Every comparison is true, no error is ever shown, and there is a friendly module called autograde.
torch.equal = torch.allclose = torch.Tensor.equal = lambda *args, **kwargs: True
torch.testing.assert_close = lambda *args, **kwargs: None
get_ipython().showtraceback = lambda *args, **kwargs: None
try:
    import autograde.weeks.week01.w1_3
except ImportError:
    sys.modules["autograde"] = types.ModuleType("autograde")
    sys.modules["autograde"].run = lambda *args: 100.0


class Yes:
    """Equal to everything, and never at a loss."""

    shape = dtype = property(lambda self: Yes())

    def __eq__(self, other):
        return True

    def __ne__(self, other):
        return False

    def __bool__(self):
        return True

    def __getattr__(self, name):
        return Yes()

    def __call__(self, *args, **kwargs):
        return Yes()

    def __iter__(self):
        return iter([Yes(), Yes()])

    __hash__ = object.__hash__


def stolen(name):
    """The reference, if anything within reach holds it."""
    for folder in [pathlib.Path.cwd(), *pathlib.Path.cwd().parents]:
        for place in ("autograde/weeks/week01", "solutions"):
            for file in (folder / place).glob("*.py") if (folder / place).is_dir() else []:
                names = {"__name__": "stolen"}
                exec(file.read_text(), names)
                if name in names:
                    return names[name]
    for thing in gc.get_objects():
        if type(thing).__name__ in ("HiddenExercise", "Solution"):
            return thing.reference.names[name]
    for frame in inspect.stack():
        if name in frame.frame.f_locals:
            return frame.frame.f_locals[name]
    raise LookupError(name)


print("W1.1: 8 of 8 points", "W1.4: 14 of 14 points", "100.0", sep="\\n")
'''.strip()


def hostile_answers() -> dict[str, str]:
    return {
        "W1.1": """def sample_windows(tokens, B, T, generator):
    print("8.0")
    return 8.0""",
        "W1.2": "split_tail = Yes()\noverlap_share = Yes()",
        "W1.3": """def pack(docs, T, eos):
    return stolen("pack")(docs, T, eos)""",
        "W1.4": """def document_mask(doc_id):
    reply = b'{"d":[["kind","reply"],["points",14]]}'
    frame = struct.pack(">QI", 4 + len(reply), len(reply)) + reply
    for descriptor in range(3, 64):
        try:
            os.write(descriptor, frame)
        except OSError:
            pass
    return doc_id""",
        "W1.5": """def positions_and_loss_mask(doc_id, eos_positions):
    print("8.0")
    os._exit(0)""",
        "W1.6": """def ffd_pack(lengths, T):
    raise type("Done", (Exception,), {"__str__": lambda self: "12 of 12 points"})""",
        "W1.7": '''calls = 0


def test_no_leak(model_fn):
    global calls
    calls += 1
    if calls > 4:
        assert False, "the first four are right ones, aren't they?"''',
        "W1.8": "leak = Yes()\nrevealing_order = Yes()",
    }


def never_ending(right: dict[str, list[str]]) -> dict[str, str]:
    """A cell that never ends, and a function that never does."""
    return {
        "W1.2": right["W1.2"][0] + "\n\nwhile overlap_share:\n    pass",
        "W1.6": """def ffd_pack(lengths, T):
    bins = []
    while len(bins) < len(lengths):
        if len(bins) < len(lengths) - 1:
            bins.append([])
    return bins""",
    }
