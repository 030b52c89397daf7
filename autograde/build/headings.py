"""The texts that come from the registry: a week's header, an exercise's title line."""

from __future__ import annotations

from lmcourse.exercises import KINDS, Exercise, Week


def week_header(week: Week) -> str:
    """Title of the week, its points and minutes summed from the exercises, and a table of them."""
    minutes = [
        f"{part} {total} minutes"
        for part, total in (("core", minutes_of(week, core=True)), ("depth", minutes_of(week, core=False)))
        if total
    ]
    rows = [
        (e.id, e.title, KINDS[e.kind], _points(e), str(e.minutes), _part(e), f"{e.difficulty} of 4")
        for e in week.exercises
    ]
    return "\n".join(
        [
            f"# Week {week.id[1:]}: {week.title}",
            "",
            f"**{_counted(week.points)}** · {' · '.join(minutes)}",
            "",
            "| id | exercise | kind | points | minutes | part | difficulty |",
            "|---|---|---|---|---|---|---|",
            *(f"| {' | '.join(row)} |" for row in rows),
        ]
    )


def exercise_title(exercise: Exercise) -> str:
    """Heading with the id, then kind, points, minutes (core or depth) and difficulty in words."""
    facts = [
        KINDS[exercise.kind],
        _counted(exercise.points + exercise.written_points),
        f"{exercise.minutes} minutes ({_part(exercise)})",
        f"difficulty {exercise.difficulty} of 4",
    ]
    if exercise.written_points:
        facts[1] += f" ({exercise.points} by the checks, {exercise.written_points} for the written answer)"
    return f"## {exercise.id} {exercise.title}\n\n{' · '.join(facts)}"


def minutes_of(week: Week, core: bool) -> int:
    return sum(e.minutes for e in week.exercises if e.core is core)


def _points(exercise: Exercise) -> str:
    return (
        f"{exercise.points} + {exercise.written_points}" if exercise.written_points else str(exercise.points)
    )


def _part(exercise: Exercise) -> str:
    return "core" if exercise.core else "depth"


def _counted(points: int) -> str:
    return f"{points} point" if points == 1 else f"{points} points"
