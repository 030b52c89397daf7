"""Going on beyond the planned end, and decaying early: without a jump, or not at all."""

from __future__ import annotations

from dataclasses import replace

from lmcourse.errors import CourseError
from lmcourse.schedules.schedule import Schedule


def extended(schedule: Schedule, total: int, taken: int) -> Schedule:
    """The schedule of the same run made longer, equal to the old one in every step already taken.

    A constant rate can always go on, wsd and steps from any point before they decay. Cosine and linear depend
    on the end from the first step after the warm-up, so a run that follows them can only be started again.

    Args:
        total: the new number of steps.
        taken: steps of the run, or of the checkpoint to go on from.

    Raises:
        CourseError: a step already taken would have had another rate; the message names the last checkpoint
            that can go on.
    """
    longer = replace(schedule, total=total)
    if total < taken:
        raise CourseError(f"total: {taken} steps are taken already, so the run cannot end at {total}")
    free = min(schedule.fixed_steps, longer.fixed_steps)
    if total != schedule.total and taken > free:
        raise CourseError(
            f"total: after {taken} steps a {schedule.kind} schedule over {schedule.total} is in its decay; "
            f"go on to {total} from a checkpoint of at most {free} steps"
        )
    return longer


def branched(
    schedule: Schedule, taken: int, decay_steps: int, floor: float = 0.0, shape: str = "linear"
) -> Schedule:
    """A decay that leaves a plateau after `taken` steps, to see what a run is worth without ending it.

    Args:
        schedule: of the run that is branched from.
        taken: steps of the checkpoint.
        decay_steps: how many the decay takes; the branch ends after taken + decay_steps.
        floor, shape: as in `Schedule`.

    Returns:
        A wsd schedule, equal to the old one in every step already taken.

    Raises:
        CourseError: the checkpoint is not on a plateau.
    """
    if decay_steps < 1:
        raise CourseError(f"decay_steps: expected at least 1, got {decay_steps}")
    if not schedule.warmup <= taken <= schedule.fixed_steps:
        raise CourseError(
            f"taken: this {schedule.kind} schedule is at its peak from step {schedule.warmup} to "
            f"{schedule.fixed_steps}, and a checkpoint of {taken} steps is not; take another"
        )
    total = taken + decay_steps
    return Schedule("wsd", total, schedule.warmup, floor, decay_steps / total, shape)
