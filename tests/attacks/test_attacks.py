"""Every attack of the corpus on the real judge: no point, no leak, no harm; the next student is graded."""

import tempfile
import time

import do_harm
import gain_points
import nbformat
import notebook_edits
import pytest
import read_hidden
import small_course
from attack import GAIN, HARM, READ, Attack
from machine import CANARY, Machine

from autograde.exercise import Property
from autograde.judge import launch, warm
from autograde.judge.limits import Limits
from autograde.judge.session import judge_notebook
from autograde.weeks import hidden
from lmcourse import exercises as registry
from lmcourse.handin.master import Master

CORPUS = [*gain_points.ATTACKS, *notebook_edits.ATTACKS, *read_hidden.ATTACKS, *do_harm.ATTACKS]
MASTER = small_course.master()
TIGHT = Limits(cell_seconds=0.6, patience=0.4, memory_bytes=400 * 2**20)
WRONG = {
    **{e.id: f"def {e.names[0]}(x):\n    return 'wrong'" for e in small_course.WEEK.exercises},
    "W1.7": "def test_no_leak(f):\n    pass",
    "W1.8": "leak = {}",
}
HIDDEN_WORDS = (CANARY, "CANARY", "HiddenExercise", "set_reference", "[project]", "BEGIN SOLUTION")
JUDGING_SECONDS = 20  # of any one attack, in processor time of the judge and the worker together


def exercises():
    """The toy week with one property each, so that nothing but a right answer earns anything."""
    made = small_course.hidden_exercises()
    for exercise in made.values():
        exercise.call_seconds = 0.4
        if exercise.id[-1] in "123456":
            exercise.manners_points = 0
            exercise.properties = [Property("adds", exercise.spec.points, exercise.properties[0].check)]
    return made


EXERCISES = exercises()


def _attackable(tmp_path_factory, patches):
    """A machine with a fork server of its own; `patches` makes it as a system that gives less."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LMCOURSE_TOKEN", CANARY)
        patch.setattr(tempfile, "tempdir", str(tmp_path_factory.mktemp("temporary")))
        for target, name, value in patches:
            patch.setattr(target, name, value)
        launch.forget()
        launch.prepare()
        machine = Machine.with_something_to_steal(tmp_path_factory.mktemp("attacked"))
        judge(small_course.submission(), "ada")  # the first use opens what stays open
        yield machine
        machine.close()
        launch.forget()


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    """With all that this system gives."""
    yield from _attackable(tmp_path_factory, [])


@pytest.fixture(scope="module")
def without_walls(tmp_path_factory):
    """As where namespaces are refused."""
    yield from _attackable(tmp_path_factory, [(warm.ForkServer, "open", warm.ForkServer.without_walls)])


def judge(notebook, student, only=None, limits=None):
    options = {"master": MASTER, "exercises": EXERCISES, "limits": limits, "only": only}
    return judge_notebook(notebook, "W1", student, "s", **options)


def attacked(attack: Attack, words: dict[str, str]):
    """The notebook of a student who answers nothing right and tries this."""

    def filled(code: str, name: str = "") -> str:
        for word, value in {**words, "NAME": name}.items():
            code = code.replace(word, value)
        return code

    answers = dict(WRONG)
    for spec in small_course.WEEK.exercises:
        if spec.id in attack.answers:
            answers[spec.id] = filled(attack.answers[spec.id], spec.names[0])
    notebook = small_course.submission(**{key.replace(".", "_"): text for key, text in answers.items()})
    if attack.cell:
        notebook.cells.insert(1, nbformat.v4.new_code_cell(filled(attack.cell)))
    if attack.change is not None:
        attack.change(notebook)
    return notebook


def _named(attack: Attack) -> str:
    return f"{attack.aim}: {attack.name}"


@pytest.mark.parametrize("attack", CORPUS, ids=_named)
def test_an_attack_gains_nothing_learns_nothing_and_harms_nobody(attack, machine):
    _try(attack, machine)


# Cheating meets the same judge whatever stands around the worker; spying and harm meet the walls.
@pytest.mark.parametrize("attack", [a for a in CORPUS if a.aim != GAIN], ids=_named)
def test_the_same_without_namespaces(attack, without_walls):
    _try(attack, without_walls)


def _try(attack: Attack, machine: Machine) -> None:
    before = machine.state()
    began = time.process_time()
    verdict = judge(attacked(attack, machine.words()), "mallory", sorted(attack.answers) or None, TIGHT)

    assert not any(v.points for v in verdict.verdicts), [(v.exercise, v.points) for v in verdict.verdicts]
    assert not verdict.undecided, [(v.exercise, v.message) for v in verdict.undecided]
    assert len(verdict.verdicts) == len(attack.answers or WRONG)
    if attack.state:
        states = [verdict.verdict(exercise).state for exercise in attack.answers]
        assert states == [attack.state] * len(states), verdict.verdicts

    text = verdict.to_json()
    if attack.aim == READ:
        assert attack.state or "looked: " in text, f"the attack itself failed: {verdict.verdicts[0].message}"
    assert not [word for word in HIDDEN_WORDS if word in text], text

    assert machine.state() == before
    assert not machine.called()
    assert time.process_time() - began + verdict.cpu_seconds < JUDGING_SECONDS
    following = judge(small_course.submission(), "ada")
    assert {v.state for v in following.verdicts} == {"right"}, following.verdicts
    assert following.points == following.max_points and not following.notes


def test_the_corpus_is_large_and_every_attack_says_what_it_wants():
    assert len(CORPUS) >= 40 and len({a.name for a in CORPUS if a.aim == GAIN}) >= 20
    assert len({(a.aim, a.name) for a in CORPUS}) == len(CORPUS)
    for attack in CORPUS:
        assert attack.aim in (GAIN, READ, HARM) and attack.idea.endswith(".")
        assert attack.cell or attack.answers or attack.change


TWINS = [e for e in registry.week("W1").exercises if hidden(e.id).forbidden]


@pytest.mark.parametrize("spec", TWINS, ids=lambda spec: spec.id)
def test_the_courses_own_function_handed_in_as_the_answer_earns_nothing(spec):
    """Of the real week: what the trainer has is no answer, under whatever name."""
    master = Master.load("W1")
    notebook = nbformat.from_dict(master.notebook)
    for cell in notebook.cells:
        own = cell.metadata.get("lmcourse", {})
        if own.get("role") == "answer" and own.get("exercise") == spec.id:
            cell.source = f"from lmcourse.packing import {spec.names[0]} as theirs\n{spec.names[0]} = theirs"
    verdict = judge_notebook(notebook, "W1", "mallory", "s", only=[spec.id]).verdict(spec.id)
    assert (verdict.state, verdict.points) == ("forbidden", 0.0), verdict.message
    assert hidden(spec.id).instead in verdict.message
