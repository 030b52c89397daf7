"""What the build refuses to release: each function returns one readable line for every fault it finds."""

from __future__ import annotations

from math import isclose

from autograde.build.headings import minutes_of
from autograde.exercise import HiddenExercise
from lmcourse.exercises import KINDS, Exercise, Week

VARIANTS = 2
STUB_LINES = 40


def registry_faults(week: Week) -> list[str]:
    """Points, minutes and ids as the registry has them."""
    faults = []
    ids = [exercise.id for exercise in week.exercises]
    for name in sorted({name for name in ids if ids.count(name) > 1}):
        faults.append(f"{name} is twice in the registry")
    for exercise in week.exercises:
        faults += _exercise_faults(exercise, week)
    for part, core, promised in (("core", True, week.core_minutes), ("depth", False, week.depth_minutes)):
        total = minutes_of(week, core)
        if total != promised:
            faults.append(f"{week.id} promises {promised} {part} minutes, its exercises add up to {total}")
    return faults


def _exercise_faults(exercise: Exercise, week: Week) -> list[str]:
    faults = []
    if exercise.week != week.id:
        faults.append(f"{exercise.id} stands in week {week.id} of the registry")
    if exercise.points <= 0:
        faults.append(f"{exercise.id} has no points in the registry")
    if exercise.minutes <= 0:
        faults.append(f"{exercise.id} has no minutes in the registry")
    if exercise.kind not in KINDS:
        faults.append(f"{exercise.id} has the unknown kind {exercise.kind!r}")
    if not exercise.names:
        faults.append(f"{exercise.id} asks for no name that could be judged")
    return faults


def hidden_faults(exercise: HiddenExercise) -> list[str]:
    """Reference, variants, mutants and points of the hidden side."""
    name = exercise.id
    if exercise.reference is None:
        return [f"{name} has no reference"]
    faults = []
    missing = [n for n in exercise.spec.names if n not in exercise.reference.names]
    if missing:
        faults.append(f"{name}: the reference lacks {', '.join(missing)}")
    if exercise.is_test:
        right, wrong = (
            ("accepted implementations", exercise.accept),
            ("rejected implementations", exercise.reject),
        )
    else:
        right, wrong = ("variants", exercise.variants), ("mutants", exercise.mutants)
    if len(right[1]) < VARIANTS:
        faults.append(f"{name} has {len(right[1])} {right[0]}; at least {VARIANTS} are asked for")
    if not wrong[1]:
        faults.append(f"{name} has no {wrong[0]}")
    faults += [f"{name}: {s.name!r} has no message for the student" for s in wrong[1] if not s.note.strip()]
    for group in (exercise.variants + exercise.mutants, exercise.accept + exercise.reject):
        names = [solution.name for solution in group]
        faults += [
            f"{name}: two solutions are called {n!r}" for n in sorted(set(names)) if names.count(n) > 1
        ]
    total = sum(p.points for p in exercise.properties) + exercise.manners_points
    graded_by_counting = exercise.is_test and not exercise.properties
    if not graded_by_counting and not isclose(total, exercise.spec.points):
        faults.append(
            f"{name}: properties and manners give {total:g} points, the registry {exercise.spec.points}"
        )
    return faults


def stub_faults(exercise: HiddenExercise, stub: str, points: float | None, state: str) -> list[str]:
    """The exercise as released, which must earn nothing.

    Args:
        stub: source of its answer cells in the student's notebook.
        points, state: what the judge gives for it.
    """
    faults = []
    if points is None:
        faults.append(f"{exercise.id}: judging the stub as released ends in {state!r}")
    elif points > 0:
        faults.append(
            f"{exercise.id}: the stub as released earns {points:g} of {exercise.spec.points} points"
        )
    if "replace this line with your answer" not in stub:
        faults.append(
            f"{exercise.id}: the answer cell has no solution region, so its stub shows no place to fill in"
        )
    lines = len(stub.splitlines())
    if lines > STUB_LINES:
        faults.append(f"{exercise.id}: the stub has {lines} lines; more than {STUB_LINES} give too much away")
    return faults
