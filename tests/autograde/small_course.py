"""A toy week behind the ids of W1: the judge's tests need exercises that are quick and known by heart.

W1.1-W1.6 ask for `x + k` with k = 1..6 (W1.2 for the number `overlap_share` too), W1.7 for a test that tells
`2 x` from other functions, W1.8 for a dict.
"""

from __future__ import annotations

import nbformat
import torch
from nbformat import NotebookNode

from autograde.exercise import HiddenExercise, Wrong
from lmcourse import exercises as registry
from lmcourse.handin.master import Master

WEEK = registry.week("W1")


def hidden_exercises() -> dict[str, HiddenExercise]:
    return {e.id: _hidden(e) for e in WEEK.exercises}


def _hidden(spec: registry.Exercise) -> HiddenExercise:
    if spec.id == "W1.7":
        return _write_a_test()
    if spec.id == "W1.8":
        return _dict_of_numbers()
    number = int(spec.id[-1])
    manners = 2
    exercise = HiddenExercise(spec.id, manners_points=manners, call_seconds=1.0)
    values = {"overlap_share": 0.75} if spec.id == "W1.2" else {}
    exercise.reference = _solution("reference", "", spec, lambda x: x + number, values)
    exercise.mutants.append(_solution("minus", f"You subtract {number}.", spec, lambda x: x - number, values))
    exercise.mutants.append(_solution("same", "You return the input.", spec, lambda x: x.clone(), values))

    @exercise.property("adds", spec.points - manners - 1)
    def _(answer, draw):
        x = torch.randint(-9, 9, (2, 3), generator=draw.generator())
        got = answer(x)
        if not isinstance(got, torch.Tensor) or got.shape != x.shape or not torch.equal(got, x + number):
            raise Wrong("the sum is wrong", f"shape (2, 3), seed {draw.seed}")

    @exercise.property("also an empty one", 1)
    def _(answer, draw):
        if answer(torch.empty(0, dtype=torch.long)).shape != (0,):
            raise Wrong("an empty tensor must stay empty", "shape (0,)")
        if values and answer.value("overlap_share") != 0.75:
            raise Wrong("the share is wrong")

    return exercise


def _solution(name, note, spec, function, values):
    from autograde.exercise import Solution

    return Solution(name, note, {spec.names[0]: function, **values})


def _write_a_test() -> HiddenExercise:
    exercise = HiddenExercise("W1.7", call_seconds=1.0)

    @exercise.accepts("product", "it expects integers")
    def _(x):
        return 2 * x

    @exercise.accepts("sum")
    def _(x):
        return x + x

    @exercise.rejects("triple", "the factor is 3")
    def _(x):
        return 3 * x

    @exercise.rejects("negative", "wrong for negative numbers only")
    def _(x):
        return 2 * x.abs()

    @exercise.rejects("zero", "always zero")
    def _(x):
        return 0 * x

    return exercise


def _dict_of_numbers() -> HiddenExercise:
    exercise = HiddenExercise("W1.8")

    @exercise.property("numbers", 6)
    def _(answer, draw):
        leak = answer.value("leak")
        if not isinstance(leak, dict) or leak.get("a") != 1:
            raise Wrong("a should be 1")

    exercise.set_reference(leak={"a": 1})
    return exercise


def master() -> Master:
    """The notebook as it would be handed out."""
    cells = [_cell("code", "import torch", "setup")]
    for spec in WEEK.exercises:
        cells += [
            _cell("markdown", f"## {spec.id} {spec.title}", "contract", spec),
            _cell("code", stub(spec), "answer", spec),
            _cell("code", f'check("{spec.id}")', "check", spec),
            _cell("code", f"# More checks run here: {spec.id}", "grade", spec),
        ]
    notebook = nbformat.v4.new_notebook(cells=cells, metadata={"lmcourse": {"week": WEEK.id}})
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    return Master.from_notebook(notebook)


def stub(spec: registry.Exercise) -> str:
    if spec.id == "W1.8":
        return "# W1.8: replace this line with your answer"
    return f"def {spec.names[0]}(x):\n    raise NotImplementedError('{spec.id}')"


def right_answers() -> dict[str, str]:
    answers = {
        e.id: f"def {e.names[0]}(x):\n    return x + {e.id[-1]}"
        for e in WEEK.exercises
        if e.id[-1] in "123456"
    }
    answers["W1.2"] += "\noverlap_share = 0.75"
    answers["W1.7"] = (
        "def test_no_leak(f):\n    x = torch.tensor([-2, 1, 5])\n    assert f(x).tolist() == [-4, 2, 10]"
    )
    answers["W1.8"] = "leak = {'a': 1}"
    return answers


def submission(**answers: str) -> NotebookNode:
    """The right submission, with these answers instead: `W1_4="..."`; None leaves the stub."""
    given = {**right_answers(), **{key.replace("_", "."): text for key, text in answers.items()}}
    notebook = nbformat.from_dict(master().notebook)
    for cell in notebook.cells:
        own = cell.metadata.lmcourse
        if own.role == "answer" and given[own.exercise] is not None:
            cell.source = given[own.exercise]
    return notebook


def _cell(kind: str, source: str, role: str, spec: registry.Exercise | None = None) -> NotebookNode:
    stem = spec.id.replace(".", "-") if spec else WEEK.id
    name = stem if role == "grade" else f"{stem}-{role}"
    marks = {"schema_version": 3, "grade_id": name, "task": False, "grade": role == "grade"}
    marks |= {"solution": role == "answer", "locked": role != "answer"}
    if role == "grade":
        marks["points"] = spec.points
    own = {"role": role, **({"exercise": spec.id} if spec else {})}
    make = nbformat.v4.new_code_cell if kind == "code" else nbformat.v4.new_markdown_cell
    return make(source, id=name.lower(), metadata={"nbgrader": marks, "lmcourse": own})
