"""One exercise, one answer, one verdict. The points come from here and from nowhere else."""

from __future__ import annotations

import time
import traceback
from dataclasses import replace

from autograde.exercise import Draw, HiddenExercise, Property, StudentError, Wrong
from autograde.judge.answer import BaseAnswer, Call
from autograde.judge.ended import AnswerEnded
from autograde.judge.recognize import recognize
from autograde.judge.score_tests import score_test
from autograde.judge.seeds import property_seed
from autograde.judge.verdict import FAULTS, PropertyResult, Verdict, versions
from autograde.worker.calls import MISSING
from lmcourse.threads import one_thread

MANNERS = "leaves its inputs and the global state alone"
NOT_DECIDED = "not decided: the answer had ended before"


def score(exercise: HiddenExercise, answer: BaseAnswer, seed: int) -> Verdict:
    """Run every property with its own draw and add up the points of those that hold.

    An answer that ends on the way (time, memory, a broken channel) gets no points for the exercise. An
    exception that comes from a property itself is the course's fault: the verdict says so and has no points.
    """
    started = time.monotonic()
    base = Verdict(
        exercise.id,
        "wrong",
        0.0,
        float(exercise.spec.points),
        isolation=answer.isolation,
        seed=seed,
        versions=versions(),
    )
    try:
        with one_thread():
            decided = _decide(exercise, answer, seed, base)
    except AnswerEnded as end:
        decided = replace(base, state=end.state, message=end.message, points=0.0)
    except Exception as error:
        decided = replace(base, state="harness_fault", points=None, message=_fault(error))
    if decided.state in FAULTS:
        decided = replace(decided, points=None)
    return replace(
        decided,
        wall_seconds=time.monotonic() - started,
        cpu_seconds=answer.cpu_seconds,
        peak_bytes=answer.peak_bytes,
    )


def _decide(exercise: HiddenExercise, answer: BaseAnswer, seed: int, base: Verdict) -> Verdict:
    defined = answer.defined()
    if not any(defined.values()):
        missing = " and ".join(f"`{name}`" for name in exercise.spec.names)
        verb = "is" if len(exercise.spec.names) == 1 else "are"
        return replace(base, state="student_error", message=f"{missing} {verb} not defined")
    if exercise.is_test:
        return score_test(exercise, answer, seed, base)
    _check_worth(exercise)
    results: list[PropertyResult] = []
    recorded: dict[str, list[Call]] = {}
    errors = 0
    for prop in exercise.properties:
        answer.forget_calls()
        try:
            prop.check(answer, Draw(property_seed(seed, prop.name)))
            results.append(PropertyResult(prop.name, prop.points, True))
        except Wrong as wrong:
            results.append(PropertyResult(prop.name, prop.points, False, wrong.message, wrong.case))
        except StudentError as error:
            errors += 1
            text = error.message if error.kind == MISSING else str(error)
            results.append(PropertyResult(prop.name, prop.points, False, text))
        except AnswerEnded as end:
            return _ended(exercise, results, prop, end, base)
        recorded[prop.name] = answer.calls
    results = _named_mistakes(exercise, results, recorded)
    if exercise.manners_points:
        results.append(_manners(exercise, answer, any(r.passed for r in results)))
    return _total(results, base, all_errors=errors == len(exercise.properties))


def _total(results: list[PropertyResult], base: Verdict, all_errors: bool) -> Verdict:
    failed = [r for r in results if not r.passed]
    if not failed:
        return replace(base, state="right", points=base.max_points, properties=tuple(results))
    points = float(sum(r.points for r in results if r.passed))
    state = "student_error" if all_errors else ("partly" if points else "wrong")
    message = next((r.message for r in failed if r.mutant), failed[0].message)
    return replace(base, state=state, points=points, message=message, properties=tuple(results))


def _named_mistakes(
    exercise: HiddenExercise, results: list[PropertyResult], recorded: dict[str, list[Call]]
) -> list[PropertyResult]:
    """The same results, with a mutant's note as the message wherever the answers were that mutant's."""
    mutants = recognize(exercise, recorded, [r.name for r in results if not r.passed])
    return [
        replace(r, message=mutants[r.name].note, mutant=mutants[r.name].name) if r.name in mutants else r
        for r in results
    ]


def _manners(exercise: HiddenExercise, answer: BaseAnswer, something_works: bool) -> PropertyResult:
    """Leaving everything alone is worth points only to an answer that does something right."""
    polite = something_works and not answer.rudeness
    message = "; ".join(answer.rudeness) or ("" if polite else "nothing else is right yet")
    return PropertyResult(MANNERS, exercise.manners_points, polite, message)


def _ended(
    exercise: HiddenExercise, done: list[PropertyResult], prop: Property, end: AnswerEnded, base: Verdict
) -> Verdict:
    results = [*done, PropertyResult(prop.name, prop.points, False, end.message)]
    rest = exercise.properties[len(results) :]
    results += [PropertyResult(p.name, p.points, False, NOT_DECIDED) for p in rest]
    return replace(base, state=end.state, points=0.0, message=end.message, properties=tuple(results))


def _check_worth(exercise: HiddenExercise) -> None:
    worth = sum(p.points for p in exercise.properties) + exercise.manners_points
    if abs(worth - exercise.spec.points) > 1e-9:
        raise ValueError(f"the properties of {exercise.id} are worth {worth:g}, not {exercise.spec.points}")


def _fault(error: Exception) -> str:
    where = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} in {where.name}: {error}"[:500]
