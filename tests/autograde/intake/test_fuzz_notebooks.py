"""Damage that nobody thought of: hypothesis edits notebooks, and nothing raises and no mark goes wrong."""

from __future__ import annotations

import copy
import json

import nbformat
import small_course
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from autograde.grading.keys import Sources, verdict_parts
from autograde.intake.gather import File, Gathered
from autograde.intake.submissions import choose
from autograde.judge.limits import Limits
from autograde.judge.local import LocalAnswer
from autograde.judge.score import score
from lmcourse.errors import CourseError
from lmcourse.handin.read import read_notebook
from lmcourse.handin.repair import repair
from lmcourse.handin.untouched import untouched

MASTER = small_course.master()
HIDDEN = small_course.hidden_exercises()
SOURCES = Sources("e", dict.fromkeys(HIDDEN, "t"))
WRONG = {"W1.1", "W1.4"}  # exercises that the student answers wrongly
SUBMISSION = json.loads(
    nbformat.writes(
        small_course.submission(
            W1_1="def sample_windows(x):\n    return x - 1",
            W1_4="def document_mask(x):\n    return x",
            W1_6=None,
        )
    )
)
N = len(SUBMISSION["cells"])
QUICK = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])

places = st.integers(0, N - 1)
junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
KEYS = ("cell_type", "source", "metadata", "id", "outputs", "execution_count")
FLAGS = ("grade", "solution", "locked", "points", "grade_id", "schema_version", "task", "cell_type")

# Damage that keeps the student's answers: the mark must be the same as without it.
harmless = st.one_of(
    st.tuples(st.just("delete locked"), places),
    st.tuples(st.just("copy"), places, places),
    st.tuples(st.just("move"), places, places),
    st.tuples(st.just("retype"), places, st.sampled_from(["code", "markdown", "raw"])),
    st.tuples(st.just("flag"), places, st.sampled_from(FLAGS), junk),
    st.tuples(st.just("drop"), places, st.sampled_from(["id", "outputs", "execution_count"])),
    st.tuples(st.just("lose nbgrader"), places),
    st.tuples(st.just("edit locked"), places, st.text(max_size=20)),
    st.tuples(st.just("same id"), places, places),
    st.tuples(st.just("own text"), places, st.text(max_size=20)),
    st.tuples(st.just("minor"), st.integers(0, 9)),
    st.tuples(st.just("top"), st.sampled_from(["kernelspec", "language_info", "x"]), junk),
)
# Damage of any kind: nothing may raise.
anything = st.tuples(st.just("junk"), places, st.sampled_from(KEYS), junk)


def damaged(steps):
    notebook = copy.deepcopy(SUBMISSION)
    cells = notebook["cells"]
    for kind, *rest in steps:
        if kind == "minor":
            notebook["nbformat_minor"] = rest[0]
            continue
        if kind == "top":
            notebook["metadata"][rest[0]] = rest[1]
            continue
        at = rest[0] % len(cells)
        cell = cells[at]
        metadata = cell.get("metadata")
        own = metadata.get("lmcourse", {}) if isinstance(metadata, dict) else {}
        locked = isinstance(own, dict) and own.get("role") not in ("answer", None)
        match kind:
            case "delete locked" if locked and len(cells) > 1:
                del cells[at]
            case "copy":
                cells.insert(rest[1] % len(cells), copy.deepcopy(cell))
            case "move":
                cells.insert(rest[1] % len(cells), cells.pop(at))
            case "retype":
                cell["cell_type"] = rest[1]
            case "flag" if isinstance(metadata, dict) and isinstance(metadata.get("nbgrader"), dict):
                if rest[1] != "grade_id" or not isinstance(rest[2], str) or rest[2] not in NAMES:
                    metadata["nbgrader"][rest[1]] = rest[2]
            case "drop":
                cell.pop(rest[1], None)
            case "lose nbgrader" if isinstance(metadata, dict):
                metadata.pop("nbgrader", None)
            case "edit locked" if locked:
                cell["source"] = rest[1]
            case "same id":
                cell["id"] = cells[rest[1] % len(cells)].get("id")
            case "own text":
                cells.insert(
                    at, {"cell_type": "markdown", "metadata": {}, "source": rest[1], "id": f"own{at}"}
                )
            case "junk":
                cell[rest[1]] = rest[2]
    return notebook


NAMES = {cell.name for cell in MASTER.cells}


def marks(repaired):
    """Points by exercise, from running the repaired answers here; they are the test's own."""
    names: dict = {}
    for cell in repaired.cells:
        role = cell.metadata.get("lmcourse", {}).get("role", "")
        if cell.cell_type == "code" and role in ("setup", "answer", ""):
            exec(cell.source, names)
    left = untouched(repaired, MASTER)
    return {
        e: 0.0 if e in left else score(HIDDEN[e], LocalAnswer(HIDDEN[e], names), 7).points for e in HIDDEN
    }


EXPECTED = marks(repair(read_notebook(json.dumps(SUBMISSION).encode(), "x"), MASTER).notebook)


def test_without_damage_the_marks_are_as_the_answers_deserve():
    full = {e.id: float(e.points) for e in small_course.WEEK.exercises}
    assert EXPECTED["W1.6"] == 0 and all(EXPECTED[e] < full[e] for e in WRONG)
    assert all(EXPECTED[e] == full[e] for e in full if e not in WRONG | {"W1.6"})


@QUICK
@given(st.lists(harmless, max_size=8))
def test_damage_that_keeps_the_answers_keeps_the_marks(steps):
    notebook = read_notebook(json.dumps(damaged(steps)).encode(), "x.ipynb")
    repaired = repair(notebook, MASTER)
    nbformat.validate(repaired.notebook)
    known = [c.metadata.nbgrader.grade_id for c in repaired.notebook.cells if "nbgrader" in c.metadata]
    assert known == [cell.name for cell in MASTER.cells], "each once and in order"
    assert marks(repaired.notebook) == EXPECTED
    again = repair(repaired.notebook, MASTER)
    assert [c.source for c in again.notebook.cells] == [c.source for c in repaired.notebook.cells]
    assert again.repairs == (), "what is repaired needs no repair"


@QUICK
@given(st.lists(harmless | anything, min_size=1, max_size=8))
def test_whatever_was_done_to_a_notebook_nothing_raises(steps):
    data = json.dumps(damaged(steps)).encode("utf-8", "surrogatepass")
    found = choose("ada", Gathered((File("x.ipynb", data, 1.0),)), small_course.WEEK)
    assert (found.notebook is None) == bool(found.problem)
    if found.notebook is not None:
        repaired = repair(found.notebook, MASTER)
        parts = verdict_parts(repaired.notebook, MASTER, "ada", "s", Limits(), SOURCES)
        assert list(parts) == list(HIDDEN)


@QUICK
@given(
    st.binary(max_size=300)
    | st.text(max_size=100).map(str.encode)
    | junk.map(lambda j: json.dumps(j).encode())
)
def test_bytes_that_are_no_notebook_end_in_one_line(data):
    try:
        read_notebook(data, "x.ipynb")
    except CourseError as error:
        assert "\n" not in str(error)


@QUICK
@given(st.data())
def test_a_notebook_that_was_cut_or_scratched_ends_in_one_line_or_is_read(data):
    raw = bytearray(json.dumps(SUBMISSION).encode())
    for place in data.draw(st.lists(st.integers(0, len(raw) - 1), max_size=4)):
        raw[place] = data.draw(st.integers(0, 255))
    raw = raw[: data.draw(st.integers(0, len(raw)))]
    for name in ("x.ipynb", "x.zip", "x.tar.gz"):
        found = choose("ada", Gathered((File(name, bytes(raw), 1.0),)), small_course.WEEK)
        assert (found.notebook is None) == bool(found.problem)
