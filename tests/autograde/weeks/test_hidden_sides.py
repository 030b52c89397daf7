"""Every exercise of every week: right answers earn all points, wrong ones never do, and words say why."""

import time

import pytest
import torch

from autograde.exercise import Draw, HiddenExercise, Solution, Wrong
from autograde.judge.local import LocalAnswer
from autograde.judge.score import score
from autograde.weeks import hidden
from lmcourse.checks.compare import difference
from lmcourse.checks.tables import record_case
from lmcourse.exercises import WEEKS

IDS = [e.id for week in WEEKS for e in week.exercises]
RIGHT = [(i, s.name) for i in IDS for s in (hidden(i).reference, *hidden(i).variants)]
WRONG = [(i, s.name) for i in IDS for s in hidden(i).mutants]
WITH_ROWS = [i for i in IDS if hidden(i).public_cases]
SEEDS = (11, 2**62 + 5, 12345)


def solution(exercise: HiddenExercise, name: str) -> Solution:
    return next(s for s in (exercise.reference, *exercise.variants, *exercise.mutants) if s.name == name)


@pytest.mark.parametrize(("exercise_id", "name"), RIGHT)
def test_right_answers_earn_all_points(exercise_id, name, record_property):
    exercise = hidden(exercise_id)
    seeds = SEEDS[:1] if exercise.is_test else SEEDS
    for seed in seeds:
        started = time.process_time()
        verdict = score(exercise, LocalAnswer(exercise, solution(exercise, name).names), seed)
        record_property("cpu_seconds", round(time.process_time() - started, 3))
        failed = [(p.name, p.message, p.case) for p in verdict.properties if not p.passed]
        assert (verdict.state, verdict.points, failed) == ("right", exercise.spec.points, []), verdict.message


@pytest.mark.parametrize(("exercise_id", "name"), WRONG)
def test_wrong_answers_lose_points(exercise_id, name):
    exercise = hidden(exercise_id)
    if exercise.is_test:
        answer = LocalAnswer(exercise, solution(exercise, name).names)
        assert _is_blind(exercise, answer) or _is_too_strict(exercise, answer)
        return
    for seed in SEEDS:
        verdict = score(exercise, LocalAnswer(exercise, solution(exercise, name).names), seed)
        assert verdict.points is not None, verdict.message
        assert verdict.points < exercise.spec.points
        assert verdict.message, "a lost point needs its reason"


def _is_blind(exercise: HiddenExercise, answer: LocalAnswer) -> bool:
    """Whether a test misses a wrong implementation; stops at the first one, where `score` would go on."""
    return any(answer.test(s.names[exercise.entry]).state != "rejected" for s in exercise.reject)


def _is_too_strict(exercise: HiddenExercise, answer: LocalAnswer) -> bool:
    return any(answer.test(s.names[exercise.entry]).state != "accepted" for s in exercise.accept)


@pytest.mark.parametrize("exercise_id", IDS)
def test_an_answer_that_does_nothing_earns_nothing(exercise_id):
    exercise = hidden(exercise_id)

    def not_started(*args, **kwargs):
        raise NotImplementedError

    for nothing in (not_started, lambda *args, **kwargs: None, None):
        names = dict.fromkeys(exercise.spec.names, nothing)
        verdict = score(exercise, LocalAnswer(exercise, names), SEEDS[0])
        assert verdict.points == 0.0, (nothing, verdict.message)


@pytest.mark.parametrize("exercise_id", [i for i in IDS if not hidden(i).is_test])
def test_each_property_kills_a_mutant(exercise_id):
    exercise = hidden(exercise_id)
    idle = {p.name for p in exercise.properties}
    for mutant in exercise.mutants:
        verdict = score(exercise, LocalAnswer(exercise, mutant.names), SEEDS[0])
        idle -= {p.name for p in verdict.properties if not p.passed}
    assert not idle


@pytest.mark.parametrize("exercise_id", [i for i in IDS if not hidden(i).is_test])
def test_points_of_the_properties_add_up(exercise_id):
    exercise = hidden(exercise_id)
    total = sum(p.points for p in exercise.properties) + exercise.manners_points
    assert total == exercise.spec.points
    assert len({p.name for p in exercise.properties}) == len(exercise.properties)


@pytest.mark.parametrize("exercise_id", IDS)
def test_notes_are_for_students(exercise_id):
    exercise = hidden(exercise_id)
    assert len(exercise.variants) >= 2
    for wrong in exercise.mutants:
        assert wrong.note.startswith("Your "), wrong.name
        assert wrong.note.rstrip().endswith((".", ".)")), wrong.name
    for wrong in exercise.reject:
        assert len(wrong.note) > 20 and wrong.note.rstrip().endswith((".", "?")), wrong.name


@pytest.mark.parametrize("exercise_id", WITH_ROWS)
def test_public_rows_name_some_mistakes_and_miss_others(exercise_id):
    exercise = hidden(exercise_id)
    mutants = [(m.name, m.note, m.names) for m in exercise.mutants]
    named = set()
    for row in exercise.public_cases:
        case = record_case(row.title, row.checks, row.entry, row.args, exercise.reference.names, mutants)
        named |= {mistake.name for mistake in case.mistakes}
    assert named, "a row that no mistake shows in teaches nothing"
    unseen = {m.name for m in exercise.mutants} - named
    quiet = [m for m in exercise.mutants if m.name in unseen and _agrees_in_public(exercise, m)]
    assert quiet, "all mistakes show in public: nothing is left for the hidden tests"


def _agrees_in_public(exercise: HiddenExercise, mutant: Solution) -> bool:
    for row in exercise.public_cases:
        try:
            yours = mutant.names[row.entry](*row.args())
        except Exception:
            return False
        if difference(yours, exercise.reference.names[row.entry](*row.args())) is not None:
            return False
    return True


@pytest.mark.parametrize("exercise_id", [i for i in IDS if not hidden(i).is_test])
def test_messages_are_short_and_show_no_source(exercise_id):
    """What a property says by itself, before a known mistake is recognized."""
    exercise = hidden(exercise_id)
    for mutant in exercise.mutants:
        answer = LocalAnswer(exercise, mutant.names)
        for prop in exercise.properties:
            try:
                prop.check(answer, Draw(SEEDS[1]))
            except Wrong as wrong:
                assert 15 <= len(wrong.message) < 300, (mutant.name, wrong.message)
                assert not any(word in wrong.message for word in ("assert", "tensor([", "torch.equal"))
                assert wrong.message.count("\n") == 0
                assert wrong.case, (mutant.name, prop.name)
            except Exception:
                continue  # the mutant raised: its own words


@pytest.mark.parametrize("exercise_id", IDS)
def test_hidden_tests_leave_the_global_generators_alone(exercise_id):
    exercise = hidden(exercise_id)
    before = torch.get_rng_state()
    score(exercise, LocalAnswer(exercise, exercise.reference.names), SEEDS[0])
    assert torch.equal(before, torch.get_rng_state())
