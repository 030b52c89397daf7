"""Write-a-test exercises: the student's test is tried on right and on wrong implementations.

The order is shuffled with the student's seed and right implementations come again at random places, so a test
that counts its calls instead of looking at the implementation gains nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from autograde.exercise import HiddenExercise, Outcome, Solution
from autograde.judge.answer import BaseAnswer
from autograde.judge.seeds import property_seed
from autograde.judge.verdict import PropertyResult, Verdict

ACCEPTS = "accepts every right implementation"
REPEATS = 2  # how often a right implementation is shown in all


@dataclass(frozen=True)
class _Trial:
    solution: Solution
    right: bool


def score_test(exercise: HiddenExercise, answer: BaseAnswer, seed: int, base: Verdict) -> Verdict:
    """Nothing if the test rejects a right implementation, else the share of wrong ones that it rejects.

    Raises:
        AnswerEnded: the test killed its worker or took too long.
    """
    if not exercise.accept or not exercise.reject:
        raise ValueError(f"{exercise.id} needs implementations to accept and to reject")
    found: dict[str, bool] = {}
    remark = ""
    for trial in _shuffled(exercise, seed):
        outcome = answer.test(trial.solution.names[exercise.entry])
        remark = remark or (outcome.message if outcome.state == "accepted" else "")
        if trial.right and outcome.state != "accepted":
            return _too_strict(exercise, trial.solution, outcome, base)
        if not trial.right:
            found[trial.solution.name] = outcome.state == "rejected"
    return _by_share(exercise, found, remark, base)


def n_trials(exercise: HiddenExercise) -> int:
    """How often a student's test is run; 0 where the exercise asks for no test."""
    return REPEATS * len(exercise.accept) + len(exercise.reject)


def _shuffled(exercise: HiddenExercise, seed: int) -> list[_Trial]:
    trials = [_Trial(s, True) for s in exercise.accept] * REPEATS + [
        _Trial(s, False) for s in exercise.reject
    ]
    order = np.random.default_rng(property_seed(seed, "order of implementations")).permutation(len(trials))
    return [trials[i] for i in order]


def _too_strict(exercise: HiddenExercise, right: Solution, outcome: Outcome, base: Verdict) -> Verdict:
    if outcome.state == "error":
        message = f"On a right implementation your test does not finish: {outcome.message}"
        state = "student_error"
    else:
        assumption = f" It assumes too much: {right.note}" if right.note else ""
        message = f"Your test rejects an implementation that is right.{assumption}"
        state = "wrong"
    failed = PropertyResult(ACCEPTS, 0.0, False, message, f"seed {base.seed}")
    return replace(base, state=state, points=0.0, message=message, properties=(failed,))


def _by_share(exercise: HiddenExercise, found: dict[str, bool], remark: str, base: Verdict) -> Verdict:
    each = base.max_points / len(exercise.reject)
    results = [PropertyResult(ACCEPTS, 0.0, True)]
    results += [PropertyResult(f"finds: {s.name}", each, found[s.name]) for s in exercise.reject]
    n_found = sum(found.values())
    if n_found == len(exercise.reject):
        return replace(base, state="right", points=base.max_points, properties=tuple(results))
    missed = next(s for s in exercise.reject if not found[s.name])
    message = (
        f"Your test finds {n_found} of {len(exercise.reject)} wrong implementations. One that it misses: "
    )
    message += missed.note + (f" Besides, {remark}." if remark else "")
    points = base.max_points * n_found / len(exercise.reject)
    state = "partly" if n_found else "wrong"
    return replace(base, state=state, points=points, message=message, properties=tuple(results))
