"""The registry of weeks and exercises: ids, titles, kinds, points, minutes, written here and nowhere else."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches

from lmcourse.errors import CourseError

KINDS = {
    "F": "function",
    "T": "write a test",
    "N": "numeric answer",
    "D": "diagnosis",
    "R": "repair",
    "W": "written answer",
    "N+W": "numeric and written answer",
    "F+W": "function and written answer",
}


@dataclass(frozen=True)
class Exercise:
    """One graded unit. `points` are given by the judge, `written_points` by a person."""

    id: str
    title: str
    kind: str
    points: int
    minutes: int
    core: bool
    difficulty: int  # 1 (warm-up) to 4 (hard)
    names: tuple[str, ...]  # what the student's cell must define
    written_points: int = 0

    @property
    def week(self) -> str:
        return self.id.partition(".")[0]


@dataclass(frozen=True)
class Week:
    """One notebook. The minutes are the promise in the syllabus; the build compares them with the sums."""

    id: str
    slug: str
    title: str
    core_minutes: int
    depth_minutes: int
    exercises: tuple[Exercise, ...]

    @property
    def notebook(self) -> str:
        """Name of the notebook and of its source, without suffix: `week01_packing`."""
        return f"week{int(self.id[1:]):02d}_{self.slug}"

    @property
    def points(self) -> int:
        return sum(e.points + e.written_points for e in self.exercises)


WEEKS: tuple[Week, ...] = (
    Week(
        "W0",
        "start",
        "Start here",
        core_minutes=0,
        depth_minutes=30,
        exercises=(
            Exercise("W0.1", "Say hello to the check", "F", 1, 10, False, 1, ("hello_check",)),
            Exercise("W0.2", "Write a test that catches a wrong ReLU", "T", 1, 20, False, 1, ("test_relu",)),
        ),
    ),
    Week(
        "W1",
        "packing",
        "Batches, packing and document masks",
        core_minutes=100,
        depth_minutes=45,
        exercises=(
            Exercise("W1.1", "Random windows", "F", 8, 10, True, 1, ("sample_windows",)),
            Exercise("W1.2", "A validation tail", "F", 6, 8, True, 1, ("split_tail", "overlap_share")),
            Exercise("W1.3", "Pack documents into rows", "F", 12, 20, True, 2, ("pack",)),
            Exercise("W1.4", "The document mask", "F", 14, 20, True, 2, ("document_mask",)),
            Exercise("W1.5", "Positions and loss mask", "F", 8, 12, True, 2, ("positions_and_loss_mask",)),
            Exercise("W1.6", "First-fit decreasing", "F", 12, 20, False, 3, ("ffd_pack",)),
            Exercise("W1.7", "Write the test that finds a leak", "T", 24, 30, True, 3, ("test_no_leak",)),
            Exercise(
                "W1.8",
                "What a leak costs",
                "N+W",
                6,
                25,
                False,
                3,
                ("leak", "revealing_order"),
                written_points=10,
            ),
        ),
    ),
    Week(
        "W2",
        "normalization",
        "What exactly do we average?",
        core_minutes=80,
        depth_minutes=48,
        exercises=(
            Exercise(
                "W2.1",
                "Two means by hand",
                "N",
                4,
                5,
                True,
                1,
                ("token_mean", "example_mean", "weight_ratio"),
            ),
            Exercise("W2.2", "Masked cross-entropy", "F", 14, 15, True, 2, ("masked_cross_entropy",)),
            Exercise(
                "W2.3",
                "The mean over examples",
                "F",
                6,
                8,
                False,
                1,
                ("per_example_mean_loss", "gives_two_and_a_half"),
            ),
            Exercise("W2.4", "Accumulate exactly", "F", 16, 20, True, 2, ("accumulate",)),
            Exercise("W2.5", "Repair a training step", "R", 12, 15, True, 2, ("train_step",)),
            Exercise("W2.6", "Write the test for accumulation", "T", 20, 25, True, 3, ("test_accumulation",)),
            Exercise("W2.7", "Across ranks", "F", 10, 15, False, 2, ("rank_gradients",)),
            Exercise(
                "W2.8",
                "Who notices a forgotten division?",
                "N+W",
                8,
                25,
                False,
                3,
                ("forgot", "shows_it"),
                written_points=10,
            ),
        ),
    ),
    Week(
        "W3",
        "precision",
        "Numbers that do not move",
        core_minutes=90,
        depth_minutes=55,
        exercises=(
            Exercise(
                "W3.1",
                "Four numbers of two formats",
                "N",
                8,
                10,
                True,
                1,
                ("largest_absorbed", "fp16_largest", "fp16_smallest", "counter_stops"),
            ),
            Exercise("W3.2", "Round to bfloat16 by bits", "F", 14, 20, True, 3, ("round_bf16",)),
            Exercise("W3.3", "Round by chance", "F", 12, 20, False, 3, ("stochastic_round_bf16",)),
            Exercise("W3.4", "Master weights", "F+W", 8, 20, True, 2, ("MasterWeights",), written_points=6),
            Exercise("W3.5", "A dynamic loss scaler", "F", 16, 25, True, 3, ("DynamicScaler",)),
            Exercise("W3.6", "Three logs, three causes", "D", 10, 15, True, 2, ("cause", "proof")),
            Exercise("W3.7", "Repair a mixed-precision step", "R", 8, 10, False, 2, ("mixed_step",)),
            Exercise("W3.8", "Write the test for a scaler", "T", 18, 25, False, 4, ("test_scaler",)),
        ),
    ),
    Week(
        "W4",
        "optimizers",
        "The optimizer race",
        core_minutes=85,
        depth_minutes=70,
        exercises=(
            Exercise("W4.1", "Momentum", "F", 6, 8, True, 1, ("momentum_step",)),
            Exercise("W4.2", "AdamW", "F", 18, 30, True, 2, ("adamw_step",)),
            Exercise("W4.3", "Which weights decay", "F", 10, 12, True, 2, ("param_groups",)),
            Exercise("W4.4", "Newton-Schulz", "F", 14, 20, False, 3, ("newton_schulz",)),
            Exercise("W4.5", "Muon", "F", 12, 20, False, 3, ("muon_step",)),
            Exercise(
                "W4.6",
                "Write the test for Adam's first step",
                "T",
                16,
                20,
                True,
                3,
                ("test_bias_correction_makes_first_step_full_size",),
            ),
            Exercise("W4.7", "Read the race", "D", 12, 15, True, 2, ("race",)),
            Exercise("W4.8", "A fair duel", "N+W", 6, 30, False, 3, ("duel", "verdict"), written_points=6),
        ),
    ),
)


def week(week_id: str) -> Week:
    """The week with this id, as "W1".

    Raises:
        CourseError: no such week; the message lists those that exist.
    """
    for candidate in WEEKS:
        if candidate.id == str(week_id).upper():
            return candidate
    known = ", ".join(w.id for w in WEEKS)
    raise CourseError(f"there is no week {week_id!r}; the weeks are {known}")


def exercise(exercise_id: str) -> Exercise:
    """The exercise with this id, as "W1.4".

    Raises:
        CourseError: no such exercise; the message names the nearest id.
    """
    known = {e.id: e for w in WEEKS for e in w.exercises}
    wanted = str(exercise_id).upper()
    if wanted in known:
        return known[wanted]
    near = get_close_matches(wanted, known, n=1) or [next(iter(known))]
    raise CourseError(
        f"there is no exercise {exercise_id!r}; did you mean {near[0]!r}? The ids look like 'W1.4'"
    )
